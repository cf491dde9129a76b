/**
 * Cuts a byte stream into frames (an int32 size, then that many bytes). A frame stays valid as long as somebody holds
 * it; a chunk is read into again only when every frame that was cut from it has been given back.
 */
import { MalformedFrame } from "../codec/malformed.ts";

/** What an idle connection holds. */
const SMALLEST_CHUNK_BYTES = 2 * 1024;
/** What a busy connection reads at once; a larger frame gets more room as its bytes come. */
const LARGEST_CHUNK_BYTES = 64 * 1024;
/** How many times what has come of a large frame it has room for: a client must not take memory by announcing. */
const GROWTH = 4;
/** A connection that sent a large frame in full has room for the next one at once, up to this much. */
const MOST_TRUSTED_BYTES = 1024 * 1024 + LARGEST_CHUNK_BYTES;
/**
 * A chunk is kept while it is no larger than this many times what the connection reads at once: a fresh one for each
 * large frame would cost more than all else that is done with it.
 */
const KEPT_READS = 8;

/**
 * What all connections keep for reading beyond {@link SMALLEST_CHUNK_BYTES} each. A read that waits for bytes cannot be
 * taken back, so a connection that falls quiet keeps the chunk it was given: for hours, and there may be thousands. When
 * this is full, a connection waits with a small chunk and takes a larger one only when it has bytes for it.
 */
export class KeptChunks {
  bytes = 0;

  constructor(readonly maxBytes: number = Infinity) {}

  get isFull(): boolean {
    return this.bytes > this.maxBytes;
  }
}

export class FrameCutter {
  private chunk = new Uint8Array(SMALLEST_CHUNK_BYTES);
  private start = 0;
  private end = 0;
  private nextChunkBytes = SMALLEST_CHUNK_BYTES;
  /** Frames of the present chunk that were not given back. */
  private out = 0;
  /** The largest frame that came in full, up to {@link MOST_TRUSTED_BYTES}. */
  private trustedBytes = LARGEST_CHUNK_BYTES;

  constructor(private readonly maxFrameBytes: number, private kept: KeptChunks = new KeptChunks()) {}

  /** Nothing is read any more: others may keep what this one has kept. */
  close(): void {
    this.kept.bytes -= keptOf(this.chunk);
    this.kept = new KeptChunks();
    this.chunk = new Uint8Array(0);
    this.start = this.end = 0;
  }

  /** Forgets what was read and not given. */
  drop(): void {
    this.start = this.end;
  }

  /** How many bytes are held of frames that were not given yet. */
  get heldBytes(): number {
    return this.end - this.start;
  }

  /**
   * The next whole frame without its size, or null when more bytes are needed.
   * Throws {@link MalformedFrame} for a size below 0 or above the maximum, before anything is allocated for it.
   */
  next(): Uint8Array | null {
    const size = this.pendingSize();
    if (size === null || this.end - this.start < 4 + size) return null;
    const from = this.start + 4;
    this.start = from + size;
    this.out++;
    if (size >= this.trustedBytes) this.trustedBytes = Math.min(4 + size, MOST_TRUSTED_BYTES);
    return this.chunk.subarray(from, this.start);
  }

  /** Gives a frame back: nobody looks at it any more. It may be of an earlier chunk, when more was read since. */
  giveBack(frame: Uint8Array): void {
    if (frame.buffer === this.chunk.buffer) this.out--;
  }

  /** The size of the frame that has begun, or null while its four bytes are not there. */
  pendingSize(): number | null {
    const size = this.announcedSize();
    if (size !== null && !this.isAllowed(size)) {
      throw new MalformedFrame(
        `frame size ${size} is not between 0 and socket.request.max.bytes (${this.maxFrameBytes})${
          stranger(size)
        }`,
      );
    }
    return size;
  }

  private announcedSize(): number | null {
    if (this.end - this.start < 4) return null;
    const { chunk, start } = this;
    return chunk[start] << 24 | chunk[start + 1] << 16 | chunk[start + 2] << 8 | chunk[start + 3];
  }

  private isAllowed(size: number): boolean {
    return size >= 0 && size <= this.maxFrameBytes;
  }

  /** Whether more may be read while what is here cannot be handled yet: as much as one read holds, and no more memory. */
  canReadAhead(): boolean {
    const size = this.announcedSize();
    return this.heldBytes < LARGEST_CHUNK_BYTES && (size === null || this.isAllowed(size)) &&
      this.missingBytes() === 0;
  }

  /** How much memory beyond an ordinary read's is needed to read on in the frame that has begun; mostly 0. */
  missingBytes(): number {
    const room = this.roomForLarge();
    return room > LARGEST_CHUNK_BYTES ? room : 0;
  }

  /** How large the next chunk is to be, for a large frame that the present one has no room for; otherwise 0. */
  private roomForLarge(): number {
    const size = this.pendingSize();
    if (size === null || size <= LARGEST_CHUNK_BYTES) return 0;
    const whole = 4 + size, present = this.chunk.length - this.start;
    if (whole <= present) return 0;
    if (present < this.trustedBytes) return Math.min(whole, this.trustedBytes);
    return this.end === this.chunk.length ? Math.min(whole, GROWTH * present) : 0;
  }

  /** Where the next bytes from the socket go: never empty. */
  space(): Uint8Array {
    const held = this.end - this.start;
    const { isFull } = this.kept;
    const wanted = isFull ? SMALLEST_CHUNK_BYTES : this.nextChunkBytes;
    const large = this.roomForLarge();
    if (large > 0) this.replace(large);
    else if (this.needed(held, isFull) > this.chunk.length - this.start) {
      this.replace(Math.max(this.needed(held, isFull), wanted));
    } else if (
      held === 0 &&
      // Also when it grew for a burst that is over: using it up could take a quiet connection hours.
      (this.chunk.length - this.end < wanted / 4 ||
        this.chunk.length > (isFull ? SMALLEST_CHUNK_BYTES : KEPT_READS * wanted))
    ) {
      this.replace(wanted);
    } else if (this.end === this.chunk.length) this.replace(Math.max(2 * held, wanted));
    return this.chunk.subarray(this.end);
  }

  /** How large the chunk has to be from the frame's start on, for a frame that is not large. */
  private needed(held: number, isFull: boolean): number {
    const size = this.pendingSize();
    if (size === null || size > LARGEST_CHUNK_BYTES) return 4;
    // When memory is scarce a frame gets it as its bytes come, as large ones always do.
    return isFull ? Math.min(4 + size, Math.max(2 * held, SMALLEST_CHUNK_BYTES)) : 4 + size;
  }

  /** Tells that `bytes` bytes came into {@link space}. */
  filled(bytes: number): void {
    // Closed while the bytes were on their way.
    if (this.chunk.length === 0) return;
    const offered = this.chunk.length - this.end;
    this.end += bytes;
    // A chunk filled to the brim says that more is waiting: read more at once. A small read says the opposite.
    if (bytes === offered) this.nextChunkBytes = Math.min(LARGEST_CHUNK_BYTES, this.nextChunkBytes * 4);
    else if (bytes < this.nextChunkBytes / 8) {
      this.nextChunkBytes = Math.max(SMALLEST_CHUNK_BYTES, this.nextChunkBytes / 2);
    }
  }

  private replace(size: number): void {
    const reusable = this.out === 0 && size <= this.chunk.length &&
      this.chunk.length <= Math.max(this.kept.isFull ? 0 : KEPT_READS * this.nextChunkBytes, size);
    if (reusable) {
      this.chunk.copyWithin(0, this.start, this.end);
    } else {
      const chunk = new Uint8Array(size);
      chunk.set(this.chunk.subarray(this.start, this.end));
      this.kept.bytes += keptOf(chunk) - keptOf(this.chunk);
      this.chunk = chunk;
      this.out = 0;
    }
    this.end -= this.start;
    this.start = 0;
  }
}

function keptOf(chunk: Uint8Array): number {
  return Math.max(0, chunk.length - SMALLEST_CHUNK_BYTES);
}

/** Whose protocol the first four bytes of a connection belong to: the two that lose their way most often. */
function stranger(size: number): string {
  if (size >>> 16 === 0x1603) return ": a TLS client?";
  return HTTP_METHODS.has(size) ? ": an HTTP client?" : "";
}

/** GET, HEAD, POST, PUT, as a size. */
const HTTP_METHODS: ReadonlySet<number> = new Set([0x47455420, 0x48454144, 0x504f5354, 0x50555420]);
