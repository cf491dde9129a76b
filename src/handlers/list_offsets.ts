/**
 * Finds offsets by time or by one of the sentinels. A time gives the first record at or after it; when there is
 * none, the offset and the timestamp are -1 without an error. Version 0 asks for a list of offsets instead.
 */
import { Allowance, DEFAULT_MAX_DECOMPRESSED_BYTES } from "../codec/allowance.ts";
import { ErrorCode } from "../codec/errors.ts";
import { TooCostly } from "../codec/malformed.ts";
import type { listOffsets, ListOffsetsRequest } from "../codec/messages/list_offsets.ts";
import type { Partition } from "../replication/partition.ts";
import { LOOKUP_ITEMS } from "../storage/segment/time_lookup.ts";
import type { Handler, RequestContext } from "./context.ts";
import { whyNotHosted } from "./hosted.ts";
import { inSlices } from "./pacing.ts";
import { withStorageErrors } from "./storage_errors.ts";

const LATEST = -1, EARLIEST = -2, MAX_TIMESTAMP = -3, EARLIEST_LOCAL = -4, LATEST_TIERED = -5;
const EARLIEST_PENDING_UPLOAD = -6;

/** The first version that knows each sentinel; earlier ones answer it with UNSUPPORTED_VERSION. */
const firstWith: Readonly<Record<number, number>> = {
  [LATEST]: 0,
  [EARLIEST]: 0,
  [MAX_TIMESTAMP]: 7,
  [EARLIEST_LOCAL]: 8,
  [LATEST_TIERED]: 9,
  [EARLIEST_PENDING_UPLOAD]: 11,
};

const READ_COMMITTED = 1;
/** Before this one LEADER_NOT_AVAILABLE stood for OFFSET_NOT_AVAILABLE; clients take both as "ask again". */
const knowsOffsetNotAvailable = 5;

/**
 * What all searches of a request may cost together, since one that names thousands of partitions could otherwise keep
 * a core busy for minutes. The first search has what any single one may have, so that who asks again gets further.
 */
class SearchBudget {
  private items: number;
  private isFirst = true;

  constructor(private bytes: number) {
    this.items = LOOKUP_ITEMS * Math.max(1, bytes / DEFAULT_MAX_DECOMPRESSED_BYTES);
  }

  /** What `search` gives; null when too little is left for it. Throws as it does when the whole would not suffice. */
  spend<T>(search: (allowance: Allowance) => T): { found: T } | null {
    const bytes = this.isFirst
      ? DEFAULT_MAX_DECOMPRESSED_BYTES
      : Math.min(this.bytes, DEFAULT_MAX_DECOMPRESSED_BYTES);
    const items = this.isFirst ? LOOKUP_ITEMS : Math.min(this.items, LOOKUP_ITEMS);
    this.isFirst = false;
    const isWhole = bytes === DEFAULT_MAX_DECOMPRESSED_BYTES && items === LOOKUP_ITEMS;
    const allowance = new Allowance(bytes, items);
    try {
      return { found: search(allowance) };
    } catch (error) {
      if (error instanceof TooCostly && !isWhole) return null;
      throw error;
    } finally {
      this.bytes = Math.max(0, this.bytes - (bytes - allowance.bytes));
      this.items = Math.max(0, this.items - (items - allowance.items));
    }
  }
}

type Asked = ListOffsetsRequest["topics"][number]["partitions"][number];

interface Found {
  offset: number;
  timestamp: number;
  leaderEpoch: number;
}

const NOT_FOUND: Found = { offset: -1, timestamp: -1, leaderEpoch: -1 };

/** A partition as it is asked for first; `twice` when the request asks for it again. */
interface Question {
  readonly topic: string;
  readonly asked: Asked;
  twice: boolean;
}

export const listOffsetsHandler: Handler<typeof listOffsets> = (request, context) => {
  const topics = questionsOf(request.topics);
  const questions = [...topics.values()].flatMap((ofTopic) => [...ofTopic.values()]);
  const readCommitted = request.isolationLevel === READ_COMMITTED;
  const budget = new SearchBudget(context.services.config.get("trackway.list.offsets.decompressed.bytes"));
  const reply = (question: Question) => answer(question, readCommitted, budget, context);
  const respond = (answers: readonly Answer[]) => {
    let at = 0;
    return {
      // A topic without partitions is not in Kafka's answer either, but for version 0.
      topics: [...topics].filter(([, ofTopic]) => ofTopic.size > 0 || context.version === 0).map((
        [name, ofTopic],
      ) => ({
        name,
        partitions: answers.slice(at, at += ofTopic.size),
      })),
    };
  };
  // Only a search by time takes long, and is worth a turn of the event loop.
  const searches = questions.filter(({ asked }) => isSearch(Number(asked.timestamp)));
  if (searches.length <= 1) return respond(questions.map(reply));
  return inSlices(questions, context.services.clock, reply).then(respond);
};

/** Every partition once, by topic and index, in the order in which they are named first. */
function questionsOf(topics: ListOffsetsRequest["topics"]): Map<string, Map<number, Question>> {
  const questions = new Map<string, Map<number, Question>>();
  for (const { name, partitions } of topics) {
    let ofTopic = questions.get(name);
    if (ofTopic === undefined) questions.set(name, ofTopic = new Map());
    for (const asked of partitions) {
      const before = ofTopic.get(asked.partitionIndex);
      if (before === undefined) ofTopic.set(asked.partitionIndex, { topic: name, asked, twice: false });
      else before.twice = true;
    }
  }
  return questions;
}

function isSearch(timestamp: number): boolean {
  return timestamp >= 0 || timestamp === MAX_TIMESTAMP;
}

type Answer = ReturnType<typeof answer>;

function answer(
  { topic, asked, twice }: Question,
  readCommitted: boolean,
  budget: SearchBudget,
  context: RequestContext,
) {
  const refuse = (errorCode: number) => ({
    partitionIndex: asked.partitionIndex,
    errorCode,
    oldStyleOffsets: [] as number[],
    ...NOT_FOUND,
  });
  if (twice && context.version > 0) return refuse(ErrorCode.INVALID_REQUEST);
  const timestamp = Number(asked.timestamp);
  if (timestamp < 0 && !(context.version >= (firstWith[timestamp] ?? Infinity))) {
    return refuse(ErrorCode.UNSUPPORTED_VERSION);
  }
  const partition = context.services.replicas.get(topic, asked.partitionIndex);
  if (partition === undefined) return refuse(whyNotHosted(topic, asked.partitionIndex, context.services));
  const stale = partition.checkLeaderEpoch(asked.currentLeaderEpoch);
  if (stale !== ErrorCode.NONE) return refuse(stale);
  // The offsets that are known of a damaged log are not its offsets: a consumer would be sent to a wrong place.
  if (partition.log.offline !== null) return refuse(ErrorCode.KAFKA_STORAGE_ERROR);
  const look = (allowance?: Allowance) => {
    if (context.version === 0) {
      const oldStyleOffsets = offsetsBefore(partition, timestamp, asked.maxNumOffsets, allowance);
      return { ...refuse(ErrorCode.NONE), oldStyleOffsets };
    }
    const end = readCommitted ? partition.lastStableOffset : partition.highWatermark;
    return { ...refuse(ErrorCode.NONE), ...find(partition, timestamp, end, allowance) };
  };
  return withStorageErrors(() => {
    if (!isSearch(timestamp)) return look();
    const askAgain = context.version >= knowsOffsetNotAvailable
      ? ErrorCode.OFFSET_NOT_AVAILABLE
      : ErrorCode.LEADER_NOT_AVAILABLE;
    return budget.spend(look)?.found ?? refuse(askAgain);
  }, refuse);
}

function find(partition: Partition, timestamp: number, end: number, allowance?: Allowance): Found {
  const { log } = partition;
  switch (timestamp) {
    case LATEST:
      return { offset: end, timestamp: -1, leaderEpoch: partition.leaderEpoch };
    case EARLIEST:
    case EARLIEST_LOCAL:
      return { offset: log.logStartOffset, timestamp: -1, leaderEpoch: earliestEpoch(partition) };
    case MAX_TIMESTAMP:
      return log.offsetOfMaxTimestamp(end, allowance) ?? NOT_FOUND;
    case LATEST_TIERED:
    case EARLIEST_PENDING_UPLOAD:
      // Nothing is ever in another tier.
      return NOT_FOUND;
    default:
      return log.offsetForTime(timestamp, end, allowance) ?? NOT_FOUND;
  }
}

/** The epoch of what the log begins with; where nothing is, of what would come next. */
function earliestEpoch({ log, leaderEpoch }: Partition): number {
  const epoch = log.leaderEpochAt(log.logStartOffset);
  return epoch < 0 && log.logStartOffset === log.nextOffset ? leaderEpoch : epoch;
}

/**
 * Version 0: where segments begin that hold what the time asks for, newest first, and before them the log's end if it
 * was reached by then. Old clients take the first; segments were all that brokers of that age could tell by.
 */
function offsetsBefore(
  partition: Partition,
  timestamp: number,
  maxOffsets: number,
  allowance?: Allowance,
): number[] {
  const { log } = partition;
  if (maxOffsets <= 0) return [];
  if (timestamp === EARLIEST) return [log.logStartOffset];
  const starts = log.segmentBaseOffsets.map((baseOffset) => Math.max(baseOffset, log.logStartOffset));
  if (timestamp === LATEST) {
    return [...new Set([partition.highWatermark, ...starts.reverse()])].slice(0, maxOffsets);
  }
  // A segment counts when all that came before it is older than the time.
  const found = log.offsetForTime(timestamp, partition.highWatermark, allowance)?.offset;
  const before = found === undefined
    ? [partition.highWatermark, ...starts.reverse()]
    : starts.filter((start) => start <= found).reverse();
  return [...new Set(before)].slice(0, maxOffsets);
}
