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

/** A few bytes that repeat a partition repeat all of its producers: so many go into one answer. */
const MAX_PRODUCERS = 500_000;

export const describeProducersHandler: Handler<typeof describeProducers> = (request, { services }) => {
  let producers = 0;
  return {
    topics: request.topics.map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((index) => {
        if (producers >= MAX_PRODUCERS) return failed(index, ErrorCode.INVALID_REQUEST);
        const described = describe(name, index, services);
        producers += described.activeProducers.length;
        return described;
      }),
    })),
  };
};

type Described = DescribeProducersResponse["topics"][number]["partitions"][number];

function describe(topic: string, partitionIndex: number, services: Services): Described {
  const partition = services.replicas.get(topic, partitionIndex);
  if (partition === undefined) {
    const isBadName = topicNameProblem(topic) !== null;
    return failed(
      partitionIndex,
      isBadName ? ErrorCode.INVALID_TOPIC_EXCEPTION : whyNotHosted(topic, partitionIndex, services),
    );
  }
  return withStorageErrors<Described>(() => ({
    partitionIndex,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    activeProducers: partition.log.activeProducers().map(activeProducer),
  }), (errorCode) => failed(partitionIndex, errorCode));
}

function failed(partitionIndex: number, errorCode: number): Described {
  return { partitionIndex, errorCode, errorMessage: errorText(errorCode), activeProducers: [] };
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
