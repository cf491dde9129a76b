/** Several log directories: DescribeLogDirs, AlterReplicaLogDirs. The two of the broker are called by their last names. */
import { alterReplicaLogDirs } from "../../../src/codec/messages/alter_replica_log_dirs.ts";
import { describeLogDirs } from "../../../src/codec/messages/describe_log_dirs.ts";
import type { Oracle } from "../areas.ts";
import { scenario } from "../scenario.ts";
import { movedTo, moving, paths, told, topicInOne } from "../setup/log_dirs.ts";
import { createTopic } from "../setup/topics.ts";

export const oracle: Oracle = { settings: { "log.dirs": "<dir>/one,<dir>/two" } };

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
