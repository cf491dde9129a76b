/** Log directories for scenarios. The two of the broker are called by their last names. */
import { alterReplicaLogDirs } from "../../../src/codec/messages/alter_replica_log_dirs.ts";
import { describeLogDirs } from "../../../src/codec/messages/describe_log_dirs.ts";
import type { DecodedResponseOf } from "../../../src/codec/schema.ts";
import { type Broker, eventually } from "../scenario.ts";
import { batchOf, fill } from "./records.ts";
import { createTopic } from "./topics.ts";

type Described = DecodedResponseOf<typeof describeLogDirs>;

/** The directories' paths, which only the broker knows. */
export async function paths(broker: Broker): Promise<{ one: string; two: string }> {
  const { results } = (await broker.send(describeLogDirs, 4, { topics: [] }))!;
  const [one, two] = results.map(({ logDir }) => logDir).sort();
  return { one, two };
}

/** The answer without what differs from machine to machine, and only with topics of this scenario. */
export function told(broker: Broker) {
  return ({ errorCode, throttleTimeMs, results }: Described) => ({
    errorCode,
    throttleTimeMs,
    dirs: results.map(({ topics, logDir, totalBytes, usableBytes, ...result }) => ({
      ...result,
      dir: logDir.split("/").at(-1),
      total: totalBytes > 0n ? "<bytes>" : totalBytes,
      usable: usableBytes > 0n ? "<bytes>" : usableBytes,
      topics: topics.filter(({ name }) => name.startsWith(broker.name("")))
        .sort((a, b) => a.name < b.name ? -1 : 1)
        .map(({ name, partitions }) => ({
          name,
          partitions: [...partitions].sort((a, b) => a.partitionIndex - b.partitionIndex),
        })),
    })).sort((a, b) => a.dir! < b.dir! ? -1 : 1),
  });
}

/** Moves partitions to a directory without writing the answer down. */
export function moving(path: string, topic: string, partitions: number[]) {
  return { dirs: [{ path, topics: [{ name: topic, partitions }] }] };
}

/** Waits until a partition is in the directory and nowhere else. */
export async function movedTo(broker: Broker, path: string, topic: string): Promise<void> {
  await eventually(`${topic} does not get to ${path}`, async () => {
    const { results } = (await broker.send(describeLogDirs, 4, { topics: [{ topic, partitions: [0] }] }))!;
    const holding = results.filter(({ topics }) => topics.some(({ partitions }) => partitions.length > 0));
    return holding.length === 1 && holding[0].logDir === path ? path : null;
  });
}

/** A topic of one partition, in the directory `one`. */
export async function topicInOne(broker: Broker, text: string): Promise<string> {
  const { one } = await paths(broker);
  const topic = await createTopic(broker, text);
  await fill(broker, topic, [batchOf(["a", "b"]), batchOf(["c"])]);
  await broker.send(alterReplicaLogDirs, 2, moving(one, topic, [0]));
  await movedTo(broker, one, topic);
  return topic;
}
