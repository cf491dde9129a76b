/**
 * Appends what a producer sends. Versions 0 to 2 bring message formats 0 and 1, which are stored as format 2; from
 * version 3 a partition gets exactly one batch of format 2. zstd needs version 7, topic ids come with version 13.
 *
 * With acks=0 nothing is answered; a failure then can only be told by closing the connection, so that the client
 * looks at its metadata again.
 */
import { Allowance } from "../codec/allowance.ts";
import { BATCH_OVERHEAD, BatchView, Compression, LOG_OVERHEAD, MIN_ENTRY_BYTES } from "../codec/batch.ts";
import { ATTRIBUTES_AT, MAGIC_AT, TRANSACTIONAL_BIT } from "../codec/batch_format.ts";
import { ErrorCode, errorName } from "../codec/errors.ts";
import { upConvert } from "../codec/legacy.ts";
import type { produce, ProduceRequest } from "../codec/messages/produce.ts";
import { isInternalTopic } from "../cluster/topic_names.ts";
import type { Partition, PartitionAppend } from "../replication/partition.ts";
import type { Verification } from "../storage/producers/producer_state.ts";
import type { Handler, RequestContext } from "./context.ts";
import { whyNotHosted } from "./hosted.ts";
import {
  type TransactionalBatch,
  type VerificationProblem,
  verify,
  type Verifying,
} from "./produce_verification.ts";

/** The first version whose records have to be format 2. */
const firstWithBatches = 3;
/** The first version that may carry zstd (KIP-110). */
const firstWithZstd = 7;
/** The first version that names topics by id. */
const firstWithTopicIds = 13;

/**
 * What a request may cost beyond its own bytes, where batches have to be opened (to recompress them, to look for keys or
 * times, to count records) or converted: so much, and so much more for each byte of records that it brings. A producer
 * that compresses to a twentieth is far from that; what would cost more is MESSAGE_TOO_LARGE, which makes Java's
 * producer send smaller batches.
 */
const FREE_DECOMPRESSED_BYTES = 32 * 1024 * 1024, DECOMPRESSED_BYTES_PER_BYTE = 16;
const FREE_RECORDS = 300_000, RECORDS_PER_BYTE = 1;

/** No message set so many times as large as `max.message.bytes` becomes a batch that is not. */
const MAX_CONVERSION_GAIN = 5;

type Topic = ProduceRequest["topicData"][number];
type PartitionData = Topic["partitionData"][number];

/** The part of a response about one partition. */
interface Outcome {
  index: number;
  errorCode: number;
  baseOffset: number;
  logAppendTimeMs: number;
  logStartOffset: number;
  recordErrors: { batchIndex: number; batchIndexErrorMessage: string }[];
  errorMessage: string | null;
}

export const produceHandler: Handler<typeof produce> = (request, context) => {
  const { image } = context.services.cluster;
  const verifying = hasTransactional(request, context.version) ? verifyAll(request, context) : null;
  /** Appends that are not on disk yet, where the topic wants them there before they are acknowledged. */
  const uncommitted: Promise<void>[] = [];
  let someAreLate = false;
  const allowance = new Allowance(FREE_DECOMPRESSED_BYTES, FREE_RECORDS);
  // A topic without partitions is not in Kafka's answer either.
  const responses = request.topicData.filter((topic) => topic.partitionData.length > 0).map((topic) => {
    const name = context.version >= firstWithTopicIds
      ? image.topicsById.get(topic.topicId)?.name
      : topic.name;
    const partitionResponses = topic.partitionData.map((data) => {
      const { outcome, committed, isLate } = verifying instanceof Refused
        ? refused(data.index, verifying.errorCode, verifying.text)
        : appendTo(name, data, request, context, allowance, verifying?.get(data));
      someAreLate ||= isLate === true;
      if (committed !== null) {
        uncommitted.push(committed.then((errorCode) => {
          if (errorCode !== ErrorCode.NONE) outcome.errorCode = errorCode;
        }));
      }
      return outcome;
    });
    return { name: name ?? topic.name, topicId: topic.topicId, partitionResponses };
  });
  if (request.acks === 0) {
    const end = () => disconnectIfFailed(responses, context);
    return someAreLate ? Promise.all(uncommitted).then(end) : end();
  }
  return uncommitted.length === 0 ? { responses } : Promise.all(uncommitted).then(() => ({ responses }));
};

/** Why all of a request is refused. */
class Refused {
  constructor(readonly errorCode: number, readonly text: string) {}
}

/** Whether a batch is part of a transaction. Of most requests none is, so this costs next to nothing. */
function hasTransactional({ topicData }: ProduceRequest, version: number): boolean {
  if (version < firstWithBatches) return false;
  for (const { partitionData } of topicData) {
    for (const { records } of partitionData) if (isTransactional(records)) return true;
  }
  return false;
}

function isTransactional(records: Uint8Array | null): boolean {
  return records !== null && records.length >= BATCH_OVERHEAD && records[MAGIC_AT] === 2 &&
    (records[ATTRIBUTES_AT + 1] & TRANSACTIONAL_BIT) !== 0;
}

/** Has the coordinator asked for the transactional batches whose partitions are there. */
function verifyAll(
  request: ProduceRequest,
  { services, version }: RequestContext,
): Map<PartitionData, Verifying> | Refused {
  const { transactionalId, timeoutMs, topicData } = request;
  if (transactionalId === null) {
    const text = "A transactional batch without its id";
    return new Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, text);
  }
  const { topicsById } = services.cluster.image;
  const batches: (TransactionalBatch & { data: PartitionData })[] = [];
  for (const { name, topicId, partitionData } of topicData) {
    const topic = version >= firstWithTopicIds ? topicsById.get(topicId)?.name : name;
    if (topic === undefined) continue;
    for (const data of partitionData) {
      const partition = services.replicas.get(topic, data.index);
      if (partition === undefined || !isTransactional(data.records)) continue;
      const batch = new BatchView(data.records!);
      if (batch.hasProducerId && recordsProblem(data.records, version) === null) {
        batches.push({ partition, batch, data });
      }
    }
  }
  const isOfOne = batches.every(({ batch: { producerId, producerEpoch } }) =>
    producerId === batches[0].batch.producerId && producerEpoch === batches[0].batch.producerEpoch
  );
  if (!isOfOne) {
    return new Refused(
      ErrorCode.INVALID_PRODUCER_ID_MAPPING,
      "Transactional batches of more than one producer",
    );
  }
  const verifying = verify(batches, { transactionalId, version, timeoutMs }, services);
  return new Map(batches.map(({ data }, i) => [data, verifying[i]]));
}

/** Nothing is answered to acks=0. */
function disconnectIfFailed(
  responses: { name: string; partitionResponses: Outcome[] }[],
  context: RequestContext,
): null {
  for (const { name, partitionResponses } of responses) {
    const failed = partitionResponses.find((p) => p.errorCode !== ErrorCode.NONE);
    if (failed !== undefined) {
      context.disconnect(
        `produce with acks=0 to ${name}-${failed.index} failed: ${errorName(failed.errorCode)}`,
      );
      return null;
    }
  }
  return null;
}

/** Errors that Kafka answers before it looks at the log, so that they say nothing of its start. */
const withoutLogStart: ReadonlySet<number> = new Set([
  ErrorCode.CORRUPT_MESSAGE,
  ErrorCode.KAFKA_STORAGE_ERROR,
  ErrorCode.MESSAGE_TOO_LARGE,
  ErrorCode.RECORD_LIST_TOO_LARGE,
]);

/** An outcome, and when the append behind it is committed; null when there is nothing to wait for. */
interface Appended {
  readonly outcome: Outcome;
  readonly committed: Promise<number> | null;
  /** It is not in the log yet, and the outcome not known. */
  readonly isLate?: boolean;
}

/** `verifying` is there for a transactional batch. */
function appendTo(
  topic: string | undefined,
  { index, records }: PartitionData,
  { acks }: ProduceRequest,
  context: RequestContext,
  allowance: Allowance,
  verifying: Verifying | undefined,
): Appended {
  const { services, version } = context;
  if (topic === undefined) return refused(index, ErrorCode.UNKNOWN_TOPIC_ID);
  const partition = services.replicas.get(topic, index);
  if (partition === undefined) return refused(index, whyNotHosted(topic, index, services));
  const wrong = recordsProblem(records, version);
  if (wrong !== null) return refused(index, wrong.errorCode, wrong.text);
  const append = () => appendAdmitted(partition, records!, acks, context, allowance, verifying?.verification);
  if (verifying === undefined || verifying.answer === null) return append();
  return appendedLater(verifying.answer, partition, append, services);
}

function appendAdmitted(
  partition: Partition,
  records: Uint8Array,
  acks: number,
  context: RequestContext,
  allowance: Allowance,
  verification: Verification | null | undefined,
): Appended {
  const { topic, index } = partition;
  if (acks < -1 || acks > 1) return refused(index, ErrorCode.INVALID_REQUIRED_ACKS);
  if (isInternalTopic(topic)) {
    return refused(index, ErrorCode.INVALID_TOPIC_EXCEPTION, `Cannot append to internal topic ${topic}`);
  }
  if (acks === -1 && partition.isr.length < partition.minInsyncReplicas) {
    return refused(
      index,
      ErrorCode.NOT_ENOUGH_REPLICAS,
      `${partition.isr.length} in-sync replicas, ${partition.minInsyncReplicas} are needed (min.insync.replicas)`,
    );
  }
  allowance.bytes += records.length * DECOMPRESSED_BYTES_PER_BYTE;
  allowance.items += records.length * RECORDS_PER_BYTE;
  return context.version >= firstWithBatches
    ? appended(partition, records, context, allowance, verification)
    : appendMessages(partition, records, context, allowance);
}

/**
 * Appends when the producer's coordinator has answered. The outcome says what came of it when `committed` has resolved.
 */
function appendedLater(
  answer: Promise<VerificationProblem | null>,
  partition: Partition,
  append: () => Appended,
  services: RequestContext["services"],
): Appended {
  const { topic, index } = partition;
  const { outcome } = refused(index, ErrorCode.NONE);
  const committed = answer.then(async (problem) => {
    let late: Appended;
    if (problem !== null) late = refused(index, problem.errorCode, problem.text);
    else if (services.replicas.get(topic, index) !== partition) {
      late = refused(index, whyNotHosted(topic, index, services));
    } else late = append();
    const committedCode = await late.committed;
    Object.assign(outcome, late.outcome);
    return committedCode ?? outcome.errorCode;
  });
  return { outcome, committed, isLate: true };
}

/** What is wrong with the records as a request, whatever log they are for: Kafka looks at that first. */
function recordsProblem(
  records: Uint8Array | null,
  version: number,
): { errorCode: number; text: string } | null {
  const invalid = (text: string) => ({ errorCode: ErrorCode.INVALID_RECORD, text });
  if (records === null || records.length === 0) {
    return invalid("A produce request needs a record batch for each partition");
  }
  if (version < firstWithBatches) return null;
  const batch = new BatchView(records);
  // A length that no batch can have is damage, which the log tells; any other that does not fit is a wrong request.
  const claimed = records.length < LOG_OVERHEAD ? null : batch.sizeInBytes;
  if (claimed === null || (claimed >= BATCH_OVERHEAD && claimed !== records.length)) {
    return invalid(`${records.length} bytes are not one whole record batch`);
  }
  // Nor does the format mean anything where the size is below that of any.
  if (claimed < MIN_ENTRY_BYTES) return null;
  const { magic } = batch;
  if (magic === 0 || magic === 1) {
    return invalid(`Cannot append format ${magic}: this version needs format 2`);
  }
  if (magic !== 2) return null;
  if (version < firstWithZstd && batch.compression === Compression.ZSTD) {
    return { errorCode: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text: "zstd needs Produce version 7" };
  }
  return null;
}

function appendMessages(
  partition: Partition,
  records: Uint8Array,
  context: RequestContext,
  allowance: Allowance,
): Appended {
  const { index } = partition;
  if (records.length > MAX_CONVERSION_GAIN * partition.log.config.maxMessageBytes) {
    return refused(index, ErrorCode.MESSAGE_TOO_LARGE, `${records.length} bytes of messages`);
  }
  const converted = upConvert(records, allowance);
  if (converted.problem !== null) return refused(index, converted.problem.errorCode, converted.problem.text);
  return appended(partition, converted.batch, context, allowance);
}

function appended(
  partition: Partition,
  batch: Uint8Array,
  { services }: RequestContext,
  allowance: Allowance,
  verification?: Verification | null,
): Appended {
  const { index, topic } = partition;
  const terms = { allowance, maxDecompressedBytes: maxDecompressedBytes(topic, services), verification };
  if (services.slowAppends.concerns(partition, batch.length)) {
    const isThere = () => services.replicas.get(topic, index) === partition;
    const slow = services.slowAppends.append(partition, batch, terms, isThere);
    if (slow !== null) return appendedSlowly(partition, slow, services);
  }
  const result = partition.append(batch, "client", services.clock.now(), terms);
  return { outcome: outcomeOf(index, result), committed: result.committed };
}

/** The outcome says what came of it when `committed` has resolved. */
function appendedSlowly(
  { topic, index }: Partition,
  slow: Promise<PartitionAppend | null>,
  services: RequestContext["services"],
): Appended {
  const { outcome } = refused(index, ErrorCode.NONE);
  const committed = slow.then(async (result) => {
    if (result === null) return whyNotHosted(topic, index, services);
    Object.assign(outcome, outcomeOf(index, result));
    return await result.committed ?? outcome.errorCode;
  });
  return { outcome, committed, isLate: true };
}

function outcomeOf(index: number, result: PartitionAppend): Outcome {
  return {
    index,
    errorCode: result.errorCode,
    baseOffset: result.baseOffset,
    logAppendTimeMs: result.logAppendTimeMs,
    logStartOffset: withoutLogStart.has(result.errorCode) ? -1 : result.logStartOffset,
    recordErrors: (result.recordErrors ?? []).map((e) => ({
      batchIndex: e.index,
      batchIndexErrorMessage: e.text,
    })),
    errorMessage: result.errorText ?? null,
  };
}

function maxDecompressedBytes(topic: string, { cluster, config }: RequestContext["services"]): number {
  const own = cluster.image.topics.get(topic)?.configs.get("max.decompressed.message.bytes");
  return own === undefined ? config.get("max.decompressed.message.bytes") : Number(own);
}

function refused(index: number, errorCode: number, errorMessage: string | null = null): Appended {
  const nothing = { baseOffset: -1, logAppendTimeMs: -1, logStartOffset: -1, recordErrors: [] };
  return { outcome: { index, errorCode, errorMessage, ...nothing }, committed: null };
}
