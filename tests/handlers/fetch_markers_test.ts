/** Fetch in the versions that have no markers, where there is nothing else. */
import { assertEquals } from "@std/assert/equals";
import { messagesIn } from "../../src/codec/legacy.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { writeTxnMarkers } from "../../src/codec/messages/write_txn_markers.ts";
import { freePortBroker } from "../lib/broker.ts";
import { batchOf, fetchFrom, TestClient } from "../protocol/requests.ts";

/** More bytes of them than one fetch goes over. */
const MARKERS = 60_000;

Deno.test("Fetch below version 4 goes over markers, some at a time, to the records behind them", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("t");
  const marker = {
    producerId: 5n,
    producerEpoch: 0,
    transactionResult: true,
    coordinatorEpoch: 0,
    topics: [{ name: "t", partitionIndexes: [0] }],
  };
  await client.send(writeTxnMarkers, 1, { markers: Array.from({ length: MARKERS }, () => marker) });
  await client.append("t", batchOf(["a"]));
  const read = async (version: number, offset: number, bytes: number) => {
    const { responses } = await client.send(fetch, version, fetchFrom("t", [[0, offset, bytes]]));
    const [{ errorCode, records }] = responses[0].partitions;
    return [errorCode, [...messagesIn(records!)].map((message) => message.offset)];
  };
  assertEquals(await read(3, 0, 1), [0, []]);
  assertEquals(await read(3, 0, 1), [0, [MARKERS]]);
  for (const version of [0, 3]) assertEquals(await read(version, 7, 1_000_000), [0, [MARKERS]]);
});
