/**
 * The writing half of a connection: sends answers in the order in which they come, as fast as the client takes them. What
 * of them lies in a file is read when the socket is ready for it, or sent by the system without being read.
 */

import type { Chunk, FileSlice } from "../base/file_slice.ts";
import { isDisconnect } from "./disconnects.ts";
import type { SystemSocket, SystemSockets } from "./sendfile.ts";

/** The answer to a frame: chunks to send, or null when nothing is sent. */
export type Answer = Chunk[] | null;

/** Bytes of answers in memory that the clients of all connections have not taken yet. */
export interface UnsentAnswers {
  bytes: number;
  /** Beyond this each connection may have but little; no bound when left out. */
  readonly maxBytes?: number;
}

export interface WriterOptions {
  /** Through which what is in files is sent; null: it is read and written. */
  readonly sockets: SystemSockets | null;
  /** Unsent answers beyond which no further request is read. */
  readonly maxUnsentBytes: number;
  readonly allUnsent: UnsentAnswers;
  /** Told when bytes were sent, or are about to be. */
  readonly onMoved: () => void;
  /** Told why nothing more can be sent; null when the client is gone. */
  readonly onFailed: (problem: string | null) => void;
}

/** What a connection may have of unsent answers when all together have too much. */
const UNSENT_WHEN_SHORT_BYTES = 64 * 1024;
/** Answers up to this size are copied together into one write. */
const COALESCE_BYTES = 64 * 1024;
/** The system is asked to send so much at a time: about what the processor's cache still has when the client reads it. */
const SENT_AT_ONCE_BYTES = 256 * 1024;
/** So much is read and written, to wait until a socket that took no more from a file has room again. */
const WAITING_BYTES = 16 * 1024;

interface Part {
  readonly chunk: Chunk;
  readonly sent: (() => void) | undefined;
}

export class AnswerWriter {
  isWriting = false;
  /** Resolves when the present run of writes, or the last one, is over. Never rejects. */
  writing: Promise<void> = Promise.resolve();
  private readonly unsent: Part[] = [];
  /** Of the answers that were counted and are not sent. */
  private unsentBytes = 0;
  /** As far as they are in memory. */
  private heldBytes = 0;
  private closed = false;
  /** Null when it cannot be had; undefined when it was not looked for. */
  private socket: SystemSocket | null | undefined;

  constructor(private readonly conn: Deno.TcpConn, private readonly options: WriterOptions) {}

  /** Whether an answer, or part of it, waits to be written. */
  get hasUnsent(): boolean {
    return this.unsent.length > 0 || this.isWriting;
  }

  /** Whether so much is unsent that no further request is handled before the client has taken it. */
  get hasMuchUnsent(): boolean {
    const { maxUnsentBytes, allUnsent } = this.options;
    if (this.unsentBytes > maxUnsentBytes) return true;
    return this.heldBytes > UNSENT_WHEN_SHORT_BYTES && allUnsent.bytes > (allUnsent.maxBytes ?? Infinity);
  }

  /** Whether what answers have in files is sent by the system: if not, it is better read for the answer. */
  get sendsFiles(): boolean {
    const { sockets } = this.options;
    if (this.closed || sockets === null) return false;
    // Where all are taken, one may be free the next time.
    if (this.socket === undefined && sockets.hasRoom) this.socket = sockets.find(this.conn);
    return (this.socket ?? null) !== null;
  }

  /** Counts an answer as unsent: it is ready, if perhaps not yet its turn. */
  count(answer: Answer): void {
    for (const chunk of answer ?? []) this.add(chunk, 1);
  }

  private add(chunk: Chunk, sign: 1 | -1): void {
    // Closing has given back what there was, and nothing is sent any more.
    if (this.closed) return;
    this.unsentBytes += sign * chunk.length;
    if (chunk instanceof Uint8Array) this.hold(sign * chunk.length);
  }

  private hold(bytes: number): void {
    this.heldBytes += bytes;
    this.options.allUnsent.bytes += bytes;
  }

  /** Puts an answer that was counted behind those that wait; `sent` is called when its chunks may be used for something else. */
  enqueue(answer: Answer, sent: (() => void) | undefined): void {
    if (answer === null) return sent?.();
    const last = answer.length - 1;
    for (let i = 0; i <= last; i++) {
      this.unsent.push({ chunk: answer[i], sent: i === last ? sent : undefined });
    }
  }

  /** Begins to send what waits, unless that is under way. */
  start(): void {
    if (this.isWriting || this.unsent.length === 0 || this.closed) return;
    this.isWriting = true;
    // A request may have been held for longer than a connection may be idle.
    this.options.onMoved();
    this.writing = this.write();
  }

  /** Forgets what waits. To be called before the connection is closed. */
  close(): void {
    if (this.closed) return;
    this.hold(-this.heldBytes);
    this.unsentBytes = 0;
    this.closed = true;
    this.socket?.close();
  }

  private async write(): Promise<void> {
    try {
      while (this.unsent.length > 0 && !this.closed) {
        const { chunk, sent } = this.next();
        if (chunk instanceof Uint8Array) {
          // Here and not in a function of its own: a promise more for each answer is a tenth of what a small one costs.
          for (let done = this.sendAhead(chunk); done < chunk.length;) {
            done += await this.conn.write(done === 0 ? chunk : chunk.subarray(done));
            this.options.onMoved();
          }
        } else await this.writeFile(chunk);
        if (this.closed) return;
        this.add(chunk, -1);
        sent?.();
      }
    } catch (error) {
      this.options.onFailed(isDisconnect(error) ? null : `cannot write to the client: ${error}`);
    } finally {
      // In the same turn in which nothing was left: an answer that came a turn later would find a writer that is done.
      this.isWriting = false;
    }
  }

  /** The first unsent chunk, or as many small ones in one as are there. */
  private next(): Part {
    let count = 0, size = 0;
    while (count < this.unsent.length) {
      const { chunk } = this.unsent[count];
      if (!(chunk instanceof Uint8Array) || size + chunk.length > COALESCE_BYTES) break;
      size += chunk.length;
      count++;
    }
    if (count <= 1) return this.unsent.shift()!;
    const together = new Uint8Array(size);
    let at = 0;
    for (const { chunk, sent } of this.unsent.splice(0, count)) {
      together.set(chunk as Uint8Array, at);
      at += chunk.length;
      sent?.();
    }
    return { chunk: together, sent: undefined };
  }

  /** Sends what it can of bytes that a file follows, so that the client is not woken for them alone; gives how much. */
  private sendAhead(bytes: Uint8Array): number {
    const next = this.unsent[0]?.chunk;
    return next === undefined || next instanceof Uint8Array ? 0 : this.socket?.sendMore(bytes) ?? 0;
  }

  private async writeFile(slice: FileSlice): Promise<void> {
    for (let done = 0; done < slice.length && !this.closed;) {
      const left = slice.length - done;
      const sent = await this.sendPiece(slice, done, Math.min(left, SENT_AT_ONCE_BYTES));
      if (this.closed) return;
      done += sent > 0 ? sent : await this.writePiece(slice, done, Math.min(left, WAITING_BYTES));
      this.options.onMoved();
    }
  }

  /** Has the system send a piece of a file when it is its turn; gives how much the socket had room for. */
  private async sendPiece(slice: FileSlice, from: number, bytes: number): Promise<number> {
    const { socket, options: { sockets } } = this;
    if (!socket || sockets === null) return 0;
    const turn = sockets.turns.take(bytes);
    if (turn) await turn;
    if (this.closed) {
      sockets.turns.giveBack(bytes);
      return 0;
    }
    const sent = slice.through(from, (file, position) => socket.sendFile(file, position, bytes)) ?? 0;
    sockets.turns.giveBack(bytes - sent);
    return sent;
  }

  /** Reads a piece of a file and writes it; gives its length. */
  private async writePiece(slice: FileSlice, from: number, bytes: number): Promise<number> {
    const piece = new Uint8Array(bytes);
    slice.read(piece, from);
    this.hold(bytes);
    for (let done = 0; done < bytes;) done += await this.conn.write(piece.subarray(done));
    this.options.onMoved();
    // Closing has given it back.
    if (!this.closed) this.hold(-bytes);
    return bytes;
  }
}
