/**
 * Moves partitions to other data directories of this broker (KIP-113). The answer says that a move has begun;
 * DescribeLogDirs tells how far it is. Of a partition that does not exist it is kept where it is to be made.
 */
import { ErrorCode } from "../codec/errors.ts";
import type {
  alterReplicaLogDirs,
  AlterReplicaLogDirsRequest,
} from "../codec/messages/alter_replica_log_dirs.ts";
import type { Handler, Services } from "./context.ts";
import { whyNotHosted } from "./hosted.ts";
import { inSlices } from "./pacing.ts";

export const alterReplicaLogDirsHandler: Handler<typeof alterReplicaLogDirs> = async (
  request,
  { services },
) => {
  const wanted = [...directoriesOf(request.dirs)].flatMap(([topic, paths]) =>
    [...paths].map(([index, path]) => ({ topic, index, path }))
  );
  // Each is noted on the device before it is answered.
  const begun = await inSlices(wanted, services.clock, ({ topic, index, path }) => {
    return { topic, answer: { partitionIndex: index, errorCode: move(topic, index, path, services) } };
  });
  const results = [...Map.groupBy(begun, ({ topic }) => topic)].map(([topicName, ofTopic]) => ({
    topicName,
    partitions: ofTopic.map(({ answer }) => answer),
  }));
  return { results };
};

/** The directory for each partition by topic; of a partition that is named twice the last one, as in Kafka. */
function directoriesOf(dirs: AlterReplicaLogDirsRequest["dirs"]): Map<string, Map<number, string>> {
  const directories = new Map<string, Map<number, string>>();
  for (const { path, topics } of dirs) {
    for (const { name, partitions } of topics) {
      if (partitions.length === 0) continue;
      let ofTopic = directories.get(name);
      if (ofTopic === undefined) directories.set(name, ofTopic = new Map());
      for (const partition of partitions) ofTopic.set(partition, path);
    }
  }
  return directories;
}

function move(topic: string, index: number, path: string, services: Services): number {
  const { logs, mover, replicas } = services;
  const directory = logs.directories.find((each) => each.path === path);
  if (directory === undefined) return ErrorCode.LOG_DIR_NOT_FOUND;
  if (directory.manager === null) return ErrorCode.KAFKA_STORAGE_ERROR;
  if (logs.isCordoned(path)) return ErrorCode.INVALID_REPLICA_ASSIGNMENT;
  const partition = replicas.get(topic, index);
  if (partition !== undefined) return mover.move(partition, directory.manager);
  const errorCode = whyNotHosted(topic, index, services);
  if (errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) logs.prefer(topic, index, directory.manager);
  return errorCode;
}
