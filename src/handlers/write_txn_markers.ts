/**
 * Writes the ends of transactions into partitions: coordinators on other brokers ask for it, and administrators who
 * abort a transaction that hangs. Versions differ in what they tell of the transaction only.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { writeTxnMarkers, WriteTxnMarkersRequest } from "../codec/messages/write_txn_markers.ts";
import type { TransactionMarker } from "../replication/transaction_marker.ts";
import type { Handler, Services } from "./context.ts";
import { inSlices } from "./pacing.ts";

type Asked = WriteTxnMarkersRequest["markers"][number];
/** Error codes of a producer's partitions, by topic. */
type Results = Map<string, Map<number, number>>;

export const writeTxnMarkersHandler: Handler<typeof writeTxnMarkers> = async (request, { services }) => {
  const { clock } = services;
  // In their order: markers of a partition follow each other as they were sent.
  const places = request.markers.flatMap(placesOf);
  const errorCodes = await inSlices(
    places,
    clock,
    ({ topic, partition, marker }) => write(topic, partition, marker, services),
  );
  // Of whom nothing is asked, nothing is said, as in Kafka.
  const byProducer = new Map<bigint, Results>();
  for (const [i, { producerId, topic, partition }] of places.entries()) {
    let all = byProducer.get(producerId);
    if (all === undefined) byProducer.set(producerId, all = new Map());
    const partitions = all.get(topic);
    if (partitions === undefined) all.set(topic, new Map([[partition, errorCodes[i]]]));
    else partitions.set(partition, errorCodes[i]);
  }
  return {
    markers: [...byProducer].map(([producerId, topics]) => ({
      producerId,
      topics: [...topics].map(([name, partitions]) => ({
        name,
        partitions: [...partitions].map(([partitionIndex, errorCode]) => ({ partitionIndex, errorCode })),
      })),
    })),
  };
};

/** Where the marker is to be written. */
function placesOf(asked: Asked) {
  const { producerId } = asked;
  const marker: TransactionMarker = {
    producerId: Number(producerId),
    producerEpoch: asked.producerEpoch,
    coordinatorEpoch: asked.coordinatorEpoch,
    isCommit: asked.transactionResult,
    transactionVersion: asked.transactionVersion,
  };
  return asked.topics.flatMap(({ name: topic, partitionIndexes }) =>
    partitionIndexes.map((partition) => ({ producerId, topic, partition, marker }))
  );
}

function write(topic: string, partition: number, marker: TransactionMarker, services: Services) {
  const { producerId, producerEpoch, transactionVersion } = marker;
  // In a batch, -1 stands for no producer. No coordinator sends it.
  if (producerId < 0 || producerEpoch < 0 || transactionVersion < 0) return ErrorCode.INVALID_REQUEST;
  // No producer has such an id, and a rounded one would be somebody else's.
  if (!Number.isSafeInteger(producerId)) return ErrorCode.INVALID_PRODUCER_ID_MAPPING;
  return services.markers.writeMarker(topic, partition, marker, services.clock.now());
}
