/** OffsetCommit 0 and 1, and OffsetFetch 0, which Kafka 4 has dropped, with the newer ones beside them. */
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import type { Oracle } from "../areas.ts";
import { scenario } from "../scenario.ts";
import { committing, joined, newGroup } from "../setup/groups.ts";
import { createTopic } from "../setup/topics.ts";

export const oracle: Oracle = { kafka: "3.9.1" };

/** OffsetFetch of one partition. */
const fetchOf = (groupId: string, name: string, ...partitionIndexes: number[]) => ({
  groupId,
  topics: [{ name, partitionIndexes }],
  groups: [],
});

export const scenarios = [
  scenario("OffsetCommit 1 with and without a time of its own", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    for (const commitTimestamp of [-1n, BigInt(Date.now())]) {
      const partitions = [{
        partitionIndex: 0,
        committedOffset: 5n,
        commitTimestamp,
        committedMetadata: "m",
      }];
      const topics = [{ name: topic, topicId: ZERO_UUID, partitions }];
      await broker.ask(offsetCommit, 1, { groupId: group, memberId: "", topics });
      await broker.ask(offsetFetch, 1, fetchOf(group, topic, 0));
    }
  }),
  scenario("OffsetCommit 1 refuses what later versions refuse", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const { memberId } = await joined(broker, group);
    await broker.askEach(offsetCommit, [1, 2], {
      "missing topic": committing(group, broker.name("missing"), { memberId, generationIdOrMemberEpoch: 1 }),
      "missing partition": committing(group, topic, {
        memberId,
        generationIdOrMemberEpoch: 1,
        partitionIndex: 7,
      }),
      "stranger": committing(group, topic, { memberId: "m", generationIdOrMemberEpoch: 1 }),
      "other generation": committing(group, topic, { memberId, generationIdOrMemberEpoch: 7 }),
      "nobody": committing(group, topic),
      "long metadata": committing(group, topic, {
        memberId,
        generationIdOrMemberEpoch: 1,
        metadata: "x".repeat(5000),
      }),
      "member": committing(group, topic, { memberId, generationIdOrMemberEpoch: 1 }),
    });
  }),
  scenario("OffsetCommit 0 and OffsetFetch 0 meant ZooKeeper", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await broker.ask(offsetCommit, 0, committing(group, topic));
    await broker.ask(offsetFetch, 0, fetchOf(group, topic, 0, 7));
    await broker.ask(offsetFetch, 1, fetchOf(group, topic, 0, 7));
  }),
];
