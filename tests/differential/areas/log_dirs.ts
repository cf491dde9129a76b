/** Several log directories: DescribeLogDirs, AlterReplicaLogDirs. The two of the broker are called by their last names. */
import { alterReplicaLogDirs } from "../../../src/codec/messages/alter_replica_log_dirs.ts";
import { describeLogDirs } from "../../../src/codec/messages/describe_log_dirs.ts";
import type { DecodedResponseOf } from "../../../src/codec/schema.ts";
import type { Oracle } from "../areas.ts";
import { type Broker, scenario } from "../scenario.ts";
import { batchOf, fill } from "../setup/records.ts";
import { createTopic } from "../setup/topics.ts";

export const oracle: Oracle = { settings: { "log.dirs": "<dir>/one,<dir>/two" } };

type Described = DecodedResponseOf<typeof describeLogDirs>;

/** The directories' paths, which only the broker knows. */
async function paths(broker: Broker): Promise<{ one: string; two: string }> {
  const { results } = (await broker.send(describeLogDirs, 4, { topics: [] }))!;
  const [one, two] = results.map(({ logDir }) => logDir).sort();
  return { one, two };
}

/** The answer without what differs from machine to machine, and only with topics of this scenario. */
function told(broker: Broker) {
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
function moving(path: string, topic: string, partitions: number[]) {
  return { dirs: [{ path, topics: [{ name: topic, partitions }] }] };
}

/** Waits until a partition is in the directory and nowhere else. */
async function movedTo(broker: Broker, path: string, topic: string): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const { results } = (await broker.send(describeLogDirs, 4, { topics: [{ topic, partitions: [0] }] }))!;
    const holding = results.filter(({ topics }) => topics.some(({ partitions }) => partitions.length > 0));
    if (holding.length === 1 && holding[0].logDir === path) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${topic} does not get to ${path}`);
}

/** A topic of one partition, in the directory `one`. */
async function topicInOne(broker: Broker, text: string): Promise<string> {
  const { one } = await paths(broker);
  const topic = await createTopic(broker, text);
  await fill(broker, topic, [batchOf(["a", "b"]), batchOf(["c"])]);
  await broker.send(alterReplicaLogDirs, 2, moving(one, topic, [0]));
  await movedTo(broker, one, topic);
  return topic;
}

const describing = [
  scenario("DescribeLogDirs tells sizes, in every version", async (broker) => {
    const topic = await topicInOne(broker, "t");
    for (const version of [1, 2, 3, 4, 5]) {
      await broker.ask(describeLogDirs, version, { topics: null }, told(broker));
      await broker.ask(describeLogDirs, version, { topics: [{ topic, partitions: [0] }] }, told(broker));
    }
  }),
  scenario("DescribeLogDirs of no topics, of no partitions, and of what is not there", async (broker) => {
    const topic = await topicInOne(broker, "t");
    await broker.askEach(describeLogDirs, [1, 4], {
      "no topics": { topics: [] },
      "no partitions": { topics: [{ topic, partitions: [] }] },
      "another partition": { topics: [{ topic, partitions: [1, -1] }] },
      "a missing topic": { topics: [{ topic: broker.name("missing"), partitions: [0] }] },
      "no name": { topics: [{ topic: "", partitions: [0] }] },
      "twice": { topics: [{ topic, partitions: [0, 0] }, { topic, partitions: [0] }] },
    }, told(broker));
  }),
];

const altering = [
  scenario("AlterReplicaLogDirs moves a partition, in every version", async (broker) => {
    const { one, two } = await paths(broker);
    const topic = await topicInOne(broker, "t");
    for (const version of [1, 2]) {
      for (const path of [two, one]) {
        await broker.ask(alterReplicaLogDirs, version, moving(path, topic, [0]));
        await movedTo(broker, path, topic);
        await broker.ask(describeLogDirs, 4, { topics: [{ topic, partitions: [0] }] }, told(broker));
      }
    }
  }),
  scenario("AlterReplicaLogDirs to where the partition is already", async (broker) => {
    const { one } = await paths(broker);
    const topic = await topicInOne(broker, "t");
    await broker.ask(alterReplicaLogDirs, 2, moving(one, topic, [0]));
    await broker.ask(alterReplicaLogDirs, 2, moving(`${one}/`, topic, [0]));
    await broker.ask(describeLogDirs, 4, { topics: [{ topic, partitions: [0] }] }, told(broker));
  }),
  scenario("AlterReplicaLogDirs to a directory that is none", async (broker) => {
    const topic = await topicInOne(broker, "t");
    const { one } = await paths(broker);
    for (const path of ["/nowhere", "", "one", `${one}/../one`, `${one}/..`, "/", `${one}/x`]) {
      await broker.ask(alterReplicaLogDirs, 2, moving(path, topic, [0]));
      await broker.ask(alterReplicaLogDirs, 2, moving(path, broker.name("missing"), [0]));
    }
  }),
  scenario("AlterReplicaLogDirs of what is not there", async (broker) => {
    const { two } = await paths(broker);
    const topic = await topicInOne(broker, "t");
    for (const version of [1, 2]) {
      await broker.ask(alterReplicaLogDirs, version, moving(two, topic, [1]));
      await broker.ask(alterReplicaLogDirs, version, moving(two, topic, [-1]));
      await broker.ask(alterReplicaLogDirs, version, moving(two, broker.name("missing"), [0]));
      await broker.ask(alterReplicaLogDirs, version, moving(two, "", [0]));
      await broker.ask(alterReplicaLogDirs, version, moving(two, "__cluster_metadata", [0]));
      await broker.ask(alterReplicaLogDirs, version, moving("/nowhere", "__cluster_metadata", [0]));
    }
  }),
  scenario("AlterReplicaLogDirs with nothing named", async (broker) => {
    const { two } = await paths(broker);
    const topic = await topicInOne(broker, "t");
    for (const version of [1, 2]) {
      await broker.ask(alterReplicaLogDirs, version, { dirs: [] });
      await broker.ask(alterReplicaLogDirs, version, { dirs: [{ path: two, topics: [] }] });
      await broker.ask(alterReplicaLogDirs, version, moving(two, topic, []));
    }
  }),
  scenario(
    "AlterReplicaLogDirs that names a partition for both directories goes by the last",
    async (broker) => {
      const { one, two } = await paths(broker);
      const topic = await topicInOne(broker, "t");
      const topics = [{ name: topic, partitions: [0] }];
      await broker.ask(alterReplicaLogDirs, 2, { dirs: [{ path: one, topics }, { path: two, topics }] });
      await movedTo(broker, two, topic);
      await broker.ask(alterReplicaLogDirs, 2, { dirs: [{ path: two, topics }, { path: two, topics }] });
      await broker.ask(describeLogDirs, 4, { topics: [{ topic, partitions: [0] }] }, told(broker));
    },
  ),
  scenario("AlterReplicaLogDirs of a topic that is made later says where it is to be", async (broker) => {
    const { one, two } = await paths(broker);
    for (const [i, path] of [one, two, one, two].entries()) {
      await broker.ask(alterReplicaLogDirs, 2, moving(path, broker.name(`t${i}`), [0]));
      const topic = await createTopic(broker, `t${i}`);
      await broker.ask(describeLogDirs, 4, { topics: [{ topic, partitions: [0] }] }, told(broker));
    }
  }),
];

export const scenarios = [...describing, ...altering];
