/**
 * Reads records, waiting up to `maxWaitMs` for `minBytes` of them. A held fetch is woken by appends to its own
 * partitions and by nothing else but its time. Versions 0 to 3 get message formats 0 and 1, sessions start with
 * version 7, topic ids with version 13.
 */
import type { Chunk } from "../base/file_slice.ts";
import { Later } from "../base/later.ts";
import { Allowance } from "../codec/allowance.ts";
import { ErrorCode } from "../codec/errors.ts";
import { downConvert } from "../codec/legacy.ts";
import type { fetch, FetchRequest, FetchResponse } from "../codec/messages/fetch.ts";
import { MAX_FRAME_BYTES } from "../codec/writer.ts";
import type { FetchedPartition, SessionFetch } from "../replication/fetch_sessions.ts";
import type { HeldRequest } from "../replication/held_requests.ts";
import type { AppendWaiter, Partition } from "../replication/partition.ts";
import { IoError } from "../storage/files/files.ts";
import type { Handler, RequestContext } from "./context.ts";
import { answerBytes, fetchThrottleMs, mostFetchBytes } from "./fetch_quota.ts";
import { whyNotHosted } from "./hosted.ts";
import { withStorageErrors } from "./storage_errors.ts";

/** The first version whose byte limits yield to a batch that is larger, so that a consumer always moves (KIP-74). */
const firstWithSoftLimits = 3;
/** The first version that takes format 2; before it format 1 from version 2 on, format 0 before that. */
const firstWithBatches = 4, firstWithFormat1 = 2;
/** The first version that names topics by id. */
const firstWithTopicIds = 13;

/** The first version whose errors tell who leads now (KIP-951). */
const firstWithLeaderHints = 16;

const READ_COMMITTED = 1;

/**
 * What one fetch of an old version may cost by the conversion of what it reads: enough for any batch that a producer
 * sends, and little enough for the broker to do it in one go. A fetch that would cost more gives what was converted so
 * far, and the client asks for the rest.
 */
const CONVERTED_BYTES = 32 * 1024 * 1024, CONVERTED_RECORDS = 300_000;

/**
 * What one fetch of an old version may read on its way over markers, which those do not have: 50,000 of them. The next one
 * goes on from there.
 */
const PASSED_BYTES = 4 * 1024 * 1024;
const NO_WAY = new Allowance(0, 0);

/** The most that one answer has of records, below what a frame can hold, with room for everything around them. */
const MAX_ANSWER_BYTES = MAX_FRAME_BYTES - 64 * 1024 * 1024;

/** One for all: a session may have thousands of partitions without news. */
const NO_RECORDS = new Uint8Array(0);

/** No fetch is held for longer, whatever it asks for: what it waits for may never come, and its client is heard of again. */
const LONGEST_WAIT_MS = 5 * 60_000;

/** What a fetch may give although slow clients hold the memory: they must not bring the others to a halt. */
const ALWAYS_BYTES = 64 * 1024;

/** Less costs as much to read and write as to have sent. */
const SLICED_FROM_BYTES = 64 * 1024;

type TopicAnswer = FetchResponse["responses"][number];
type PartitionAnswer = TopicAnswer["partitions"][number];

/** The limits of one fetch, and what it is about. */
interface Limits {
  readonly version: number;
  readonly maxBytes: number;
  readonly readCommitted: boolean;
  /** Whether another broker asks. It can be none of the partition's replicas, which are all here. */
  readonly isFollower: boolean;
  readonly conversions: Allowance;
  readonly passing: Allowance;
}

/** What was read of one partition. */
interface Read {
  readonly answer: PartitionAnswer;
  /** What is there to be read within the limits; more than was read where a batch would not fit in whole. */
  readonly bytesAvailable: number;
}

/** What was read for all partitions of a fetch. */
interface Outcome {
  readonly answers: { wanted: FetchedPartition; answer: PartitionAnswer }[];
  readonly bytesAvailable: number;
  /** Whether the client should hear at once, whatever it waits for. */
  readonly urgent: boolean;
}

/** Errors of partitions that do not exist: Kafka answers them when the others are. */
const waitsForOthers: ReadonlySet<number> = new Set([
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ErrorCode.UNKNOWN_TOPIC_ID,
]);

export const fetchHandler: Handler<typeof fetch> = (request, context) => {
  const { services, version } = context;
  const session = services.fetchSessions.begin({
    sessionId: request.sessionId,
    sessionEpoch: request.sessionEpoch,
    usesTopicIds: version >= firstWithTopicIds,
    partitions: wantedPartitions(request, context),
    forgotten: request.forgottenTopicsData.flatMap((t) =>
      t.partitions.map((partition) => ({ topic: t.topic, topicId: t.topicId, partition }))
    ),
  }, services.clock.monotonic());
  if (session.errorCode !== ErrorCode.NONE) return { errorCode: session.errorCode, responses: [] };

  const limits = limitsOf(request, context);
  const ahead = readAhead(session.partitions, limits, context);
  if (ahead === null) return readOrHold(session, request, limits, context);
  let isGone = false;
  context.onDisconnect = () => isGone = true;
  return ahead.then(() => {
    context.onDisconnect = null;
    // Others have read meanwhile: there may be less room for an answer.
    return isGone ? null : readOrHold(session, request, limitsOf(request, context), context);
  });
};

function readOrHold(
  session: SessionFetch,
  request: FetchRequest,
  limits: Limits,
  context: RequestContext,
): FetchResponse | PromiseLike<FetchResponse | null> {
  // Nobody can be given more than the limit, so nobody waits for more.
  const minBytes = Math.min(request.minBytes, limits.maxBytes);
  const outcome = readAll(session.partitions, limits, context);
  const { urgent, bytesAvailable } = outcome;
  if (urgent || bytesAvailable >= minBytes || request.maxWaitMs <= 0) {
    return respond(session, outcome, context);
  }
  // What was read so far is read again after the wait: held until then, it would be memory that nobody counts.
  context.loans.giveAll();
  return new HeldFetch(session, request, context, minBytes, bytesAvailable).answer;
}

/**
 * Resolves when what the fetch may give of partitions that are read slowly is in memory; null when all may be read at
 * once. A disk must not hold up everybody.
 */
function readAhead(
  partitions: readonly FetchedPartition[],
  limits: Limits,
  { services }: RequestContext,
): Promise<void> | null {
  let reads: Promise<void>[] | null = null;
  let bytes = 0;
  for (const { topic, partition, fetchOffset, partitionMaxBytes } of partitions) {
    const wanted = Math.min(partitionMaxBytes, limits.maxBytes - bytes);
    // A limit below 0 takes nothing, and must not leave more to those behind it than the whole fetch may give.
    if (wanted <= 0) continue;
    const read = services.replicas.get(topic, partition)?.log.readAhead(fetchOffset, wanted) ?? null;
    if (read === null) continue;
    bytes += wanted;
    (reads ??= []).push(read);
  }
  return reads && Promise.all(reads).then(() => {});
}

function limitsOf(request: FetchRequest, context: RequestContext): Limits {
  const { services, version } = context;
  return {
    version,
    maxBytes: Math.min(
      request.maxBytes,
      services.config.get("fetch.max.bytes"),
      MAX_ANSWER_BYTES,
      mostFetchBytes(context),
      Math.max(ALWAYS_BYTES, services.answerRoomBytes()),
    ),
    readCommitted: request.isolationLevel === READ_COMMITTED,
    isFollower: Math.max(request.replicaId, request.replicaState.replicaId) >= 0,
    conversions: new Allowance(CONVERTED_BYTES, CONVERTED_RECORDS),
    passing: new Allowance(PASSED_BYTES),
  };
}

/** The partitions of the request, each with the topic's name and id as far as they are known. */
function wantedPartitions(request: FetchRequest, { version, services }: RequestContext): FetchedPartition[] {
  const { topicsById } = services.cluster.image;
  const wanted: FetchedPartition[] = [];
  for (const { topic, topicId, partitions } of request.topics) {
    const name = version >= firstWithTopicIds ? topicsById.get(topicId)?.name ?? "" : topic;
    for (const p of partitions) {
      wanted.push({
        topic: name,
        topicId,
        partition: p.partition,
        currentLeaderEpoch: p.currentLeaderEpoch,
        // An offset beyond what a number holds is beyond every log too.
        fetchOffset: Number(p.fetchOffset),
        lastFetchedEpoch: p.lastFetchedEpoch,
        partitionMaxBytes: p.partitionMaxBytes,
      });
    }
  }
  return wanted;
}

function readAll(partitions: readonly FetchedPartition[], limits: Limits, context: RequestContext): Outcome {
  const answers: Outcome["answers"] = [];
  let bytes = 0, bytesAvailable = 0, urgent = false, anyExists = false;
  for (const wanted of partitions) {
    const read = withStorageErrors(
      () => readOne(wanted, limits, bytes, context),
      (errorCode) => unread(failed(wanted, errorCode)),
    );
    const { answer } = read;
    const { errorCode } = answer;
    if (!waitsForOthers.has(errorCode)) {
      anyExists = true;
      if (errorCode !== ErrorCode.NONE || answer.divergingEpoch !== undefined) urgent = true;
    }
    bytes += answer.records?.length ?? 0;
    bytesAvailable += read.bytesAvailable;
    answers.push({ wanted, answer });
  }
  return { answers, bytesAvailable, urgent: urgent || !anyExists };
}

function unread(answer: PartitionAnswer): Read {
  return { answer, bytesAvailable: 0 };
}

function readOne(
  wanted: FetchedPartition,
  limits: Limits,
  bytesSoFar: number,
  context: RequestContext,
): Read {
  const partition = findPartition(wanted, limits, context);
  // Kafka's empty list of aborted transactions where it has no partition is kept, though it says nothing.
  if (typeof partition === "number") return unread({ ...failed(wanted, partition), abortedTransactions: [] });
  // Here Kafka takes all negative epochs for none, unlike in other calls.
  const stale = partition.checkLeaderEpoch(Math.max(-1, wanted.currentLeaderEpoch));
  if (stale !== ErrorCode.NONE) {
    if (stale !== ErrorCode.FENCED_LEADER_EPOCH || limits.version < firstWithLeaderHints) {
      return unread(failed(wanted, stale));
    }
    const currentLeader = { leaderId: partition.leader, leaderEpoch: partition.leaderEpoch };
    return unread({ ...failed(wanted, stale), currentLeader });
  }
  if (limits.isFollower) return unread(failed(wanted, ErrorCode.NOT_LEADER_OR_FOLLOWER));
  // Versions 4 to 9 are given such batches, as Kafka 4 does: its clients of then say themselves that they cannot read them.
  if (limits.version < firstWithBatches && partition.log.config.compressionType === "zstd") {
    return unread(failed(wanted, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE));
  }
  const divergingEpoch = divergence(partition, wanted);
  if (divergingEpoch === "unknown") return unread(failed(wanted, ErrorCode.OFFSET_OUT_OF_RANGE));
  if (divergingEpoch !== undefined) {
    // Nothing was read, so nothing is said of transactions.
    return unread({ ...readable(partition, wanted), divergingEpoch });
  }

  const left = Math.max(0, limits.maxBytes - bytesSoFar);
  const maxBytes = Math.max(0, Math.min(left, wanted.partitionMaxBytes));
  const end = partition.readableEnd(limits.readCommitted);
  const slice = limits.version < firstWithBatches
    ? null
    : partition.slice(wanted.fetchOffset, SLICED_FROM_BYTES, maxBytes, end);
  // Asked for last: the socket of who gets much is looked for.
  if (slice !== null && context.sendsFiles) {
    const bytesAvailable = slice.nextOffset < end ? maxBytes : slice.bytes.length;
    const transactions = aborted(partition, wanted, limits, slice.nextOffset);
    return { answer: readable(partition, wanted, slice.bytes, transactions), bytesAvailable };
  }
  const softLimits = limits.version >= firstWithSoftLimits;
  // What a fetch before has passed over is not read again.
  const from = limits.version < firstWithBatches
    ? partition.log.recordsFrom(wanted.fetchOffset, end, NO_WAY)
    : wanted.fetchOffset;
  const read = partition.read(
    from,
    maxBytes,
    softLimits ? bytesSoFar === 0 : maxBytes > 0,
    (bytes) => context.loans.lend(bytes),
    end,
  );
  context.loans.keepOnly(read.bytes);
  if (read.errorCode !== ErrorCode.NONE) return unread(failed(wanted, read.errorCode));
  // A batch that does not fit is there all the same: its reader must not be held until the time is over.
  const limited = read.nextOffset < end;
  const bytesAvailable = limited ? Math.max(read.bytes.length, maxBytes) : read.bytes.length;
  if (limits.version >= firstWithBatches || read.bytes.length === 0) {
    // Where a batch does not fit, nothing is said of transactions, as in Kafka.
    const nothingFits = limited && read.bytes.length === 0 && maxBytes > 0;
    const transactions = nothingFits ? null : aborted(partition, wanted, limits, read.nextOffset);
    return { answer: readable(partition, wanted, read.bytes, transactions), bytesAvailable };
  }
  const converted = downConverted(partition, from, read.bytes, limits, maxBytes, end);
  if (typeof converted === "number") return unread(failed(wanted, converted));
  // A message that is cut off tells an old client that its limit is too small for it: it raises it, or says so.
  const records = softLimits ? converted : converted.subarray(0, maxBytes);
  return { answer: readable(partition, wanted, records), bytesAvailable };
}

/** What was read in the client's message format, or an error code. */
function downConverted(
  partition: Partition,
  fetchOffset: number,
  batches: Uint8Array,
  { version, conversions, passing }: Limits,
  maxBytes: number,
  end: number,
): Uint8Array | number {
  const magic = version >= firstWithFormat1 ? 1 : 0;
  for (let offset = fetchOffset, bytes = batches;;) {
    const isFirst = conversions.bytes === CONVERTED_BYTES && conversions.items === CONVERTED_RECORDS;
    const converted = downConvert(bytes, magic, fetchOffset, conversions);
    if (converted.problem !== null) {
      const { errorCode } = converted.problem;
      if (errorCode !== ErrorCode.MESSAGE_TOO_LARGE) return errorCode;
      // What came before has used the allowance up: the client asks again. Alone, the batch is just too much.
      return isFirst ? ErrorCode.CORRUPT_MESSAGE : NO_RECORDS;
    }
    // Control batches have no old form. A client that got nothing for them would ask for the same offset for ever.
    if (converted.bytes.length > 0 || converted.nextOffset <= offset) return converted.bytes;
    offset = partition.log.recordsFrom(converted.nextOffset, end, passing, fetchOffset);
    if (passing.bytes <= 0) return NO_RECORDS;
    const more = partition.read(offset, maxBytes, true);
    if (more.errorCode !== ErrorCode.NONE) return more.errorCode;
    if (more.bytes.length === 0) return converted.bytes;
    bytes = more.bytes;
  }
}

/** The partition, or the error code that says why there is none. */
function findPartition(
  { topic, topicId, partition }: FetchedPartition,
  limits: Limits,
  { services }: RequestContext,
): Partition | number {
  if (limits.version < firstWithTopicIds) {
    return services.replicas.get(topic, partition) ?? whyNotHosted(topic, partition, services);
  }
  // By its id each time: a topic that was made anew under the same name is another one.
  const name = services.cluster.image.topicsById.get(topicId)?.name;
  if (name !== undefined) {
    return services.replicas.get(name, partition) ?? whyNotHosted(name, partition, services);
  }
  return ErrorCode.UNKNOWN_TOPIC_ID;
}

/** Where the reader's log parts from this one (KIP-595): it read what was later cut off, or an epoch never heard of. */
function divergence(partition: Partition, { lastFetchedEpoch, fetchOffset }: FetchedPartition) {
  if (lastFetchedEpoch < 0) return undefined;
  const end = partition.log.endOffsetForEpoch(lastFetchedEpoch, partition.leaderEpoch);
  if (end.leaderEpoch < 0 || end.endOffset < 0) return "unknown";
  if (end.leaderEpoch >= lastFetchedEpoch && end.endOffset >= fetchOffset) return undefined;
  return { epoch: end.leaderEpoch, endOffset: end.endOffset };
}

/** What a reader of committed records has to leave out of those from the offset that it wanted up to `nextOffset`. */
function aborted(
  { log }: Partition,
  { fetchOffset }: FetchedPartition,
  { readCommitted }: Limits,
  nextOffset: number,
): PartitionAnswer["abortedTransactions"] {
  // Who reads uncommitted has no use for the list, and must not get one (null is "none asked for").
  if (!readCommitted) return null;
  if (nextOffset <= fetchOffset) return [];
  return log.abortedTransactions(fetchOffset, nextOffset).map(({ producerId, firstOffset }) => ({
    producerId,
    firstOffset,
  }));
}

function readable(
  partition: Partition,
  wanted: FetchedPartition,
  records: Chunk = NO_RECORDS,
  abortedTransactions: PartitionAnswer["abortedTransactions"] = null,
): PartitionAnswer {
  return {
    partitionIndex: wanted.partition,
    errorCode: ErrorCode.NONE,
    highWatermark: partition.highWatermark,
    lastStableOffset: partition.lastStableOffset,
    logStartOffset: partition.log.logStartOffset,
    abortedTransactions,
    records,
  };
}

function failed(wanted: FetchedPartition, errorCode: number): PartitionAnswer {
  return {
    partitionIndex: wanted.partition,
    errorCode,
    highWatermark: -1,
    lastStableOffset: -1,
    logStartOffset: -1,
    abortedTransactions: null,
    records: NO_RECORDS,
  };
}

/** A fetch that waits at its partitions until they have got enough bytes. It holds nothing of what was read before. */
class HeldFetch implements AppendWaiter {
  readonly answer = new Later<FetchResponse | null>();
  private readonly partitions: Partition[] = [];
  private readonly held: HeldRequest;
  /** Of who reads committed records: where they end by now. */
  private readonly stableEnds: Map<Partition, number> | null;

  constructor(
    private readonly session: SessionFetch,
    private readonly request: FetchRequest,
    private readonly context: RequestContext,
    private readonly minBytes: number,
    private bytes: number,
  ) {
    const { replicas, held } = context.services;
    this.stableEnds = request.isolationLevel === READ_COMMITTED ? new Map() : null;
    this.held = held.hold(Math.min(request.maxWaitMs, LONGEST_WAIT_MS), () => this.end());
    for (const { topic, partition, fetchOffset } of session.partitions) {
      const hosted = replicas.get(topic, partition);
      if (hosted === undefined) continue;
      hosted.addWaiter(this);
      this.partitions.push(hosted);
      this.stableEnds?.set(hosted, Math.max(stableEnd(hosted), fetchOffset));
    }
    context.onDisconnect = () => this.giveUp();
  }

  appended(partition: Partition, bytes: number): void {
    const { stableEnds } = this;
    this.bytes += stableEnds === null || bytes === Infinity ? bytes : this.stableBytes(partition, stableEnds);
    if (this.bytes >= this.minBytes) this.held.wake();
  }

  /** Bytes that may be read since the last call: what was appended in a transaction comes when that ends. */
  private stableBytes(partition: Partition, stableEnds: Map<Partition, number>): number {
    const before = stableEnds.get(partition)!;
    const end = stableEnd(partition);
    if (end <= before) return 0;
    stableEnds.set(partition, end);
    if (this.minBytes <= 1) return 1;
    try {
      return partition.log.bytesBetween(before, end);
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      // The client hears of the disk by its fetch.
      return Infinity;
    }
  }

  private end(): void {
    this.leave();
    const { session, request, context } = this;
    this.answer.settleWith(() =>
      respond(session, readAll(session.partitions, limitsOf(request, context), context), context)
    );
  }

  /** The client is gone: nothing is read for it. */
  private giveUp(): void {
    this.held.release();
    this.leave();
    this.answer.settle(null);
  }

  private leave(): void {
    for (const partition of this.partitions) partition.removeWaiter(this);
    this.context.onDisconnect = null;
  }
}

/** The last stable offset; where the disk fails, a fetch has to be answered with that. */
function stableEnd(partition: Partition): number {
  try {
    return partition.lastStableOffset;
  } catch (error) {
    if (!(error instanceof IoError)) throw error;
    return Infinity;
  }
}

function respond(session: SessionFetch, { answers }: Outcome, context: RequestContext): FetchResponse {
  const throttleTimeMs = context.services.quotas.isActive
    ? fetchThrottleMs(context, expectedBytes(answers))
    : 0;
  if (throttleTimeMs > 0) {
    return { throttleTimeMs, errorCode: ErrorCode.NONE, sessionId: session.throttled(), responses: [] };
  }
  const topics: { topic: string; topicId: string; partitions: PartitionAnswer[] }[] = [];
  for (const { wanted, answer } of answers) {
    const include = session.include(wanted, {
      errorCode: answer.errorCode,
      highWatermark: Number(answer.highWatermark),
      lastStableOffset: Number(answer.lastStableOffset),
      logStartOffset: Number(answer.logStartOffset),
      hasData: (answer.records?.length ?? 0) > 0,
      diverges: answer.divergingEpoch !== undefined,
    });
    if (!include) continue;
    let last = topics[topics.length - 1];
    if (last === undefined || last.topicId !== wanted.topicId || last.topic !== wanted.topic) {
      last = { topic: wanted.topic, topicId: wanted.topicId, partitions: [] };
      topics.push(last);
    }
    last.partitions.push(answer);
  }
  return { throttleTimeMs, errorCode: ErrorCode.NONE, sessionId: session.sessionId, responses: topics };
}

/** About how large the answer will be; partitions without news are taken to be left out. */
function expectedBytes(answers: Outcome["answers"]): number {
  let partitions = 0, recordBytes = 0;
  const topics = new Set<string>();
  for (const { wanted, answer } of answers) {
    const bytes = answer.records?.length ?? 0;
    if (bytes === 0 && answer.errorCode === ErrorCode.NONE) continue;
    partitions++;
    recordBytes += bytes;
    topics.add(wanted.topic);
  }
  return answerBytes(topics.size, partitions, recordBytes);
}
