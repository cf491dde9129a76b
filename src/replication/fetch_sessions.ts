/**
 * Incremental fetch sessions (KIP-227): the broker remembers which partitions a client fetches, so that a request
 * names only what changed and a response only what is new. Sessions are bounded in number; a full cache gives a new
 * session the place of one that has been quiet for the eviction time, or else of one that is older than that and has
 * fewer partitions, or serves the client without one. They are bounded in memory too: there the largest one makes way.
 */
import { ErrorCode } from "../codec/errors.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import {
  type FetchedPartition,
  type PartitionKey,
  SessionPartition,
  SessionPartitions,
} from "./session_partitions.ts";

export type { FetchedPartition };

/** What a response says of one partition, as far as a session must know it. */
export interface FetchAnswer {
  readonly errorCode: number;
  readonly highWatermark: number;
  readonly lastStableOffset: number;
  readonly logStartOffset: number;
  readonly hasData: boolean;
  /** Whether it tells that the reader's log parts from this one. */
  readonly diverges: boolean;
}

/** The session fields of a fetch request. */
export interface SessionRequest {
  readonly sessionId: number;
  readonly sessionEpoch: number;
  readonly usesTopicIds: boolean;
  readonly partitions: readonly FetchedPartition[];
  readonly forgotten: readonly PartitionKey[];
}

interface Session {
  readonly id: number;
  readonly usesTopicIds: boolean;
  readonly createdMs: number;
  epoch: number;
  lastUsedMs: number;
  readonly partitions: SessionPartitions;
}

/** A session that is younger than this keeps its place, and one that was used within it unless a larger one comes. */
const EVICTION_MS = 120_000;

/** The epoch of a request that opens a session, and of one that wants none. */
const INITIAL_EPOCH = 0, FINAL_EPOCH = -1;

/** How one fetch is to be answered. */
export interface SessionFetch {
  readonly errorCode: number;
  /** What to read, in the order in which to read it. */
  readonly partitions: readonly FetchedPartition[];
  /** The session to name in the response; 0 for none. Known before the read, as a held fetch needs it after. */
  readonly sessionId: number;
  /** Whether the answer for a partition has to be in the response; remembers what was said. */
  include(wanted: FetchedPartition, answer: FetchAnswer): boolean;
  /**
   * Has nothing be told, and gives the session to name all the same. One that was to be opened is not: the client
   * takes an empty first answer for a refusal and asks for everything again (KIP-219).
   */
  throttled(): number;
}

/** What all sessions together may take: enough for three hundred thousand partitions. */
const MAX_BYTES = 64 * 1024 * 1024;

export class FetchSessions {
  private readonly sessions = new Map<number, Session>();
  private usedBytes = 0;

  constructor(
    private readonly maxSessions: number,
    /** A random integer from 0 up to, not including, its argument. */
    private readonly random: (bound: number) => number,
    private readonly maxBytes = MAX_BYTES,
  ) {}

  get count(): number {
    return this.sessions.size;
  }

  /** About what they take of memory. */
  get bytes(): number {
    return this.usedBytes;
  }

  /** Finds, opens or closes the session that the request asks for. */
  begin(request: SessionRequest, now: number): SessionFetch {
    if (request.sessionEpoch === FINAL_EPOCH || request.sessionEpoch === INITIAL_EPOCH) {
      this.drop(this.sessions.get(request.sessionId));
      if (request.sessionEpoch === FINAL_EPOCH) return withoutSession(request);
      return this.open(request, now);
    }
    const session = this.sessions.get(request.sessionId);
    if (session === undefined) return refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
    if (session.epoch !== request.sessionEpoch) return refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH);
    if (session.usesTopicIds !== request.usesTopicIds) return refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR);
    const { partitions } = session;
    this.drop(session);
    for (const wanted of request.partitions) partitions.put(wanted);
    // After the others: what is both wanted and forgotten is forgotten, as in Kafka.
    for (const gone of request.forgotten) partitions.remove(gone);
    if (partitions.size === 0) return withoutSession(request);
    // It opens another one, which finds its place or not like any that is new.
    if (this.usedBytes + partitions.bytes > this.maxBytes) {
      return refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
    }
    session.epoch = session.epoch === 0x7fffffff ? 1 : session.epoch + 1;
    session.lastUsedMs = now;
    // The map is ordered by use, so that the first is the one to evict.
    this.keep(session);
    return inSession(session, false, () => session.id);
  }

  private open(request: SessionRequest, now: number): SessionFetch {
    const partitions = partitionsOf(request);
    if (!this.makeRoom(partitions, now)) return withoutSession(request);
    let id: number;
    do id = 1 + this.random(0x7ffffffe); while (this.sessions.has(id));
    const { usesTopicIds } = request;
    const session: Session = { id, usesTopicIds, createdMs: now, epoch: 1, lastUsedMs: now, partitions };
    this.keep(session);
    return inSession(session, true, () => {
      // Another request may have closed it meanwhile.
      if (this.sessions.get(id) === session) this.drop(session);
      return 0;
    });
  }

  private keep(session: Session): void {
    this.sessions.set(session.id, session);
    this.usedBytes += session.partitions.bytes;
  }

  private drop(session: Session | undefined): void {
    if (session === undefined) return;
    this.sessions.delete(session.id);
    this.usedBytes -= session.partitions.bytes;
  }

  /** Whether there is a place for a session of these partitions, which others may have to leave. */
  private makeRoom({ size, bytes }: SessionPartitions, now: number): boolean {
    if (bytes > this.maxBytes) return false;
    while (this.usedBytes + bytes > this.maxBytes) {
      const evicted = this.quietSession(now) ?? this.largerSession(bytes);
      if (evicted === undefined) return false;
      this.drop(evicted);
    }
    if (this.sessions.size < this.maxSessions) return true;
    const evicted = this.quietSession(now) ?? this.lessValuableSession(size, now);
    this.drop(evicted);
    return evicted !== undefined;
  }

  private quietSession(now: number): Session | undefined {
    const [leastRecentlyUsed] = this.sessions.values();
    return leastRecentlyUsed !== undefined && now - leastRecentlyUsed.lastUsedMs > EVICTION_MS
      ? leastRecentlyUsed
      : undefined;
  }

  /** The smallest of the settled sessions, if it has fewer partitions than `size`. */
  private lessValuableSession(size: number, now: number): Session | undefined {
    let smallest: Session | undefined;
    for (const session of this.sessions.values()) {
      if (now - session.createdMs <= EVICTION_MS) continue;
      if (session.partitions.size < (smallest?.partitions.size ?? size)) smallest = session;
    }
    return smallest;
  }

  /** The session that takes most memory, if it is more than `bytes`: a few clients must not keep all others out. */
  private largerSession(bytes: number): Session | undefined {
    let largest: Session | undefined;
    for (const session of this.sessions.values()) {
      if (session.partitions.bytes > (largest?.partitions.bytes ?? bytes)) largest = session;
    }
    return largest;
  }
}

function byId({ topic, topicId }: PartitionKey): string {
  return topicId !== ZERO_UUID ? topicId : topic;
}

function byName({ topic }: PartitionKey): string {
  return topic;
}

/** A partition that is named twice counts once, as it was named last. */
function partitionsOf({ partitions, usesTopicIds }: SessionRequest): SessionPartitions {
  const all = new SessionPartitions(usesTopicIds ? byId : byName);
  for (const wanted of partitions) all.put(wanted);
  return all;
}

function withoutSession(request: SessionRequest): SessionFetch {
  const { partitions } = request;
  return {
    errorCode: ErrorCode.NONE,
    partitions: partitions.length < 2 ? partitions : partitionsOf(request).toArray(),
    sessionId: 0,
    include: () => true,
    throttled: () => 0,
  };
}

function refused(errorCode: number): SessionFetch {
  return { errorCode, partitions: [], sessionId: 0, include: () => true, throttled: () => 0 };
}

function inSession({ id, partitions }: Session, full: boolean, throttled: () => number): SessionFetch {
  return {
    errorCode: ErrorCode.NONE,
    partitions: partitions.toArray(),
    sessionId: id,
    throttled,
    include(wanted, answer) {
      const known = wanted instanceof SessionPartition && wanted.isCurrent ? wanted : partitions.find(wanted);
      // Forgotten while this fetch was held: the client does not want it any more.
      if (known === undefined) return full;
      const isNews = full || answer.hasData || answer.diverges || answer.errorCode !== ErrorCode.NONE ||
        answer.highWatermark !== known.highWatermark ||
        answer.lastStableOffset !== known.lastStableOffset ||
        answer.logStartOffset !== known.logStartOffset;
      // What had data goes to the end, so that a response that is full does not starve the same partitions for ever.
      // The first response leaves the order as the client gave it, as in Kafka.
      if (answer.hasData && !full) partitions.moveToEnd(known);
      known.highWatermark = answer.highWatermark;
      known.lastStableOffset = answer.lastStableOffset;
      known.logStartOffset = answer.logStartOffset;
      return isNews;
    },
  };
}
