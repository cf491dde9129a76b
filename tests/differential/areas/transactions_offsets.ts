/** TxnOffsetCommit beyond what pending_offsets.ts has: what adds a group to a transaction, and what is odd in a request. */
import { addOffsetsToTxn } from "../../../src/codec/messages/add_offsets_to_txn.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { txnOffsetCommit } from "../../../src/codec/messages/txn_offset_commit.ts";
import type { DecodedResponseOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { type Broker, scenario } from "../scenario.ts";
import { newGroup } from "../setup/groups.ts";
import { createTopic, NO_SUCH_ID, ready } from "../setup/topics.ts";
import {
  addingOffsets,
  addOffsets,
  askEnd,
  code,
  committingOffset,
  end,
  stageOffset,
  tellState,
  transactional,
} from "../setup/transactions.ts";

/** What each partition got. */
const staged = (r: DecodedResponseOf<typeof txnOffsetCommit>) =>
  r.topics.flatMap(({ name, partitions }) => partitions.map((p) => ({ topic: name ?? "", ...p })))
    .sort((a, b) => `${a.topic} ${a.partitionIndex}` < `${b.topic} ${b.partitionIndex}` ? -1 : 1);

/** Writes down what OffsetFetch says of a group, in each way of asking. */
async function tellOffsets(broker: Broker, groupId: string, label = "", versions = [7, 8, 9]): Promise<void> {
  for (const version of versions) {
    for (const requireStable of [false, true]) {
      await broker.ask(
        offsetFetch,
        version,
        {
          groupId,
          topics: null,
          groups: [{ groupId, topics: null }],
          requireStable,
        },
        undefined,
        [label, requireStable ? "stable" : ""].filter((text) => text !== "").join(", "),
      );
    }
  }
}

const justNow = [7];

export const scenarios = [
  scenario("TxnOffsetCommit of a group that was not added", async (broker) => {
    const topic = await createTopic(broker, "t");
    const topicId = await ready(broker, topic);
    const group = await newGroup(broker);
    const one = await transactional(broker);
    for (const version of [0, 2, 3, 4]) {
      await broker.ask(txnOffsetCommit, version, committingOffset(one, group, topic), staged);
      await tellState(broker, one);
    }
    await broker.ask(txnOffsetCommit, 5, committingOffset(one, group, topic), staged, "adds itself");
    await broker.ask(
      txnOffsetCommit,
      6,
      committingOffset(one, group, "", { topicId, offset: 8n }),
      staged,
      "again",
    );
    await broker.ask(
      txnOffsetCommit,
      3,
      committingOffset(one, group, topic, { offset: 9n }),
      staged,
      "once more",
    );
    await tellOffsets(broker, group, "pending");
    await askEnd(broker, 5, one, true);
    await tellOffsets(broker, group, "committed");
  }),
  scenario("TxnOffsetCommit of a new group with a member or a generation", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker);
    for (const version of [3, 5]) {
      const group = await newGroup(broker, `g${version}`);
      await addOffsets(broker, one, group);
      await broker.askEach(txnOffsetCommit, version, {
        "member and generation": committingOffset(one, group, topic, {
          memberId: "m",
          generationIdOrMemberEpoch: 1,
        }),
        "generation": committingOffset(one, group, topic, { generationIdOrMemberEpoch: 1 }),
        "generation 0": committingOffset(one, group, topic, { generationIdOrMemberEpoch: 0 }),
        "member": committingOffset(one, group, topic, { memberId: "m" }),
        "instance": committingOffset(one, group, topic, { groupInstanceId: "i" }),
        "nobody": committingOffset(one, group, topic),
      }, staged);
    }
    await askEnd(broker, 5, one, true);
  }),
  scenario("TxnOffsetCommit of what does not exist, of nothing, and of a partition twice", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const topicId = await ready(broker, topic);
    const group = await newGroup(broker);
    const one = await transactional(broker);
    const partition = (partitionIndex: number, offset = 1n, metadata: string | null = "m") => ({
      partitionIndex,
      committedOffset: offset,
      committedMetadata: metadata,
    });
    const of = (groupId: string, ...topics: [string, string, ReturnType<typeof partition>[]][]) => ({
      ...one,
      groupId,
      topics: topics.map(([name, topicId, partitions]) => ({ name, topicId, partitions })),
    });
    await addOffsets(broker, one, group);
    await broker.askEach(txnOffsetCommit, [0, 3, 5], {
      "some partitions": of(group, [topic, topicId, [
        partition(0),
        partition(7),
        partition(1),
        partition(-1),
      ]]),
      "missing topic": of(group, [broker.name("missing"), NO_SUCH_ID, [partition(0)]], [topic, topicId, [
        partition(0),
      ]]),
      "no name": of(group, ["", ZERO_UUID, [partition(0)]]),
      "nothing": of(group),
      "no partitions": of(group, [topic, topicId, []]),
      "twice": of(group, [topic, topicId, [partition(0, 1n), partition(0, 2n)]]),
      "long metadata": of(group, [topic, topicId, [partition(0, 1n, "x".repeat(4097)), partition(1)]]),
      "no metadata": of(group, [topic, topicId, [partition(0, 1n, null)]]),
      "negative offset": of(group, [topic, topicId, [partition(0, -1n)]]),
      "empty group": of("", [topic, topicId, [partition(0)]]),
    }, staged);
    await broker.askEach(txnOffsetCommit, 6, {
      "known": of(group, ["", topicId, [partition(0), partition(7)]]),
      "unknown": of(group, ["", NO_SUCH_ID, [partition(0)]], ["", topicId, [partition(1)]]),
      "zero": of(group, ["", ZERO_UUID, [partition(0)]]),
    });
    await askEnd(broker, 5, one, true);
    await tellOffsets(broker, group, "", justNow);
  }),
  scenario("TxnOffsetCommit after the end, in the old epoch and in the next", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const one = await transactional(broker);
    await stageOffset(broker, one, group, topic, { offset: 5n });
    const two = await end(broker, one, true);
    await broker.askEach(
      txnOffsetCommit,
      [3, 4, 5],
      { "old epoch": committingOffset(one, group, topic) },
      staged,
    );
    await broker.askEach(txnOffsetCommit, [3, 4, 5], {
      "next epoch": committingOffset(two, group, topic, { offset: 6n }),
    }, staged);
    await tellOffsets(broker, group, "", justNow);
    await askEnd(broker, 5, two, false);
    await tellOffsets(broker, group, "", justNow);
  }),
  scenario("Offsets of several groups in a transaction become visible together", async (broker) => {
    const topic = await createTopic(broker, "t");
    const groups = [await newGroup(broker, "g"), await newGroup(broker, "h"), await newGroup(broker, "i")];
    const one = await transactional(broker);
    for (const group of groups) await broker.ask(addOffsetsToTxn, 3, addingOffsets(one, group), code);
    for (const group of groups) await stageOffset(broker, one, group, topic, { version: 4 });
    for (const group of groups) await tellOffsets(broker, group, "pending", justNow);
    await askEnd(broker, 4, one, true);
    for (const group of groups) await tellOffsets(broker, group, "committed", justNow);
  }),
];
