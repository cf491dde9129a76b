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
import { LargeAnswer } from "./pacing.ts";
import { withStorageErrors } from "./storage_errors.ts";

/** A few bytes that repeat a partition repeat all of its producers: so many go into one answer. */
const MAX_PRODUCERS = 500_000;
/** What one of them costs, and a partition without any. */
const PRODUCER_BYTES = 200;
const PARTITION_BYTES = 200;
/** So many are told without a thought for other requests. */
const AT_ONCE = 1000;

export const describeProducersHandler: Handler<typeof describeProducers> = async (request, context) => {
  const { services } = context;
  const answer = new LargeAnswer(context);
  const topics = [];
  let producers = 0;
  for (const { name, partitionIndexes } of request.topics) {
    const partitions: Described[] = [];
    topics.push({ name, partitions });
    for (const index of partitionIndexes) {
      const isFull = producers >= MAX_PRODUCERS;
      const wait = answer.grow(
        PARTITION_BYTES + (isFull ? 0 : countOf(name, index, services)) * PRODUCER_BYTES,
      );
      if (wait) await wait;
      if (answer.isUnwanted) return null;
      const found = isFull ? failed(index, ErrorCode.INVALID_REQUEST) : find(name, index, services);
      if (!Array.isArray(found)) {
        partitions.push(found);
        continue;
      }
      producers += found.length;
      const activeProducers = await told(found, answer);
      partitions.push({
        partitionIndex: index,
        errorCode: ErrorCode.NONE,
        errorMessage: null,
        activeProducers,
      });
    }
  }
  return { topics };
};

type Described = DescribeProducersResponse["topics"][number]["partitions"][number];

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

async function told(entries: readonly ProducerEntry[], answer: LargeAnswer) {
  const activeProducers = [];
  for (let from = 0; from < entries.length; from += AT_ONCE) {
    const pause = from === 0 ? null : answer.grow(0);
    if (pause) await pause;
    for (const entry of entries.slice(from, from + AT_ONCE)) activeProducers.push(activeProducer(entry));
  }
  return activeProducers;
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
