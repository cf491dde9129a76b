/**
 * One client connection. Requests are handled in the order in which they came and answered in that order. Produce
 * pipelines: the next one is looked at while its acknowledgement is still out. Any other request is handled when all
 * before it are answered, and holds up what comes behind it, as Kafka does: the end of a transaction must not overtake
 * records that are still on their way into the log. A client that does not read its answers is not read either.
 * While a request waits the socket is read on a little, so that a client that has left is noticed.
 */
import { isPromiseLike } from "../base/later.ts";
import { MalformedFrame, Unwritable } from "../codec/malformed.ts";
import type { ClientSoftware } from "../handlers/context.ts";
import { ANONYMOUS, type Principal } from "../security/principal.ts";
import { AnswerRoom } from "./answer_room.ts";
import { type Answer, AnswerWriter, type UnsentAnswers } from "./answer_writer.ts";
import { isDisconnect } from "./disconnects.ts";
import { FrameCutter, type KeptChunks } from "./frames.ts";
import type { Claim, MemoryBudget } from "./memory_budget.ts";
import type { SystemSockets } from "./sendfile.ts";

export type { Answer, UnsentAnswers } from "./answer_writer.ts";

/** What the connection asks of the layer above: to turn a frame into an answer. */
export interface Dispatcher {
  /**
   * Handles one frame. Throws {@link MalformedFrame} when the frame is not what the protocol allows, {@link Unwritable}
   * when its answer would not be; the answer's promise rejects with the same.
   */
  handle(frame: Uint8Array, peer: Peer): Dispatched;
  /** Whether the request may be handled before those ahead of it that pipeline too are answered. */
  pipelines(frame: Uint8Array): boolean;
  /** Called when a turn's frames have been handled, before their answers are sent: other connections may wait for them. */
  answerWoken(): void;
  /** Told of each connection: for how long one too many from an address is kept before it is closed, 0 to serve it. */
  throttleConnectionMs?(address: string): number;
}

/** An answer, now or later. */
export interface Dispatched {
  readonly answer: Answer | PromiseLike<Answer>;
  /** Whether nobody looks at the frame's bytes any more when `handle` has returned. */
  readonly frameIsFree?: boolean;
  /** Called when the chunks of the answer may be used for something else; not when the connection ends first. */
  readonly sent?: () => void;
}

/** What handlers may know of a connection. */
export interface Peer {
  readonly listenerName: string;
  /** "/127.0.0.1", as Kafka writes client hosts. */
  readonly clientHost: string;
  /** "127.0.0.1:50312", for log lines. */
  readonly remote: string;
  /** For those who want to know later whether it is still there, without holding on to it. */
  readonly lifetime: { readonly isOver: boolean };
  /** Who the client is, as far as its listener asks for that. */
  readonly principal: Principal;
  /** What the client calls itself, once it has said so. */
  software: ClientSoftware | null;
  /** Whether parts of files may stay where they are in an answer: the system sends them by itself. */
  readonly sendsFiles: boolean;
  /** Called when the connection ends while a request waits. */
  onDisconnect: (() => void) | null;
  /** Counts so many more bytes of the answer in the making; a promise resolves when there is memory, or the connection is over. */
  growAnswer(bytes: number): Promise<void> | null;
  /** Cuts the connection off, once what was asked before is answered; `reason` goes into the log. */
  disconnect(reason: string): void;
  /** Has no further request handled for `ms` from now; answers go out (KIP-219). */
  mute(ms: number): void;
}

/** The place of an answer in the order of requests. */
interface Slot {
  answer: Answer | undefined;
  sent: (() => void) | undefined;
}

/** The memory of the whole broker that connections take their shares of. */
export interface SharedMemory {
  /** For requests. */
  readonly budget: MemoryBudget;
  /** For answers that are made piece by piece, until they are sent. */
  readonly answers: MemoryBudget;
}

export interface ConnectionLimits {
  readonly maxFrameBytes: number;
  /** Unsent answers beyond which no further request is read. */
  readonly maxUnsentBytes: number;
  /** Requests whose answers are out at once. */
  readonly maxPipelined: number;
  /** How long what a client asked for may still take when it has left, or closed its side; a second if left out. */
  readonly goodbyeMs?: number;
  /** A frame that memory was taken for comes at least this fast, or it is stalled; 100 if left out. */
  readonly minFrameBytesPerMs?: number;
}

/** Any network may stand still for so long. */
const STALL_MS = 10_000;
/** What came while the socket was not read is there in no time; a client that stopped sending then may need a moment. */
const WAKE_MS = 1000;
/** See {@link ConnectionLimits.minFrameBytesPerMs}. */
const MIN_FRAME_BYTES_PER_MS = 100;
/** See {@link ConnectionLimits.goodbyeMs}. */
const GOODBYE_MS = 1000;

export class Connection implements Peer {
  onDisconnect: (() => void) | null = null;
  readonly lifetime = { isOver: false };
  readonly principal = ANONYMOUS;
  software: ClientSoftware | null = null;
  readonly clientHost: string;
  readonly remote: string;
  /** When bytes last moved, on the monotonic clock; the server closes connections that stay quiet too long. */
  lastActiveMs: number;

  private readonly cutter: FrameCutter;
  private readonly writer: AnswerWriter;
  /** Answers in request order that the writer does not have yet, because one before them is not ready. */
  private readonly pending: Slot[] = [];
  private whenDrained: (() => void)[] = [];
  private closed = false;
  /** The read that waits for bytes; it may have begun before they can be handled. */
  private reading: Promise<number | null> | null = null;
  /** The client sends nothing any more. */
  private hasLeft = false;
  /** What the frame that is being read has of the memory for all; null when it is small. */
  private claim: Claim | null = null;
  /** The same, of a request that waits and holds up what is behind it. */
  private heldClaim: Claim | null = null;
  /** Since when this connection has had the memory of one of the two, on the monotonic clock. */
  private claimedAtMs = 0;
  /** Of the memory for large answers; null while it did not need any. */
  private answerRoom: AnswerRoom | null = null;
  /** Since when it is not read, because there is no memory for the frame that has begun; null when it is not so. */
  private waitsForMemorySinceMs: number | null = null;
  /** When the frame that is being read counts as stalled, unless more of it comes. */
  private stallsAtMs = 0;
  /** When the frame that has come in part began to come, the time in which it was not read left out. */
  private frameSinceMs = Infinity;
  /** No more requests are taken: see {@link hangUp}. */
  private hangsUp = false;
  private isDispatching = false;
  /** Until when no request is handled, on the monotonic clock; 0 when nothing was said. */
  private mutedUntilMs = 0;
  /** Looks again whether it is still muted. */
  private endMute: (() => void) | null = null;
  /** A request that is being dispatched wants the connection to end. */
  private isCutOff = false;
  /** Why the connection had to end, when something other than the client ended it. */
  private failure: string | null = null;
  /** What a request threw that was not handled at once. */
  private thrown: { error: unknown } | null = null;

  constructor(
    private readonly conn: Deno.TcpConn,
    readonly listenerName: string,
    private readonly dispatcher: Dispatcher,
    private readonly limits: ConnectionLimits,
    private readonly memory: SharedMemory,
    private readonly monotonic: () => number,
    allUnsent: UnsentAnswers = { bytes: 0 },
    kept?: KeptChunks,
    sockets: SystemSockets | null = null,
  ) {
    const { hostname, port } = conn.remoteAddr;
    this.clientHost = `/${hostname}`;
    this.remote = hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
    this.cutter = new FrameCutter(limits.maxFrameBytes, kept);
    this.lastActiveMs = monotonic();
    this.writer = new AnswerWriter(conn, {
      maxUnsentBytes: limits.maxUnsentBytes,
      allUnsent,
      sockets,
      onMoved: () => this.lastActiveMs = monotonic(),
      onFailed: (problem) => {
        if (problem !== null) this.failure = problem;
        this.close();
      },
    });
  }

  get sendsFiles(): boolean {
    return this.writer.sendsFiles;
  }

  /**
   * Whether nothing has moved for `maxIdleMs`, though it could have. A held request is no reason to end a connection
   * whose client would be seen to leave; it is one when so much has come behind it that the socket is not read. A frame
   * of which now and then a byte comes is as good as nothing.
   */
  isIdle(now: number, maxIdleMs: number): boolean {
    if (this.waitsForMemorySinceMs !== null) return false;
    if (now - this.lastActiveMs > maxIdleMs) return this.pending.length === 0 || this.reading === null;
    const frameMs = now - this.frameSinceMs;
    return frameMs > maxIdleMs && this.pending.length === 0 &&
      this.cutter.heldBytes < frameMs * (this.limits.minFrameBytesPerMs ?? MIN_FRAME_BYTES_PER_MS);
  }

  /** Whether a client has taken nothing of its answers for so long that others may have the memory. */
  isNotReading(now: number): boolean {
    return this.writer.isWriting && now - this.lastActiveMs > STALL_MS;
  }

  /** Whether a request has no answer yet, or no room: the client cannot do anything about it. */
  get handling(): boolean {
    return this.pending.length > 0 || this.waitsForMemorySinceMs !== null;
  }

  /** Whether a request is being handled or an answer is being sent. */
  get busy(): boolean {
    return this.pending.length > 0 || this.writer.hasUnsent;
  }

  /** Whether memory was taken for a frame that does not come. */
  isStalled(now: number): boolean {
    return this.claim !== null && this.waitsForMemorySinceMs === null && now > this.stallsAtMs;
  }

  /** How long its frame has been waiting for memory. */
  memoryWaitMs(now: number): number {
    return this.waitsForMemorySinceMs === null ? 0 : now - this.waitsForMemorySinceMs;
  }

  /** How long it has had memory that others wait for, for a frame that is still coming or a request that is held. */
  memoryHeldMs(now: number): number {
    const held = this.heldClaim ?? (this.waitsForMemorySinceMs === null ? this.claim : null);
    return held === null ? 0 : now - this.claimedAtMs;
  }

  /** How long it has had memory that others wait for, for answers that are being made or not taken. */
  answerHeldMs(now: number): number {
    return this.answerRoom?.heldMs(now) ?? 0;
  }

  /** How long it has been waiting for such memory. */
  answerWaitMs(now: number): number {
    return this.answerRoom?.waitMs(now) ?? 0;
  }

  /**
   * Serves the connection until it ends. Gives null when the client left or the connection was closed, the text of
   * what was wrong when it had to be cut off.
   */
  async serve(): Promise<string | null> {
    try {
      while (!this.hasLeft) {
        const room = this.makeRoom();
        if (room) await room;
        if (this.closed) break;
        this.took(await this.nextBytes());
        if (this.hangsUp) this.cutter.drop();
        for (let frame = this.cutter.next(); frame !== null; frame = this.cutter.next()) {
          this.frameSinceMs = Infinity;
          const pipelines = this.dispatcher.pipelines(frame);
          if (!pipelines && this.pending.length > 0) {
            this.endTurn();
            await this.holding(() => this.answered());
            if (this.closed) return this.end();
          }
          // An answer that came late may have muted it meanwhile.
          if (this.mutedUntilMs > 0) {
            await this.holding(() => this.unmuted());
            if (this.closed) return this.end();
          }
          const wait = this.settled(this.handle(frame, pipelines));
          if (wait) await wait;
          if (this.mutedUntilMs > 0) await this.unmuted();
          if (this.isCutOff) await this.flushed();
          if (this.isCutOff || this.closed) return this.end();
        }
        if (this.cutter.heldBytes > 0) this.frameSinceMs = Math.min(this.frameSinceMs, this.lastActiveMs);
        this.endTurn();
      }
      // It may have closed its own side only, as `nc` does, and be waiting for what it asked.
      await this.goodbye(this.flushed());
      return this.end();
    } catch (error) {
      // The client reset or the server closed the connection: nothing is left to say to it.
      if (isDisconnect(error)) return this.end();
      // A client that never hears of what was done for it does it again.
      await this.flushed();
      if (isClientsDoing(error)) return error.message;
      throw error;
    } finally {
      this.close();
    }
  }

  /** How it ended. Throws what a request threw. */
  private end(): string | null {
    if (this.thrown === null) return this.failure;
    const { error } = this.thrown;
    if (isClientsDoing(error)) return error.message;
    throw error;
  }

  /** Waits with a request that is all there, so nothing of it can stall, and not handled yet. */
  private async holding(wait: () => Promise<void>): Promise<void> {
    const { claim } = this;
    this.heldClaim = claim;
    this.claim = null;
    await wait();
    this.heldClaim = null;
    this.claim = claim;
  }

  /** Takes memory for the frame that is being read, as far as it needs more than there is. */
  private makeRoom(): Promise<void> | void {
    const bytes = this.reading === null ? this.cutter.missingBytes() : 0;
    if (bytes === 0 || this.closed) return;
    if (this.claim === null) {
      this.claim = this.memory.budget.claim(this.cutter.pendingSize()!);
      this.claimedAtMs = this.monotonic();
      this.stallsAtMs = this.claimedAtMs + STALL_MS;
    }
    const hadNone = this.claim.bytes === 0;
    const wait = this.claim.grow(bytes);
    if (wait === null) return;
    const since = this.waitsForMemorySinceMs = this.monotonic();
    return wait.then(() => {
      this.waitsForMemorySinceMs = null;
      const now = this.lastActiveMs = this.monotonic();
      if (hadNone) this.claimedAtMs = now;
      this.frameSinceMs += now - since;
      // The wait is not held against it, and buys no time either: a frame is judged as a whole.
      this.stallsAtMs = Math.max(this.stallsAtMs + now - since, now + WAKE_MS);
    });
  }

  private nextBytes(): Promise<number | null> {
    return this.reading ??= this.conn.read(this.cutter.space());
  }

  private took(bytes: number | null): void {
    this.reading = null;
    if (bytes === null) {
      this.hasLeft = true;
      return;
    }
    this.cutter.filled(bytes);
    const now = this.lastActiveMs = this.monotonic();
    const { minFrameBytesPerMs = MIN_FRAME_BYTES_PER_MS } = this.limits;
    this.stallsAtMs = Math.min(now + STALL_MS, this.stallsAtMs + bytes / minFrameBytesPerMs);
  }

  /** Handles a frame; gives whether its answer has to be waited for before the next one is handled. */
  private handle(frame: Uint8Array, pipelines: boolean): boolean {
    const { claim } = this;
    this.claim = null;
    const { answer, frameIsFree, sent } = this.dispatch(frame, claim);
    if (frameIsFree) this.cutter.giveBack(frame);
    if (!isPromiseLike<Answer>(answer)) {
      claim?.release();
      this.writer.count(answer);
      if (this.pending.length === 0) this.writer.enqueue(answer, sent);
      else this.pending.push({ answer, sent });
      return this.pending.length >= this.limits.maxPipelined;
    }
    const slot: Slot = { answer: undefined, sent };
    this.pending.push(slot);
    if (!pipelines) this.heldClaim = claim;
    answer.then((ready) => {
      claim?.release();
      slot.answer = ready;
      if (this.answerRoom !== null) slot.sent = this.answerRoom.untilSent(sent);
      this.writer.count(ready);
      this.release();
    }).then(undefined, (error) => {
      // It ends the connection instead of leaving the client waiting for ever.
      claim?.release();
      this.thrown ??= { error };
      this.close();
    });
    // What was answered so far goes out before the wait.
    this.endTurn();
    return !pipelines || this.pending.length >= this.limits.maxPipelined;
  }

  growAnswer(bytes: number): Promise<void> | null {
    if (this.closed) return null;
    this.answerRoom ??= new AnswerRoom(this.memory.answers, this.monotonic);
    return this.answerRoom.grow(bytes);
  }

  /** Sends what was answered in this turn, after those have been answered who waited for what it brought. */
  private endTurn(): void {
    this.dispatcher.answerWoken();
    this.writer.start();
  }

  /** Resolves when the next request may be handled: `afterAnswers` or not, and when not too much is unsent. */
  private settled(afterAnswers: boolean): Promise<void> | void {
    if (!afterAnswers && !this.writer.hasMuchUnsent) return;
    // What is ready but behind a request that is not cannot be sent yet.
    if (this.pending.length > 0 && !this.closed) return this.answered().then(() => this.backpressure());
    return this.backpressure();
  }

  /** Resolves when every request so far has its answer or the connection is closed. Looks whether the client is there. */
  private async answered(): Promise<void> {
    this.writer.start();
    const over = this.drained().then(() => undefined);
    while (!this.hasLeft) {
      if (this.reading === null && !this.cutter.canReadAhead()) break;
      const bytes = await Promise.race([over, this.nextBytes()]);
      if (bytes === undefined) break;
      this.took(bytes);
    }
    await (this.hasLeft ? this.goodbye(over) : over);
    this.heldClaim = null;
  }

  /**
   * Resolves when requests may be handled again, or the client has left. What it sent before it left is handled all the
   * same: one that waits for no answers sends what it has and closes.
   */
  private async unmuted(): Promise<void> {
    this.endTurn();
    const over = this.muteOver();
    while (!this.hasLeft) {
      if (this.reading === null && !this.cutter.canReadAhead()) break;
      const bytes = await Promise.race([over, this.nextBytes()]);
      if (bytes === undefined) break;
      this.took(bytes);
      if (this.hangsUp) this.cutter.drop();
    }
    if (this.hasLeft) this.mutedUntilMs = 0;
    this.endMute?.();
    await over;
  }

  /** Resolves when the connection is not muted any more, or closed. Never rejects. */
  private async muteOver(): Promise<undefined> {
    for (;;) {
      const leftMs = this.mutedUntilMs - this.monotonic();
      if (leftMs <= 0 || this.closed) break;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.endMute = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.mutedUntilMs = 0;
    this.endMute = null;
  }

  /** Ends what waits for something to happen, and with it the connection if `done` does not come soon all the same. */
  private async goodbye(done: Promise<void>): Promise<void> {
    this.tellDisconnect();
    const timer = setTimeout(() => {
      if (this.pending.length > 0) this.close();
    }, this.limits.goodbyeMs ?? GOODBYE_MS);
    await done.finally(() => clearTimeout(timer));
  }

  private dispatch(frame: Uint8Array, claim: Claim | null): Dispatched {
    this.isDispatching = true;
    try {
      return this.dispatcher.handle(frame, this);
    } catch (error) {
      claim?.release();
      throw error;
    } finally {
      this.isDispatching = false;
    }
  }

  /** Moves answers whose turn has come to the socket. */
  private release(): void {
    let moved = false;
    while (this.pending.length > 0 && this.pending[0].answer !== undefined) {
      const { answer, sent } = this.pending.shift()!;
      this.writer.enqueue(answer!, sent);
      moved = true;
    }
    if (moved) this.writer.start();
    if (this.pending.length === 0) this.wakeDrained();
  }

  private wakeDrained(): void {
    for (const wake of this.whenDrained.splice(0)) wake();
  }

  /** Resolves when every request so far has its answer or the connection is closed. */
  private drained(): Promise<void> {
    // A request that failed leaves its place in `pending` for ever: nothing is waited for once that closed the connection.
    if (this.pending.length === 0 || this.closed) return Promise.resolve();
    return new Promise<void>((resolve) => this.whenDrained.push(resolve));
  }

  private backpressure(): Promise<void> | void {
    if (!this.writer.hasMuchUnsent || this.closed) return;
    this.writer.start();
    return this.writer.writing;
  }

  /** Resolves when every request so far has been answered and the answer sent, or the connection is gone. */
  async flushed(): Promise<void> {
    while (this.busy && !this.closed) {
      this.writer.start();
      if (this.writer.isWriting) await this.writer.writing;
      else await this.drained();
    }
  }

  disconnect(reason: string): void {
    this.failure = reason;
    if (this.isDispatching) this.isCutOff = true;
    else this.close();
  }

  mute(ms: number): void {
    this.mutedUntilMs = Math.max(this.mutedUntilMs, this.monotonic() + ms);
  }

  /**
   * Closes this side and throws away what still comes, until the client has closed its own: with bytes that nobody has
   * read the system would reset the connection, and answers that are on their way could be lost. A connection that is
   * busy is closed at once.
   */
  hangUp(): void {
    if (this.busy) this.close();
    if (this.closed || this.hangsUp) return;
    this.hangsUp = true;
    this.cutter.drop();
    this.claim?.release();
    this.claim = null;
    this.conn.closeWrite().catch((error) => {
      if (!isDisconnect(error)) this.failure = `cannot close the connection: ${error}`;
      this.close();
    });
  }

  /** Closes the socket and ends a waiting request. Safe to call twice. */
  close(): void {
    if (this.closed) return;
    this.closed = this.lifetime.isOver = true;
    this.writer.close();
    try {
      this.conn.close();
    } catch (error) {
      // Deno says BadResource when the peer's reset has closed it already.
      if (!isDisconnect(error)) throw error;
    }
    this.tellDisconnect();
    this.cutter.close();
    this.claim?.release();
    this.heldClaim?.release();
    this.answerRoom?.close();
    this.wakeDrained();
    this.endMute?.();
  }

  private tellDisconnect(): void {
    this.onDisconnect?.();
    this.onDisconnect = null;
  }
}

/** Whether what the client sent is the reason: it cannot be read, or its answer cannot be written. */
function isClientsDoing(error: unknown): error is MalformedFrame | Unwritable {
  return error instanceof MalformedFrame || error instanceof Unwritable;
}
