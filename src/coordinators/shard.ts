/**
 * Drives the machine of one partition of an internal topic, and touches the world for it: the log, the clocks, one
 * timer. Inputs are decided one after the other, in the order in which they come; a reply goes
 * out when the log has committed everything that was written before it, its own facts included, so that no client
 * ever sees what a change of leader can take back.
 */
import { assert, AssertionError } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { SettledTime } from "../base/settled_time.ts";
import { batchesIn, type BatchView } from "../codec/batch.ts";
import { readEndMarker } from "../codec/end_marker.ts";
import { ErrorCode } from "../codec/errors.ts";
import { MalformedFrame } from "../codec/malformed.ts";
import type { TransactionMarker } from "../replication/transaction_marker.ts";
import type { BackgroundWork } from "./background_work.ts";
import type { Decision, Instant, LogRecord, Machine, Producer, Ticket } from "./machine.ts";

/** The partition of the internal topic, as the shard needs it. */
export interface CoordinatorLog {
  /**
   * Appends the records as one batch, of a transaction if there is one, or nothing. `committed` resolves to an error
   * code when the high watermark has passed the batch or it is certain that it will not; null says that it already has.
   */
  append(records: readonly LogRecord[], nowMs: number, transaction?: Producer): AppendResult;
  /** Appends the end of a transaction. */
  appendMarker(marker: TransactionMarker, nowMs: number): AppendResult;
  /** Tries once more to commit what is in the log and is not committed, for a disk that failed. Gives an error code. */
  recommit(): Promise<number>;
  /** Everything in the log, oldest first, in pieces of whole record batches. */
  readAll(): Iterable<Uint8Array>;
}

export interface AppendResult {
  readonly errorCode: number;
  /** Of the first record. */
  readonly offset: number;
  readonly committed: Promise<number> | null;
}

/** The one timer of a shard; tests turn their own clock. */
export interface Timers {
  /** Runs `run` once after `delayMs`; gives what calls it off. */
  set(delayMs: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  set(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

export interface ShardOptions<State, Input, Fact, Mark, Body, Effect = never> {
  readonly machine: Machine<State, Input, Fact, Mark, Body, Effect>;
  /** A new, empty state. */
  readonly state: State;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Where deadlines get their turn among those of other shards. */
  readonly background: BackgroundWork;
  /** Does what the machine wants done by others. May tell the shard at once what came of it. */
  readonly onEffect?: (effect: Effect) => void;
  /** Hears of what no client is told: a log that cannot be read, an append that a deadline wanted and that failed. */
  readonly report: (problem: string) => void;
}

/** Longest delay that setTimeout takes; a longer one would fire at once. */
const MAX_TIMER_MS = 0x7fffffff;
/** How long a deadline's decision waits after its facts could not be appended. */
const RETRY_MS = 500;
/** A log that could not be read is not read again for so long. */
const UNREADABLE_MS = 10_000;
/**
 * A timer that fires so late tells that the process stood still: it was stopped, or a disk held it up. Whoever wrote
 * meanwhile was not read yet, so no deadline passes before everybody had `HEARING_MS` to be heard, which is the default
 * interval of clients' heartbeats. Without that a broker that stood still for longer than a session timeout would throw
 * the members out of all of its groups, although they never went away. (Kafka does, when its process is stopped.)
 */
const STANDSTILL_MS = 1000;
const HEARING_MS = 3000;
/** Facts that stand alone go out in batches of at most this many, and this many bytes: far below any limit on a batch. */
const DIVISIBLE_BATCH_RECORDS = 500;
const DIVISIBLE_BATCH_BYTES = 64 * 1024;
/** Loading gives other work a chance after this much log. */
const LOAD_SLICE_BYTES = 8 * 1024 * 1024;

interface Waiting<Body> {
  readonly resolve: (body: Body) => void;
  readonly fail: (errorCode: number) => Body;
}

export class Shard<State, Input, Fact, Mark, Body, Effect = never> {
  readonly state: State;
  private readonly machine: Machine<State, Input, Fact, Mark, Body, Effect>;
  private log: CoordinatorLog | null = null;
  /** What requests are refused with; NONE once the log is loaded. */
  private refusal: number = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS;
  private isClosed = false;
  /** Steady time before which a log that could not be read is not read again. */
  private unreadableUntil = -Infinity;
  private readonly waiting = new Map<Ticket, Waiting<Body>>();
  private nextTicket: Ticket = 1;
  /** The last append that is not committed yet. */
  private uncommitted: Promise<number> | null = null;
  /** What is in the log is true here, but may not be committed: nobody may hear of it before that was made good. */
  private isUnsafe = false;
  private cancelTimer: (() => void) | null = null;
  private timerAt = Infinity;
  /** No tick before this time. */
  private notBefore = -Infinity;
  private isTicking = false;
  /** What nobody brings again, and is not logged yet. */
  private readonly owed: Input[] = [];
  private readonly settledTime: SettledTime;

  constructor(private readonly options: ShardOptions<State, Input, Fact, Mark, Body, Effect>) {
    this.state = options.state;
    this.machine = options.machine;
    this.settledTime = new SettledTime(options.clock.now(), options.clock.monotonic());
  }

  /** Whether it serves requests. */
  get isActive(): boolean {
    return this.refusal === ErrorCode.NONE;
  }

  /** Whether a new shard may take its place: it found no log, or was closed. One whose log cannot be read stays a while. */
  get isReplaceable(): boolean {
    return this.isClosed && this.options.clock.monotonic() >= this.unreadableUntil;
  }

  /** How many requests are held or wait for their facts to be committed. */
  get heldRequests(): number {
    return this.waiting.size;
  }

  /**
   * Loads the log, then serves. `source` is the log, or the error code that says why there is none, or a promise of
   * either. A small log that is at hand is loaded before this returns.
   */
  async open(source: CoordinatorLog | number | Promise<CoordinatorLog | number>): Promise<void> {
    const log = source instanceof Promise ? await source : source;
    if (this.isClosed) return;
    if (typeof log === "number") return this.close(log);
    try {
      const loading = this.replay(log);
      if (loading instanceof Promise) await loading;
    } catch (error) {
      if (error instanceof AssertionError) throw error;
      // A disk may work again later; what makes no sense now never will, until somebody has mended it and resigns the shard.
      const isDamaged = error instanceof MalformedFrame;
      this.unreadableUntil = isDamaged ? Infinity : this.options.clock.monotonic() + UNREADABLE_MS;
      const then = isDamaged ? "" : ", will try again";
      this.options.report(`Cannot load the coordinator's log${then}: ${error}`);
      return this.close();
    }
    if (this.isClosed) return;
    this.log = log;
    // The process before may have been killed before it could commit what it wrote.
    this.isUnsafe = true;
    this.refusal = ErrorCode.NONE;
    this.isTicking = true;
    this.reportFailures(new Set(this.machine.loaded(this.state).map((input) => this.insistOn(input))));
    this.isTicking = false;
    this.schedule();
  }

  /** Gives a promise only when the log is too large for one go. */
  private replay(log: CoordinatorLog): Promise<void> | void {
    const replay = new Replay(this.machine, this.state);
    const pieces = log.readAll()[Symbol.iterator]();
    const next = (): Promise<void> | void => {
      let bytes = 0;
      for (let piece = pieces.next(); !piece.done; piece = pieces.next()) {
        if (this.isClosed) return;
        replay.take(piece.value);
        bytes += piece.value.length;
        if (bytes >= LOAD_SLICE_BYTES) {
          return new Promise<void>((resolve) => this.options.timers.set(0, resolve)).then(next);
        }
      }
    };
    return next();
  }

  /**
   * Decides an input that carries the ticket it is given, and resolves with its reply. `fail` makes the reply for an
   * error that the shard finds: it is loading or closed, or the facts could not be logged.
   */
  submit<Answer extends Body>(
    input: (ticket: Ticket) => Input,
    fail: (errorCode: number) => Answer,
  ): Promise<Answer> {
    if (this.refusal !== ErrorCode.NONE) return Promise.resolve(fail(this.refusal));
    this.payOwed();
    return new Promise<Answer>((resolve) => {
      const ticket = this.nextTicket++;
      this.waiting.set(ticket, { resolve: resolve as (body: Body) => void, fail });
      const errorCode = this.run(input(ticket));
      if (errorCode !== ErrorCode.NONE) {
        this.settle(ticket, (waiting) => waiting.fail(coordinatorError(errorCode)));
      }
    });
  }

  /** Decides an input that nobody waits for, and that comes again if it cannot be logged. */
  tell(input: Input): void {
    if (this.isActive) this.reportFailures([this.run(input)]);
  }

  /** Decides an input that nobody waits for and nobody brings again: once the log is loaded, and until it is logged. */
  insist(input: Input): void {
    if (!this.isActive) {
      if (!this.isClosed) this.owed.push(input);
      return;
    }
    this.reportFailures([this.insistOn(input)]);
    this.schedule();
  }

  /**
   * Ends a producer's transaction here: what it left pending becomes true, or is forgotten. Gives the error code when
   * the marker is committed, or cannot be written.
   */
  endTransaction(marker: TransactionMarker): Promise<number> {
    if (this.refusal !== ErrorCode.NONE) return Promise.resolve(this.refusal);
    assert(this.log !== null, "a marker before the log is loaded");
    this.payOwed();
    const { errorCode, committed } = this.log.appendMarker(marker, this.now().wallMs);
    if (errorCode !== ErrorCode.NONE) return Promise.resolve(errorCode);
    this.machine.endTransaction?.(this.state, marker.producerId, marker.isCommit);
    this.noteUncommitted(committed);
    this.schedule();
    return committed ?? Promise.resolve(ErrorCode.NONE);
  }

  /** Serves no more and answers whatever is held. */
  close(errorCode: number = ErrorCode.NOT_COORDINATOR): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.refusal = errorCode;
    this.cancelTimer?.();
    this.cancelTimer = null;
    const held = [...this.waiting.values()];
    this.waiting.clear();
    for (const { resolve, fail } of held) resolve(fail(errorCode));
  }

  private now(): Instant {
    const wallMs = this.options.clock.now();
    const steadyMs = this.options.clock.monotonic();
    return { wallMs, steadyMs, settledMs: this.settledTime.at(wallMs, steadyMs) };
  }

  /** One input from decision to replies. Gives the log's error code if its facts could not be appended. */
  private run(input: Input): number {
    const now = this.now();
    const decision = this.machine.decide(this.state, input, now);
    const errorCode = this.append(decision, now);
    if (errorCode !== ErrorCode.NONE) return errorCode;
    for (const mark of decision.marks) this.machine.applyMark(this.state, mark);
    this.release(decision);
    this.schedule();
    return ErrorCode.NONE;
  }

  private insistOn(input: Input): number {
    const errorCode = this.run(input);
    if (errorCode !== ErrorCode.NONE) {
      this.owed.push(input);
      this.restAfterFailure();
    }
    return errorCode;
  }

  /** Where no request is told. A disk that is full fails thousands of inputs alike. */
  private reportFailures(errorCodes: Iterable<number>): void {
    for (const errorCode of errorCodes) {
      if (errorCode === ErrorCode.NONE) continue;
      this.options.report(`Cannot append to the coordinator's log: error ${errorCode}; will try again`);
    }
  }

  /** What is owed was to happen before anything that is asked for now, and must not undo that later. */
  private payOwed(): void {
    while (this.owed.length > 0 && this.run(this.owed[0]) === ErrorCode.NONE) this.owed.shift();
  }

  /** Appends the decision's facts and makes true what was appended, which of a divided decision may be a part. */
  private append(
    { facts, divisible = false, transaction }: Decision<Fact, Mark, Body, Effect>,
    now: Instant,
  ): number {
    for (let at = 0; at < facts.length;) {
      const records = this.nextBatch(facts, at, divisible);
      assert(this.log !== null, "a fact before the log is loaded");
      const { errorCode, offset, committed } = this.log.append(records, now.wallMs, transaction);
      if (errorCode !== ErrorCode.NONE) return errorCode;
      this.noteUncommitted(committed);
      for (let i = 0; i < records.length; i++, at++) {
        applyLogged(this.machine, this.state, facts[at], offset + i, transaction);
      }
    }
    return ErrorCode.NONE;
  }

  private nextBatch(facts: readonly Fact[], from: number, divisible: boolean): LogRecord[] {
    const records: LogRecord[] = [];
    let bytes = 0;
    for (let at = from; at < facts.length; at++) {
      const record = this.machine.encode(facts[at]);
      bytes += record.key.length + (record.value?.length ?? 0);
      const isFull = records.length === DIVISIBLE_BATCH_RECORDS || bytes > DIVISIBLE_BATCH_BYTES;
      if (divisible && isFull && records.length > 0) break;
      records.push(record);
    }
    return records;
  }

  private release({ effects = [], replies }: Decision<Fact, Mark, Body, Effect>): void {
    const isHeard = effects.length > 0 || replies.length > 0;
    if (this.isUnsafe && this.uncommitted === null && isHeard) this.noteUncommitted(this.log!.recommit());
    const { uncommitted } = this;
    for (const effect of effects) {
      if (uncommitted === null) this.takeEffect(effect);
      // What was not committed has no effect: the machine asks again for what it still wants.
      else uncommitted.then((errorCode) => errorCode === ErrorCode.NONE && this.takeEffect(effect));
    }
    for (const { ticket, body } of replies) {
      if (uncommitted === null) this.settle(ticket, () => body);
      else {
        uncommitted.then((errorCode) =>
          this.settle(
            ticket,
            ({ fail }) => errorCode === ErrorCode.NONE ? body : fail(coordinatorError(errorCode)),
          )
        );
      }
    }
  }

  private noteUncommitted(committed: Promise<number> | null): void {
    if (committed === null) return;
    this.uncommitted = committed;
    committed.then((errorCode) => {
      this.isUnsafe = errorCode !== ErrorCode.NONE;
      if (this.uncommitted === committed) this.uncommitted = null;
    });
  }

  private takeEffect(effect: Effect): void {
    if (!this.isClosed) this.options.onEffect?.(effect);
  }

  private settle(ticket: Ticket, answer: (waiting: Waiting<Body>) => Body): void {
    const waiting = this.waiting.get(ticket);
    // Closing the shard has answered it.
    if (waiting === undefined) return;
    this.waiting.delete(ticket);
    waiting.resolve(answer(waiting));
  }

  /** Sees to it that the timer fires when the machine wants to be woken, or earlier. */
  private schedule(): void {
    if (this.isTicking || this.isClosed) return;
    const wakeAt = this.owed.length > 0 ? this.notBefore : this.machine.wakeAt(this.state);
    const at = Math.max(wakeAt, this.notBefore);
    if (at >= this.timerAt || at === Infinity) return;
    this.cancelTimer?.();
    const delayMs = Math.max(0, Math.ceil(at - this.options.clock.monotonic()));
    this.timerAt = at;
    this.cancelTimer = this.options.timers.set(Math.min(delayMs, MAX_TIMER_MS), () => this.tick());
  }

  private tick(): void {
    const now = this.now();
    const isLate = now.steadyMs - this.timerAt >= STANDSTILL_MS;
    const wasHearing = this.timerAt === this.notBefore;
    this.cancelTimer = null;
    this.timerAt = Infinity;
    this.notBefore = -Infinity;
    if (isLate && !wasHearing) this.notBefore = now.steadyMs + HEARING_MS;
    else this.takeTurns(this.owed.length, this.machine.due(this.state, now));
    this.schedule();
  }

  /** Decides the oldest of what is owed, and what is due, which comes again as long as it cannot be logged. */
  private takeTurns(owed: number, due: readonly Input[]): void {
    let at = 0;
    const errorCodes = new Set<number>();
    this.isTicking = true;
    this.options.background.begin(() => {
      if (this.isClosed) return false;
      // Requests may have paid some of it meanwhile.
      const oldest = owed-- > 0 ? this.owed.shift() : undefined;
      if (oldest !== undefined) errorCodes.add(this.insistOn(oldest));
      else if (at < due.length) {
        const errorCode = this.run(due[at++]);
        if (errorCode !== ErrorCode.NONE) this.restAfterFailure();
        errorCodes.add(errorCode);
      }
      if (owed > 0 || at < due.length) return true;
      this.reportFailures(errorCodes);
      this.isTicking = false;
      this.schedule();
      return false;
    });
  }

  /** There is no tick for a while. */
  private restAfterFailure(): void {
    this.notBefore = this.options.clock.monotonic() + RETRY_MS;
  }
}

/** A fact that is in the log: true, or pending in a transaction. */
function applyLogged<State, Input, Fact, Mark, Body, Effect>(
  machine: Machine<State, Input, Fact, Mark, Body, Effect>,
  state: State,
  fact: Fact,
  offset: number,
  transaction: Producer | undefined,
): void {
  if (transaction === undefined) machine.applyFact(state, fact, offset);
  else machine.applyPending?.(state, fact, offset, transaction);
}

/** Puts the records of a log into a state. */
export class Replay<State, Input, Fact, Mark, Body, Effect> {
  constructor(
    private readonly machine: Machine<State, Input, Fact, Mark, Body, Effect>,
    private readonly state: State,
  ) {}

  take(bytes: Uint8Array): void {
    for (const batch of batchesIn(bytes)) {
      if (batch.isControl) this.takeMarker(batch);
      else this.takeRecords(batch);
    }
  }

  private takeRecords(batch: BatchView): void {
    const { producerId, producerEpoch, baseOffset } = batch;
    const transaction = batch.isTransactional ? { producerId, producerEpoch } : undefined;
    const cursor = batch.cursor();
    while (cursor.next()) {
      const fact = this.machine.decode(cursor);
      if (fact === null) continue;
      applyLogged(this.machine, this.state, fact, baseOffset + cursor.offsetDelta, transaction);
    }
  }

  private takeMarker(batch: BatchView): void {
    const marker = readEndMarker(batch);
    if (marker !== null) this.machine.endTransaction?.(this.state, batch.producerId, marker.isCommit);
  }
}

/** What a client is told about an error of the log: retriable where another attempt, or another broker, may help. */
export function coordinatorError(errorCode: number): number {
  switch (errorCode) {
    case ErrorCode.NETWORK_EXCEPTION:
    case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode.NOT_ENOUGH_REPLICAS:
    case ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case ErrorCode.REQUEST_TIMED_OUT:
      return ErrorCode.COORDINATOR_NOT_AVAILABLE;
    case ErrorCode.NOT_LEADER_OR_FOLLOWER:
    case ErrorCode.KAFKA_STORAGE_ERROR:
      return ErrorCode.NOT_COORDINATOR;
    case ErrorCode.MESSAGE_TOO_LARGE:
    case ErrorCode.RECORD_LIST_TOO_LARGE:
    case ErrorCode.INVALID_FETCH_SIZE:
      return ErrorCode.UNKNOWN_SERVER_ERROR;
    default:
      return errorCode;
  }
}
