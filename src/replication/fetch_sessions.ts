/**
 * Incremental fetch sessions (KIP-227): the broker remembers which partitions a client fetches, so that a request
 * names only what changed and a response only what is new. Sessions are bounded in number; a full cache gives a new
 * session the place of one that has been quiet for the eviction time, or else of one that is older than that and has
 * fewer partitions, or serves the client without one.
 */
import { ErrorCode } from "../codec/errors.ts";
import { ZERO_UUID } from "../codec/uuid.ts";

/** What a client wants of one partition. */
export interface FetchedPartition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly currentLeaderEpoch: number;
  readonly fetchOffset: number;
  readonly lastFetchedEpoch: number;
  readonly partitionMaxBytes: number;
}

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
  readonly forgotten: readonly { topic: string; topicId: string; partition: number }[];
}

interface Remembered extends FetchAnswer {
  readonly wanted: FetchedPartition;
}

interface Session {
  readonly id: number;
  readonly usesTopicIds: boolean;
  readonly createdMs: number;
  epoch: number;
  lastUsedMs: number;
  partitions: Map<string, Remembered>;
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
}

const NEVER_SAID: FetchAnswer = {
  errorCode: ErrorCode.NONE,
  highWatermark: -1,
  lastStableOffset: -1,
  logStartOffset: -1,
  hasData: false,
  diverges: false,
};

export class FetchSessions {
  private readonly sessions = new Map<number, Session>();

  constructor(
    private readonly maxSessions: number,
    /** A random integer from 0 up to, not including, its argument. */
    private readonly random: (bound: number) => number,
  ) {}

  get count(): number {
    return this.sessions.size;
  }

  /** Finds, opens or closes the session that the request asks for. */
  begin(request: SessionRequest, now: number): SessionFetch {
    if (request.sessionEpoch === FINAL_EPOCH || request.sessionEpoch === INITIAL_EPOCH) {
      this.sessions.delete(request.sessionId);
      if (request.sessionEpoch === FINAL_EPOCH) return withoutSession(request);
      return this.open(request, now);
    }
    const session = this.sessions.get(request.sessionId);
    if (session === undefined) return refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
    if (session.epoch !== request.sessionEpoch) return refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH);
    if (session.usesTopicIds !== request.usesTopicIds) return refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR);
    for (const wanted of request.partitions) {
      const key = keyOf(wanted, session.usesTopicIds);
      const known = session.partitions.get(key);
      session.partitions.set(key, { ...(known ?? NEVER_SAID), wanted });
    }
    // After the others: what is both wanted and forgotten is forgotten, as in Kafka.
    for (const gone of request.forgotten) session.partitions.delete(keyOf(gone, session.usesTopicIds));
    this.sessions.delete(session.id);
    if (session.partitions.size === 0) return withoutSession(request);
    session.epoch = session.epoch === 0x7fffffff ? 1 : session.epoch + 1;
    session.lastUsedMs = now;
    // The map is ordered by use, so that the first is the one to evict.
    this.sessions.set(session.id, session);
    return inSession(session, false);
  }

  private open(request: SessionRequest, now: number): SessionFetch {
    if (!this.makeRoom(request.partitions.length, now)) return withoutSession(request);
    let id: number;
    do id = 1 + this.random(0x7ffffffe); while (this.sessions.has(id));
    const session: Session = {
      id,
      usesTopicIds: request.usesTopicIds,
      createdMs: now,
      epoch: 1,
      lastUsedMs: now,
      partitions: new Map(
        request.partitions.map((p) => [keyOf(p, request.usesTopicIds), { ...NEVER_SAID, wanted: p }]),
      ),
    };
    this.sessions.set(id, session);
    return inSession(session, true);
  }

  /** Whether there is a place for a session of `size` partitions, which another one may have to leave. */
  private makeRoom(size: number, now: number): boolean {
    if (this.sessions.size < this.maxSessions) return true;
    const evicted = this.quietSession(now) ?? this.lessValuableSession(size, now);
    return evicted !== undefined && this.sessions.delete(evicted.id);
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
}

function keyOf(p: { topic: string; topicId: string; partition: number }, usesTopicIds: boolean): string {
  return `${usesTopicIds && p.topicId !== ZERO_UUID ? p.topicId : p.topic}:${p.partition}`;
}

/** A partition that is named twice counts once, as it was named last. */
function withoutSession({ partitions, usesTopicIds }: SessionRequest): SessionFetch {
  const once = new Map(partitions.map((p) => [keyOf(p, usesTopicIds), p]));
  return { errorCode: ErrorCode.NONE, partitions: [...once.values()], sessionId: 0, include: () => true };
}

function refused(errorCode: number): SessionFetch {
  return { errorCode, partitions: [], sessionId: 0, include: () => true };
}

function inSession(session: Session, full: boolean): SessionFetch {
  return {
    errorCode: ErrorCode.NONE,
    partitions: [...session.partitions.values()].map((remembered) => remembered.wanted),
    sessionId: session.id,
    include(wanted, answer) {
      const key = keyOf(wanted, session.usesTopicIds);
      const before = session.partitions.get(key);
      // Forgotten while this fetch was held: the client does not want it any more.
      if (before === undefined) return full;
      // What had data goes to the end, so that a response that is full does not starve the same partitions for ever.
      // The first response leaves the order as the client gave it, as in Kafka.
      if (answer.hasData && !full) session.partitions.delete(key);
      session.partitions.set(key, { ...answer, wanted: before.wanted });
      return full || answer.hasData || answer.diverges || answer.errorCode !== ErrorCode.NONE ||
        answer.highWatermark !== before.highWatermark ||
        answer.lastStableOffset !== before.lastStableOffset ||
        answer.logStartOffset !== before.logStartOffset;
    },
  };
}
