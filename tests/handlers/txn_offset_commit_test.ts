/** Offsets in transactions in a whole broker; what each error is like is in tests/differential. */
import { assertEquals } from "@std/assert/equals";
import { Client } from "../../src/client/client.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { deleteGroups } from "../../src/codec/messages/delete_groups.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import type { CommitReply } from "../../src/coordinators/groups/requests.ts";
import type { RequestContext } from "../../src/handlers/context.ts";
import { txnOffsetCommitHandler } from "../../src/handlers/txn_offset_commit.ts";
import { readOffsets } from "../../src/storage/directory/checkpoints.ts";
import { realFiles } from "../../src/storage/files/real.ts";
import { CLEANER_FILE } from "../../src/storage/log/compacted.ts";
import { Broker } from "../differential/scenario.ts";
import { committed, newGroup } from "../differential/setup/groups.ts";
import { createTopic } from "../differential/setup/topics.ts";
import { end, stageOffset, transactional } from "../differential/setup/transactions.ts";
import { alterTopic } from "../durability/requests.ts";
import { freePortBroker, type TestBroker } from "../lib/broker.ts";

const OFFSETS = "__consumer_offsets";

/** What is committed of partitions 0 and 1, and whether a transaction may be about to move it. */
async function look(asker: Broker, groupId: string, topic: string): Promise<string[]> {
  const topics = [{ name: topic, partitionIndexes: [0, 1] }];
  const ask = async (requireStable: boolean) => {
    const answer = await asker.send(offsetFetch, 7, { groupId, topics, groups: [], requireStable });
    return answer!.topics[0].partitions;
  };
  const stable = await ask(true);
  return (await ask(false)).map(({ committedOffset }, i) =>
    `${committedOffset}${stable[i].errorCode === ErrorCode.UNSTABLE_OFFSET_COMMIT ? " unstable" : ""}`
  );
}

function cleanUpTo({ dataDir }: TestBroker): number {
  return readOffsets(realFiles, `${dataDir}/${CLEANER_FILE}`).get(`${OFFSETS}-0`) ?? -1;
}

Deno.test("pending offsets and the order of commits outlive compaction of the offsets topic and restarts", async () => {
  await using broker = await freePortBroker({
    "log.cleaner.backoff.ms": "0",
    "offsets.topic.num.partitions": "1",
  });
  let asker = new Broker(broker.port, "x");
  const topic = await createTopic(asker, "t", {}, 2);
  const [group, other] = [await newGroup(asker, "g"), await newGroup(asker, "other")];
  const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port });
  await alterTopic(client, OFFSETS, { "internal.segment.bytes": "4000", "min.cleanable.dirty.ratio": "0" });
  await client.close();
  /** Commits until all that was there is compacted, up to where a transaction is open. */
  const compact = async (isOver: () => boolean) => {
    for (let offset = 0; !isOver(); offset++) {
      await committed(asker, other, topic, { offset: BigInt(offset) });
    }
  };
  let [ends, aborts] = [await transactional(asker, "ends"), await transactional(asker, "aborts")];
  for (let round = 0n; round < 20n; round++) {
    await stageOffset(asker, ends, group, topic, { offset: 100n + round });
    await stageOffset(asker, aborts, group, topic, { offset: 200n + round });
    await committed(asker, group, topic, { offset: round, partitionIndex: 1 });
    await stageOffset(asker, ends, group, topic, { offset: 300n + round, partitionIndex: 1 });
    // Later in the log than what is staged, so that the commit of the transaction does not change it.
    await committed(asker, group, topic, { offset: 400n + round, partitionIndex: 1 });
    [ends, aborts] = [await end(asker, ends, true), await end(asker, aborts, false)];
  }
  const open = await transactional(asker, "open");
  const before = cleanUpTo(broker);
  await stageOffset(asker, open, group, topic, { offset: 500n });
  const expected = ["119 unstable", "419"];
  assertEquals(await look(asker, group, topic), expected);
  await compact(() => cleanUpTo(broker) > before && cleanUpTo(broker) > 60);
  await asker.close();
  await broker.restart();

  asker = new Broker(broker.port, "x");
  await newGroup(asker, "g");
  assertEquals(await look(asker, group, topic), expected);
  const openAt = cleanUpTo(broker);
  await end(asker, open, true);
  await compact(() => cleanUpTo(broker) > openAt + 50);
  assertEquals(await look(asker, group, topic), ["500", "419"]);
  await asker.close();
  await broker.restart();

  asker = new Broker(broker.port, "x");
  await newGroup(asker, "g");
  assertEquals(await look(asker, group, topic), ["500", "419"]);
  const { results } = (await asker.send(deleteGroups, 2, { groupsNames: [group] }))!;
  assertEquals(results[0].errorCode, ErrorCode.NONE);
  await asker.close();
  assertEquals(broker.log, []);
});

Deno.test("TxnOffsetCommit tells producers of before Kafka 2.0 nothing of loading, which they do not bear", async () => {
  const partition = {
    partitionIndex: 0,
    committedOffset: 1n,
    committedLeaderEpoch: -1,
    committedMetadata: null,
  };
  const request = {
    transactionalId: "x",
    groupId: "g",
    producerId: 1n,
    producerEpoch: 0,
    generationIdOrMemberEpoch: -1,
    memberId: "",
    groupInstanceId: null,
    topics: [{ name: "t", topicId: "", partitions: [partition] }],
  };
  const reply: CommitReply = {
    topics: [{
      name: "t",
      topicId: "",
      partitions: [{ partitionIndex: 0, errorCode: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS }],
    }],
  };
  const services = {
    cluster: { image: { topics: new Map([["t", { name: "t", topicId: "", partitions: [{}] }]]) } },
    groups: { commitInTransaction: () => Promise.resolve(structuredClone(reply)) },
  };
  const told = [];
  for (let version = 0; version <= 5; version++) {
    const context = { services, version } as unknown as RequestContext;
    const answer = await txnOffsetCommitHandler(request, context);
    told.push(answer!.topics[0].partitions[0].errorCode);
  }
  const { COORDINATOR_NOT_AVAILABLE: later, COORDINATOR_LOAD_IN_PROGRESS: loading } = ErrorCode;
  assertEquals(told, [later, later, loading, loading, loading, loading]);
});
