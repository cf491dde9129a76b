/** WriteTxnMarkers that no coordinator sends; the others are in tests/differential. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { writeTxnMarkers } from "../../src/codec/messages/write_txn_markers.ts";
import { freePortBroker } from "../lib/broker.ts";
import { TestClient } from "../protocol/requests.ts";

function marking(producerId: bigint, ...topics: [name: string, ...partitionIndexes: number[]][]) {
  return {
    producerId,
    producerEpoch: 0,
    transactionResult: true,
    coordinatorEpoch: 0,
    topics: topics.map(([name, ...partitionIndexes]) => ({ name, partitionIndexes })),
  };
}

Deno.test("WriteTxnMarkers answers once for a partition that is named twice", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 2);
  const markers = [marking(5n, ["t", 1, 1], ["t", 0, 1])];
  const answer = await client.send(writeTxnMarkers, 1, { markers });
  const partitions = [1, 0].map((partitionIndex) => ({ partitionIndex, errorCode: ErrorCode.NONE }));
  assertEquals(answer.markers, [{ producerId: 5n, topics: [{ name: "t", partitions }] }]);
});

Deno.test("WriteTxnMarkers refuses producer ids that nobody has: a rounded one would end somebody else's transaction", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("t");
  const refused: [bigint, number][] = [
    [2n ** 53n + 1n, ErrorCode.INVALID_PRODUCER_ID_MAPPING],
    [2n ** 63n - 1n, ErrorCode.INVALID_PRODUCER_ID_MAPPING],
    [-1n, ErrorCode.INVALID_REQUEST],
  ];
  for (const [producerId, errorCode] of refused) {
    const answer = await client.send(writeTxnMarkers, 2, { markers: [marking(producerId, ["t", 0])] });
    const partitions = [{ partitionIndex: 0, errorCode }];
    assertEquals(answer.markers, [{ producerId, topics: [{ name: "t", partitions }] }]);
  }
});
