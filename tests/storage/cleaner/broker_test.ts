/** Compaction in a whole broker, on its thread: internal topics, settings that change, and the end of things. */

import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Client } from "../../../src/client/client.ts";
import { buildBatch } from "../../../src/codec/batch.ts";
import { ErrorCode } from "../../../src/codec/errors.ts";
import { deleteGroups } from "../../../src/codec/messages/delete_groups.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { incrementalAlterConfigs } from "../../../src/codec/messages/incremental_alter_configs.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { readOffsets } from "../../../src/storage/directory/checkpoints.ts";
import { CLEANER_FILE } from "../../../src/storage/log/compacted.ts";
import { realFiles } from "../../../src/storage/files/real.ts";
import { LOG_SUFFIX, offsetOfName } from "../../../src/storage/directory/names.ts";
import {
  accepted,
  alterTopic,
  commit,
  committed,
  createTopic,
  deleteTopic,
  fetchFrom,
  join,
  produceTo,
} from "../../durability/requests.ts";
import { freePortBroker, type TestBroker } from "../../lib/broker.ts";
import { until } from "../../lib/waiting.ts";

const OFFSETS = "__consumer_offsets";

const connect = ({ port }: TestBroker) => Client.connect({ hostname: "127.0.0.1", port });

/** How far a partition is clean; -1 when it was never cleaned. */
function cleanUpTo({ dataDir }: TestBroker, name: string): number {
  return readOffsets(realFiles, `${dataDir}/${CLEANER_FILE}`).get(name) ?? -1;
}

function activeBase({ dataDir }: TestBroker, name: string): number {
  const bases = realFiles.list(`${dataDir}/${name}`).map((file) => offsetOfName(file.name, LOG_SUFFIX));
  return Math.max(...bases.filter((base) => base !== null));
}

async function recordCount(client: Client, topic: string): Promise<number> {
  let count = 0;
  for (let offset = 0;;) {
    const { batches } = await fetchFrom(client, topic, 0, offset);
    if (batches.length === 0) return count;
    for (const batch of batches) count += batch.recordCount;
    offset = batches.at(-1)!.nextOffset;
  }
}

function keyed(key: string, value: string | null): Uint8Array {
  const text = (content: string) => new TextEncoder().encode(content);
  return buildBatch([{
    timestamp: Date.now(),
    key: text(key),
    value: value === null ? null : text(value),
  }]);
}

Deno.test("the offsets topic is compacted, and groups are after a restart what they were", async () => {
  await using broker = await freePortBroker({
    "log.cleaner.backoff.ms": "0",
    "offsets.topic.num.partitions": "1",
  });
  let client = await connect(broker);
  await createTopic(client, "t", 4);
  const groups = ["one", "two", "three", "gone"];
  const member = await join(client, "one", 60_000);
  await alterTopic(client, OFFSETS, { "internal.segment.bytes": "4000", "min.cleanable.dirty.ratio": "0" });
  for (let round = 0; round < 40; round++) {
    for (const group of groups) {
      const offsets = new Map([0, 1, 2, 3].map((partition) => [partition, round * 10 + partition]));
      await accepted(
        "OffsetCommit",
        () => commit(client, group, "t", offsets, group === "one" ? member : undefined),
      );
    }
  }
  const { results: [deleted] } = await client.send(deleteGroups, 2, { groupsNames: ["gone"] });
  assertEquals(deleted.errorCode, ErrorCode.NONE);
  // So that the tombstones are not in the active segment.
  for (let i = 0; i < 40; i++) await commit(client, "two", "t", new Map([[0, 1000 + i]]));
  const before = await recordCount(client, OFFSETS);
  await until(() => cleanUpTo(broker, `${OFFSETS}-0`) === activeBase(broker, `${OFFSETS}-0`));
  const after = await recordCount(client, OFFSETS);
  assert(after < before / 4, `${after} of ${before} records are left`);

  const look = async () => ({
    offsets: await Promise.all(groups.map((group) => committed(client, group, "t", [0, 1, 2, 3]))),
    groups: (await client.send(describeGroups, 5, { groups, includeAuthorizedOperations: false })).groups,
  });
  const told = await look();
  assertEquals(told.offsets.map((offsets) => [...offsets.values()]), [
    [390, 391, 392, 393],
    [1039, 391, 392, 393],
    [390, 391, 392, 393],
    [-1, -1, -1, -1],
  ]);
  await client.close();
  await broker.restart();
  client = await connect(broker);
  await accepted("DescribeGroups", async () => {
    const { groups: [one] } = await client.send(describeGroups, 5, {
      groups: ["one"],
      includeAuthorizedOperations: false,
    });
    return one.errorCode;
  });
  assertEquals(await look(), told);
  await client.close();
  assertEquals(broker.log, []);
});

Deno.test("a topic that asks for compaction while the broker runs is compacted, and not any more when it does not", async () => {
  await using broker = await freePortBroker({ "log.cleaner.backoff.ms": "0" });
  const client = await connect(broker);
  await createTopic(client, "t", 1, { "internal.segment.bytes": "1000", "min.cleanable.dirty.ratio": "0" });
  const fill = async () => {
    for (let i = 0; i < 40; i++) {
      await produceTo(client, "t", [{ partition: 0, batch: keyed("a", "x".repeat(100)) }]);
    }
  };
  await fill();
  await alterTopic(client, "t", { "cleanup.policy": "compact,delete" });
  await until(() => cleanUpTo(broker, "t-0") === activeBase(broker, "t-0"));
  assert(await recordCount(client, "t") < 10);
  await alterTopic(client, "t", { "cleanup.policy": "delete" });
  const clean = cleanUpTo(broker, "t-0");
  await fill();
  assert(activeBase(broker, "t-0") > clean);
  // Another topic's compaction tells that the broker had its chance.
  await createTopic(client, "u", 1, {
    "internal.segment.bytes": "1000",
    "min.cleanable.dirty.ratio": "0",
    "cleanup.policy": "compact",
  });
  for (let i = 0; i < 40; i++) {
    await produceTo(client, "u", [{ partition: 0, batch: keyed("a", "x".repeat(100)) }]);
  }
  await until(() => cleanUpTo(broker, "u-0") > 0);
  assertEquals(cleanUpTo(broker, "t-0"), clean);
  await client.close();
  assertEquals(broker.log, []);
});

Deno.test("a record without a key is refused with INVALID_RECORD, and told by its place, when the topic is compacted", async () => {
  await using broker = await freePortBroker();
  const client = await connect(broker);
  await createTopic(client, "t", 1, { "cleanup.policy": "compact" });
  const text = new TextEncoder().encode("v");
  const records = [text, null, text, null].map((key) => ({ timestamp: Date.now(), key, value: text }));
  const { responses } = await client.send(produce, 9, {
    acks: -1,
    timeoutMs: 10_000,
    topicData: [{
      name: "t",
      topicId: ZERO_UUID,
      partitionData: [{ index: 0, records: buildBatch(records) }],
    }],
  });
  const [answer] = responses[0].partitionResponses;
  assertEquals(answer.errorCode, ErrorCode.INVALID_RECORD);
  assertEquals(answer.recordErrors.map(({ batchIndex }) => batchIndex), [1, 3]);
  await client.close();
});

Deno.test("a cleaning that is slowed down ends when its topic is deleted, and when the broker stops", async () => {
  await using broker = await freePortBroker({
    "log.cleaner.backoff.ms": "0",
    // Less than a look's worth a minute: it would take hours.
    "log.cleaner.io.max.bytes.per.second": "2000",
    "log.segment.delete.delay.ms": "0",
  });
  const client = await connect(broker);
  const settings = { "internal.segment.bytes": "300000", "min.cleanable.dirty.ratio": "0" };
  const value = "x".repeat(50_000);
  const begin = async (topic: string) => {
    await createTopic(client, topic, 1, { ...settings, "cleanup.policy": "compact" });
    for (let i = 0; i < 20; i++) await produceTo(client, topic, [{ partition: 0, batch: keyed("a", value) }]);
    await until(() => cleanUpTo(broker, `${topic}-0`) >= 0);
  };
  await begin("first");
  await deleteTopic(client, "first");
  await begin("second");
  await client.close();
  await broker.stop();
  const left = realFiles.list(`${broker.dataDir}/second-0`).filter(({ name }) => /cleaned|swap/.test(name));
  assertEquals(left, []);
  assertEquals(broker.log, []);
});

Deno.test("a cleaning that was slowed down goes on at the rate that is set meanwhile", async () => {
  await using broker = await freePortBroker({
    "log.cleaner.backoff.ms": "0",
    "log.cleaner.io.max.bytes.per.second": "2000",
  });
  const client = await connect(broker);
  const settings = { "internal.segment.bytes": "300000", "min.cleanable.dirty.ratio": "0" };
  await createTopic(client, "t", 1, { ...settings, "cleanup.policy": "compact" });
  const value = "x".repeat(50_000);
  for (let i = 0; i < 20; i++) await produceTo(client, "t", [{ partition: 0, batch: keyed("a", value) }]);
  await until(() => cleanUpTo(broker, "t-0") >= 0);
  const { responses } = await client.send(incrementalAlterConfigs, 1, {
    resources: [{
      resourceType: 4,
      resourceName: "",
      configs: [{ name: "log.cleaner.io.max.bytes.per.second", configOperation: 0, value: "1e9" }],
    }],
    validateOnly: false,
  });
  assertEquals(responses[0].errorCode, ErrorCode.NONE);
  await until(() => cleanUpTo(broker, "t-0") === activeBase(broker, "t-0"));
  await client.close();
  assertEquals(broker.log, []);
});
