/** DescribeLogDirs and AlterReplicaLogDirs in version 0, which Kafka 4 has no more: recorded from Kafka 3.9. */
import { alterReplicaLogDirs } from "../../../src/codec/messages/alter_replica_log_dirs.ts";
import { describeLogDirs } from "../../../src/codec/messages/describe_log_dirs.ts";
import type { Oracle } from "../areas.ts";
import { scenario } from "../scenario.ts";
import { moving, paths, told, topicInOne } from "../setup/log_dirs.ts";

export const oracle: Oracle = { kafka: "3.9.1", settings: { "log.dirs": "<dir>/one,<dir>/two" } };

export const scenarios = [
  scenario("DescribeLogDirs 0 tells sizes", async (broker) => {
    const topic = await topicInOne(broker, "t");
    await broker.askEach(describeLogDirs, 0, {
      "all": { topics: null },
      "one": { topics: [{ topic, partitions: [0] }] },
      "none": { topics: [] },
      "missing": { topics: [{ topic: broker.name("missing"), partitions: [0] }, { topic, partitions: [9] }] },
    }, told(broker));
  }),
  scenario("AlterReplicaLogDirs 0 moves, or says why not", async (broker) => {
    const { one, two } = await paths(broker);
    const topic = await topicInOne(broker, "t");
    await broker.askEach(alterReplicaLogDirs, 0, {
      "where it is": moving(one, topic, [0]),
      "elsewhere": moving(two, topic, [0]),
      "nowhere": moving("/nowhere", topic, [0]),
      "no such partition": moving(two, topic, [5]),
      "no such topic": moving(two, broker.name("missing"), [0]),
      "nothing": { dirs: [] },
    });
  }),
];
