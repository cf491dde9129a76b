/**
 * A client connection that costs next to nothing: whole prebuilt frames out, and of each answer only its first bytes,
 * the rest is counted and dropped. What the broker costs should not drown in what the client costs.
 */

/** Of an answer, its receiver gets this much at most; all fields before the records fit. */
export const HEAD_BYTES = 128;
const READ_BYTES = 256 * 1024;

export class RawConnection {
  private readonly queue: Uint8Array[] = [];
  private writing = false;
  private closed = false;
  /** Called for each answer: its first bytes without the size, and its whole length. */
  onAnswer: (head: Uint8Array, length: number) => void = () => {};
  /** Called once when the connection breaks; not for {@link close}. */
  onFailure: (error: Error) => void = () => {};

  private constructor(private readonly conn: Deno.TcpConn) {
    void this.readAll();
  }

  static async connect(port: number): Promise<RawConnection> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay(true);
    return new RawConnection(conn);
  }

  /** Sends a frame, size included, after those before it. */
  send(frame: Uint8Array): void {
    this.queue.push(frame);
    if (!this.writing) void this.writeAll();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.conn.close();
  }

  private async writeAll(): Promise<void> {
    this.writing = true;
    try {
      for (let frame = this.queue.shift(); frame !== undefined; frame = this.queue.shift()) {
        for (let sent = 0; sent < frame.length;) sent += await this.conn.write(frame.subarray(sent));
      }
    } catch (error) {
      this.fail(error as Error);
    }
    this.writing = false;
  }

  private async readAll(): Promise<void> {
    const cutter = new AnswerCutter((head, length) => this.onAnswer(head, length));
    try {
      for (;;) {
        const bytes = await this.conn.read(cutter.space());
        if (bytes === null) throw new Error("the broker closed the connection");
        cutter.filled(bytes);
      }
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private fail(error: Error): void {
    if (this.closed) return;
    this.close();
    this.onFailure(error);
  }
}

/** Cuts a byte stream into answers without keeping them. */
export class AnswerCutter {
  private readonly buffer = new Uint8Array(READ_BYTES);
  private held = 0;
  private head: Uint8Array | null = null;
  private length = 0;
  /** Bytes of the current answer that are still to come and are not wanted. */
  private toSkip = 0;

  constructor(private readonly onAnswer: (head: Uint8Array, length: number) => void) {}

  /** Where the next bytes go. */
  space(): Uint8Array {
    return this.buffer.subarray(this.held);
  }

  /** Tells that `bytes` bytes came into {@link space}. */
  filled(bytes: number): void {
    const { buffer } = this;
    const end = this.held + bytes;
    let at = 0;
    for (;;) {
      if (this.head === null) {
        if (end - at < 4) break;
        const length = buffer[at] << 24 | buffer[at + 1] << 16 | buffer[at + 2] << 8 | buffer[at + 3];
        const headBytes = Math.min(length, HEAD_BYTES);
        if (end - at < 4 + headBytes) break;
        this.head = buffer.slice(at + 4, at + 4 + headBytes);
        this.length = length;
        this.toSkip = length - headBytes;
        at += 4 + headBytes;
      }
      const skipped = Math.min(this.toSkip, end - at);
      at += skipped;
      this.toSkip -= skipped;
      if (this.toSkip > 0) break;
      const head = this.head;
      this.head = null;
      this.onAnswer(head, this.length);
    }
    buffer.copyWithin(0, at, end);
    this.held = end - at;
  }
}
