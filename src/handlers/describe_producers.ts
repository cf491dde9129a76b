/**
 * Tells what partitions remember of their producers, open transactions among it: by this, transactions that their
 * coordinator has forgotten are found (KIP-664).
 */
import { ErrorCode, errorText } from "../codec/errors.ts";
import { describeProducers, type DescribeProducersResponse } from "../codec/messages/describe_producers.ts";
import { WrittenArray } from "../codec/written_array.ts";
import { topicNameProblem } from "../cluster/topic_names.ts";
import type { ProducerEntry } from "../storage/producers/producer_state.ts";
import type { Handler, Services } from "./context.ts";
import { whyNotHosted } from "./hosted.ts";
import { LargeAnswer } from "./pacing.ts";
import { withStorageErrors } from "./storage_errors.ts";

/** A few bytes that repeat a partition repeat all of its producers: so many go into one answer. */
const MAX_PRODUCERS = 500_000;
/** What one of them costs, a partition without any, and a topic without partitions. */
const PRODUCER_BYTES = 50;
const PARTITION_BYTES = 100;
const TOPIC_BYTES = 500;
/** So many are told without a thought for other requests. */
const AT_ONCE = 1000;

export const describeProducersHandler: Handler<typeof describeProducers> = async (request, context) => {
  const { services, version } = context;
  const { response } = describeProducers;
  const ofPartitions = response.elements(version, "topics", "partitions");
  const ofProducers = response.elements(version, "topics", "partitions", "activeProducers");
  const answer = new LargeAnswer(context);
  const topics = [];
  let producers = 0;
  for (const { name, partitionIndexes } of request.topics) {
    if (!await answer.goesOn(TOPIC_BYTES)) return null;
    const partitions = new WrittenArray<Described>(ofPartitions);
    topics.push({ name, partitions: partitions.asArray });
    for (const index of partitionIndexes) {
      const isFull = producers >= MAX_PRODUCERS;
      const count = isFull ? 0 : countOf(name, index, services);
      if (!await answer.goesOn(PARTITION_BYTES + count * PRODUCER_BYTES)) return null;
      const found = isFull ? failed(index, ErrorCode.INVALID_REQUEST) : find(name, index, services);
      if (!Array.isArray(found)) {
        partitions.push(found);
        continue;
      }
      producers += found.length;
      const activeProducers = new WrittenArray<Producer>(ofProducers);
      for (let from = 0; from < found.length; from += AT_ONCE) {
        if (!await answer.goesOn(0)) return null;
        for (const entry of found.slice(from, from + AT_ONCE)) activeProducers.push(activeProducer(entry));
      }
      partitions.push({ ...told(index), activeProducers: activeProducers.asArray });
    }
  }
  return { topics };
};

type Described = DescribeProducersResponse["topics"][number]["partitions"][number];
type Producer = Described["activeProducers"][number];

/** How many producers {@link find} will give. */
function countOf(topic: string, partitionIndex: number, { replicas }: Services): number {
  return withStorageErrors(() => replicas.get(topic, partitionIndex)?.log.activeProducerCount ?? 0, () => 0);
}

/** The producers of a partition, or why they cannot be told. */
function find(topic: string, partitionIndex: number, services: Services): ProducerEntry[] | Described {
  const partition = services.replicas.get(topic, partitionIndex);
  if (partition === undefined) {
    const isBadName = topicNameProblem(topic) !== null;
    return failed(
      partitionIndex,
      isBadName ? ErrorCode.INVALID_TOPIC_EXCEPTION : whyNotHosted(topic, partitionIndex, services),
    );
  }
  return withStorageErrors<ProducerEntry[] | Described>(
    () => partition.log.activeProducers(),
    (errorCode) => failed(partitionIndex, errorCode),
  );
}

function told(partitionIndex: number): Described {
  return { partitionIndex, errorCode: ErrorCode.NONE, errorMessage: null, activeProducers: [] };
}

function failed(partitionIndex: number, errorCode: number): Described {
  return { ...told(partitionIndex), errorCode, errorMessage: errorText(errorCode) };
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
