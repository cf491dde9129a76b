/**
 * A client connection that costs next to nothing: whole prebuilt frames out, and of each answer only its first bytes,
 * the rest is counted and dropped. What the broker costs should not drown in what the client costs.
 */

/** Of an answer, its receiver gets this much unless it asks for more; all fields before the records fit. */
export const HEAD_BYTES = 128;
const READ_BYTES = 256 * 1024;

export interface ConnectionOptions {
  /** How much of each answer is kept; Infinity is all of it. */
  readonly headBytes?: number;
  /** What is read at once; less where there are many connections. */
  readonly readBytes?: number;
}

export class RawConnection {
  private readonly queue: Uint8Array[] = [];
  private writing = false;
  private closed = false;
  /** Called for each answer: its first bytes without the size, and its whole length. */
  onAnswer: (head: Uint8Array, length: number) => void = () => {};
  /** Called once when the connection breaks; not for {@link close}. */
  onFailure: (error: Error) => void = () => {};

  private constructor(private readonly conn: Deno.TcpConn, options: ConnectionOptions) {
    void this.readAll(options);
  }

  static async connect(port: number, options: ConnectionOptions = {}): Promise<RawConnection> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay(true);
    return new RawConnection(conn, options);
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

  private async readAll({ headBytes, readBytes }: ConnectionOptions): Promise<void> {
    const cutter = new AnswerCutter((head, length) => this.onAnswer(head, length), headBytes, readBytes);
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

/** Cuts a byte stream into answers without keeping more of them than is wanted. */
export class AnswerCutter {
  private readonly buffer: Uint8Array<ArrayBuffer>;
  /** Bytes in the buffer that were not cut yet: at most three of a size. */
  private held = 0;
  /** Of the current answer, once its size is known. */
  private head: Uint8Array | null = null;
  private headFilled = 0;
  private length = 0;
  /** Bytes of the current answer that are still to come and are not wanted. */
  private toSkip = 0;

  constructor(
    private readonly onAnswer: (head: Uint8Array, length: number) => void,
    private readonly headBytes = HEAD_BYTES,
    readBytes = READ_BYTES,
  ) {
    this.buffer = new Uint8Array(readBytes);
  }

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
        this.length = buffer[at] << 24 | buffer[at + 1] << 16 | buffer[at + 2] << 8 | buffer[at + 3];
        this.head = new Uint8Array(Math.min(this.length, this.headBytes));
        this.headFilled = 0;
        this.toSkip = this.length - this.head.length;
        at += 4;
      }
      const wanted = Math.min(this.head.length - this.headFilled, end - at);
      this.head.set(buffer.subarray(at, at + wanted), this.headFilled);
      this.headFilled += wanted;
      at += wanted;
      const skipped = Math.min(this.toSkip, end - at);
      at += skipped;
      this.toSkip -= skipped;
      if (this.headFilled < this.head.length || this.toSkip > 0) break;
      const head = this.head;
      this.head = null;
      this.onAnswer(head, this.length);
    }
    buffer.copyWithin(0, at, end);
    this.held = end - at;
  }
}
