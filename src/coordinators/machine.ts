/**
 * What a coordinator is: a deterministic machine over a state. (state, input, now) gives a decision: facts for the
 * log, marks for memory, replies for the clients. The machine reads no clock, draws no random number, waits for
 * nothing. One file, shard.ts, drives it; a simulation drives it just as well.
 *
 * The order is decide → append the facts → apply facts and marks → effects → release the replies. Deciding changes nothing, so
 * a failed append needs no undoing: the decision is thrown away and its request gets the error.
 */

/**
 * One moment on both clocks. Wall time goes into records; deadlines use steady time, which never jumps; what is old
 * enough to go is judged by settled time, which is wall time without jumps that have not lasted.
 */
export interface Instant {
  readonly wallMs: number;
  readonly steadyMs: number;
  readonly settledMs: number;
}

/** Names a request that waits for its reply. */
export type Ticket = number;

/** A record of the coordinator's log as it is written; a null value is a tombstone. */
export interface LogRecord {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
}

/** Who writes in a transaction. */
export interface Producer {
  readonly producerId: number;
  readonly producerEpoch: number;
}

export interface Reply<Body> {
  readonly ticket: Ticket;
  readonly body: Body;
}

/** What the machine wants done about one input. */
export interface Decision<Fact, Mark, Body, Effect = never> {
  /** Become true once they are in the log. */
  readonly facts: readonly Fact[];
  /** Become true with the facts, and are forgotten in a crash: deadlines, members that wait, held requests. */
  readonly marks: readonly Mark[];
  /** Go out once the facts are committed. An input's own ticket may be missing: its request is held. */
  readonly replies: readonly Reply<Body>[];
  /** What others are to do once the facts are committed, before the replies go out. Whatever comes of it is an input. */
  readonly effects?: readonly Effect[];
  /** The facts do not depend on each other, so many of them may go out in several batches. */
  readonly divisible?: boolean;
  /** The facts are part of this producer's transaction: in the log they are pending until its end is there too. */
  readonly transaction?: Producer;
}

export interface Machine<State, Input, Fact, Mark, Body, Effect = never> {
  /** What to do about `input`. Changes nothing. */
  decide(state: State, input: Input, now: Instant): Decision<Fact, Mark, Body, Effect>;
  /** Makes a fact true, live and when the log is replayed; `offset` is its record's. */
  applyFact(state: State, fact: Fact, offset: number): void;
  /** Takes note of a fact that will be true if the producer's transaction commits, live and in a replay. */
  applyPending?(state: State, fact: Fact, offset: number, producer: Producer): void;
  /** Makes the producer's pending facts true, or forgets them, live and in a replay. */
  endTransaction?(state: State, producerId: number, isCommit: boolean): void;
  /** Makes a mark true; always after the facts of its decision. */
  applyMark(state: State, mark: Mark): void;
  /** The steady time at which {@link due} may have something to say; Infinity if only an input can change that. */
  wakeAt(state: State): number;
  /** The inputs that time itself brings: deadlines that have passed. Empty when woken too early. */
  due(state: State, now: Instant): Input[];
  /** The inputs to decide after the log was replayed, to give the state what is not in the log. */
  loaded(state: State): Input[];
  encode(fact: Fact): LogRecord;
  /** Null for a record of a type that this machine does not know, as a newer broker may write. */
  decode(record: { key: Uint8Array | null; value: Uint8Array | null }): Fact | null;
}
