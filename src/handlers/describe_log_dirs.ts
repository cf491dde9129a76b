/**
 * Tells what each data directory holds: sizes of partitions, copies on their way (KIP-113), and from version 4 the room on
 * its device (KIP-827). A directory that is offline, or whose device does not answer, has KAFKA_STORAGE_ERROR and nothing
 * else.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { describeLogDirs, DescribeLogDirsRequest } from "../codec/messages/describe_log_dirs.ts";
import type { DeviceSpace } from "../storage/files/files.ts";
import { IoError } from "../storage/files/files.ts";
import type { Log } from "../storage/log/log.ts";
import type { LogDirectory } from "../storage/manager/log_directories.ts";
import type { LogManager } from "../storage/manager/log_manager.ts";
import type { Handler } from "./context.ts";

type Wanted = (log: Log) => boolean;

export const describeLogDirsHandler: Handler<typeof describeLogDirs> = (request, { services: { logs } }) => {
  const wanted = wantedBy(request.topics);
  const results = logs.directories.map((directory) => ({
    logDir: directory.path,
    isCordoned: logs.isCordoned(directory.path),
    ...contentOf(directory, wanted, (log) => logs.get(log.topic, log.partition)),
  }));
  return { errorCode: ErrorCode.NONE, results };
};

/** Null asks for all. */
function wantedBy(topics: DescribeLogDirsRequest["topics"]): Wanted {
  if (topics === null) return () => true;
  const partitionsOf = new Map<string, Set<number>>();
  for (const { topic, partitions } of topics) {
    const known = partitionsOf.get(topic) ?? new Set();
    for (const partition of partitions) known.add(partition);
    partitionsOf.set(topic, known);
  }
  return ({ topic, partition }) => partitionsOf.get(topic)?.has(partition) === true;
}

function contentOf({ manager }: LogDirectory, wanted: Wanted, present: (log: Log) => Log | undefined) {
  const space = manager === null ? null : spaceOf(manager);
  if (manager === null || space === null) {
    return { errorCode: ErrorCode.KAFKA_STORAGE_ERROR, topics: [], totalBytes: -1, usableBytes: -1 };
  }
  const { totalBytes, usableBytes } = space;
  const logs = [...manager.all()].filter(wanted).map((log) => sizeOf(log, 0, false));
  const copies = [...manager.futures.all()].filter(wanted).map((copy) => {
    const end = present(copy)?.nextOffset ?? copy.nextOffset;
    return sizeOf(copy, Math.max(0, end - copy.nextOffset), true);
  });
  const topics = [...Map.groupBy([...logs, ...copies], ({ topic }) => topic)].map(([name, partitions]) => ({
    name,
    partitions: partitions.map(({ topic: _, ...partition }) => partition),
  }));
  return { errorCode: ErrorCode.NONE, topics, totalBytes, usableBytes };
}

function sizeOf(log: Log, offsetLag: number, isFutureKey: boolean) {
  const { topic, partition: partitionIndex, sizeInBytes: partitionSize } = log;
  return { topic, partitionIndex, partitionSize, offsetLag, isFutureKey };
}

/** Null when the device does not answer. */
function spaceOf(manager: LogManager): DeviceSpace | null {
  try {
    return manager.space();
  } catch (error) {
    if (!(error instanceof IoError)) throw error;
    return null;
  }
}
