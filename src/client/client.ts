/**
 * A small client over the codec: one connection, requests by declaration. For the command line, the console,
 * followers and tests; it does not retry and does not look at metadata.
 */
import { assert } from "../base/assert.ts";
import { encodeRequest, responseHeaderVersion } from "../codec/framing.ts";
import { responseHeader } from "../codec/headers.ts";
import { MalformedFrame } from "../codec/malformed.ts";
import { Reader } from "../codec/reader.ts";
import type { Api, DecodedResponseOf, EncodableRequestOf } from "../codec/schema.ts";
import { concatChunks } from "../codec/writer.ts";

/** A response larger than this is refused. */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;

/** Thrown to every waiting request when the connection ends. */
export class Disconnected extends Error {
  override name = "Disconnected";
}

interface Waiting {
  resolve(frame: Uint8Array): void;
  reject(error: Error): void;
}

export class Client {
  private nextCorrelationId = 1;
  private readonly waiting = new Map<number, Waiting>();
  private ended: Error | null = null;
  private writing: Promise<unknown> = Promise.resolve();
  /** Resolves when the connection has ended, by either side. */
  readonly closed: Promise<void>;

  private constructor(private readonly conn: Deno.Conn, readonly clientId: string | null) {
    this.closed = this.readAll();
  }

  /** Connects. Throws what `Deno.connect` throws. */
  static async connect(
    address: { hostname: string; port: number },
    clientId: string | null = "trackway",
  ): Promise<Client> {
    const conn = await Deno.connect(address);
    conn.setNoDelay(true);
    return new Client(conn, clientId);
  }

  /** Sends one request and gives its response. Throws {@link Disconnected} or {@link MalformedFrame}. */
  async send<A extends Api>(
    api: A,
    version: number,
    request: EncodableRequestOf<A>,
  ): Promise<DecodedResponseOf<A>> {
    const correlationId = this.nextCorrelationId++;
    const frame = await this.roundTrip(
      correlationId,
      concatChunks(encodeRequest(api, version, { correlationId, clientId: this.clientId }, request)),
    );
    const reader = new Reader(frame);
    responseHeader.read(reader, responseHeaderVersion(api, version));
    const response = api.response.read(reader, version);
    reader.expectEnd();
    return response as DecodedResponseOf<A>;
  }

  /** Sends a request that gets no response (Produce with acks=0). */
  async sendOnly<A extends Api>(api: A, version: number, request: EncodableRequestOf<A>): Promise<void> {
    const correlationId = this.nextCorrelationId++;
    await this.write(
      concatChunks(encodeRequest(api, version, { correlationId, clientId: this.clientId }, request)),
    );
  }

  /**
   * Sends bytes as they are, size included, and gives the frame that answers `correlationId`, without its size. The id
   * must not be one that waits; {@link send} counts up from 1.
   */
  roundTrip(correlationId: number, bytes: Uint8Array): Promise<Uint8Array> {
    if (this.ended) return Promise.reject(this.ended);
    assert(!this.waiting.has(correlationId), `correlation id ${correlationId} is in use`);
    const answered = new Promise<Uint8Array>((resolve, reject) =>
      this.waiting.set(correlationId, { resolve, reject })
    );
    this.write(bytes).catch((error) => this.closeOnce(error));
    return answered;
  }

  /** Writes bytes as they are, after what was written before. Throws {@link Disconnected}. */
  write(bytes: Uint8Array): Promise<void> {
    const written = this.writing.then(async () => {
      if (this.ended) throw this.ended;
      for (let sent = 0; sent < bytes.length;) sent += await this.conn.write(bytes.subarray(sent));
    }).catch((error) => {
      throw this.ended ?? asDisconnected(error);
    });
    // One failure is told to its own caller; the next write finds out for itself.
    this.writing = written.catch(() => undefined);
    return written;
  }

  /** Closes the connection; what waits is rejected. */
  async close(): Promise<void> {
    if (this.ended === null) {
      this.end(new Disconnected("closed by this client"));
      this.conn.close();
    }
    await this.closed;
  }

  private async readAll(): Promise<void> {
    const size = new Uint8Array(4);
    try {
      for (;;) {
        if (!await this.fill(size)) break;
        const length = new DataView(size.buffer).getInt32(0);
        if (length < 4 || length > MAX_RESPONSE_BYTES) {
          throw new MalformedFrame(`response of ${length} bytes`);
        }
        const frame = new Uint8Array(length);
        if (!await this.fill(frame)) break;
        const correlationId = new DataView(frame.buffer).getInt32(0);
        const waiting = this.waiting.get(correlationId);
        if (waiting === undefined) {
          throw new MalformedFrame(`response to ${correlationId}, which was not asked`);
        }
        this.waiting.delete(correlationId);
        waiting.resolve(frame);
      }
      this.closeOnce(new Disconnected("closed by the broker"));
    } catch (error) {
      this.closeOnce(error as Error);
    }
  }

  /** Reads until `bytes` is full; false at the end of the stream. */
  private async fill(bytes: Uint8Array): Promise<boolean> {
    for (let at = 0; at < bytes.length;) {
      const read = await this.conn.read(bytes.subarray(at));
      if (read === null) return false;
      at += read;
    }
    return true;
  }

  private closeOnce(reason: Error): void {
    if (this.ended !== null) return;
    this.end(reason instanceof MalformedFrame ? reason : asDisconnected(reason));
    this.conn.close();
  }

  private end(reason: Error): void {
    this.ended ??= reason;
    for (const waiting of this.waiting.values()) waiting.reject(this.ended);
    this.waiting.clear();
  }
}

/** Whatever the socket says, those who wait hear that the connection is gone. */
function asDisconnected(error: Error): Disconnected {
  return error instanceof Disconnected ? error : new Disconnected(error.message, { cause: error });
}
