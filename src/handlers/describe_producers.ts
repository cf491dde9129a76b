/**
 * Tells what partitions remember of their producers, open transactions among it: by this, transactions that their
 * coordinator has forgotten are found (KIP-664).
 */
import { ErrorCode, errorText } from "../codec/errors.ts";
import type { describeProducers, DescribeProducersResponse } from "../codec/messages/describe_producers.ts";
import { topicNameProblem } from "../cluster/topic_names.ts";
import type { ProducerEntry } from "../storage/producers/producer_state.ts";
import type { Handler, Services } from "./context.ts";
import { whyNotHosted } from "./hosted.ts";
import { withStorageErrors } from "./storage_errors.ts";

export const describeProducersHandler: Handler<typeof describeProducers> = (request, { services }) => ({
  topics: request.topics.map(({ name, partitionIndexes }) => ({
    name,
    partitions: partitionIndexes.map((index) => describe(name, index, services)),
  })),
});

type Described = DescribeProducersResponse["topics"][number]["partitions"][number];

function describe(topic: string, partitionIndex: number, services: Services): Described {
  const partition = services.replicas.get(topic, partitionIndex);
  const failed = (errorCode: number): Described => ({
    partitionIndex,
    errorCode,
    errorMessage: errorText(errorCode),
    activeProducers: [],
  });
  if (partition === undefined) {
    const isBadName = topicNameProblem(topic) !== null;
    return failed(
      isBadName ? ErrorCode.INVALID_TOPIC_EXCEPTION : whyNotHosted(topic, partitionIndex, services),
    );
  }
  return withStorageErrors<Described>(() => ({
    partitionIndex,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    activeProducers: partition.log.activeProducers().map(activeProducer),
  }), failed);
}

function activeProducer(entry: ProducerEntry) {
  const { producerId, producerEpoch, batches, lastTimestamp, coordinatorEpoch, currentTxnFirstOffset } =
    entry;
  return {
    producerId,
    producerEpoch,
    lastSequence: batches.at(-1)?.lastSequence ?? -1,
    lastTimestamp,
    coordinatorEpoch,
    currentTxnStartOffset: currentTxnFirstOffset,
  };
}
