/**
 * Large buffers that are used again. A fresh megabyte costs more than reading a file into it: the kernel zeroes its
 * pages, and V8 collects garbage for each few dozen of them.
 */
import type { Chunk } from "../base/file_slice.ts";

/** Below this a fresh buffer costs less than the bookkeeping. */
const POOLED_FROM_BYTES = 32 * 1024;
/** Larger ones are rare, and too much to keep. */
const POOLED_TO_BYTES = 4 * 1024 * 1024;
/** Room in front of what a lent buffer is used for, for the part of the answer that goes before it. */
const HEADROOM_BYTES = 512;
/** What an index does not know exactly is read from a little before; the classes leave room for it, and for the rest. */
const SLACK_BYTES = 8 * 1024 + 2 * HEADROOM_BYTES;

/**
 * As much as one fetch gives by default (`fetch.max.bytes`) with a hundred partitions, so that the next one finds its
 * buffers: with less, a fifth of the CPU went into fresh pages. A broker that falls quiet lets go of them.
 */
const MAX_FREE_BYTES = 64 * 1024 * 1024;

export class BufferPool {
  /** Free buffers by class: POOLED_FROM_BYTES doubled so many times. */
  private readonly free: Uint8Array[][] = [];
  private freeBytes = 0;

  constructor(private readonly maxFreeBytes = MAX_FREE_BYTES) {}

  /** A buffer of at least `bytes` bytes with anything in it, and {@link HEADROOM_BYTES} before it. */
  take(bytes: number): Uint8Array {
    return this.whole(bytes + 2 * HEADROOM_BYTES).subarray(HEADROOM_BYTES);
  }

  private whole(bytes: number): Uint8Array {
    if (bytes < POOLED_FROM_BYTES || bytes > POOLED_TO_BYTES + SLACK_BYTES) return new Uint8Array(bytes);
    const index = this.classOf(bytes);
    const buffer = this.free[index]?.pop();
    if (buffer === undefined) return new Uint8Array(POOLED_FROM_BYTES * 2 ** index + SLACK_BYTES);
    this.freeBytes -= buffer.length;
    return buffer;
  }

  /** Takes back a buffer that {@link take} gave and nobody looks at any more. */
  give(taken: Uint8Array): void {
    const buffer = new Uint8Array(taken.buffer);
    const index = this.classOf(buffer.length);
    if (buffer.length !== POOLED_FROM_BYTES * 2 ** index + SLACK_BYTES) return;
    if (this.freeBytes + buffer.length > this.maxFreeBytes) return;
    this.freeBytes += buffer.length;
    (this.free[index] ??= []).push(buffer);
  }

  /** Lets go of every free buffer. */
  clear(): void {
    this.free.length = 0;
    this.freeBytes = 0;
  }

  private classOf(bytes: number): number {
    let index = 0;
    while (POOLED_FROM_BYTES * 2 ** index + SLACK_BYTES < bytes) index++;
    return index;
  }
}

/** The buffers of one request: lent while it is handled, given back when its answer is out, or earlier. */
export class Loans {
  readonly buffers: Uint8Array[] = [];
  /** How many of `buffers` hold something that the answer needs. */
  private kept = 0;

  constructor(private readonly pool: BufferPool) {}

  /** A buffer of at least `bytes` bytes. */
  lend(bytes: number): Uint8Array {
    const buffer = this.pool.take(bytes);
    this.buffers.push(buffer);
    return buffer;
  }

  /**
   * Gives back what was lent since the last call, but for the buffer that `bytes` lies in: a partition that has nothing to
   * give, or not what still fits, must not hold memory until the answer is out.
   */
  keepOnly(bytes: Uint8Array): void {
    for (let i = this.buffers.length - 1; i >= this.kept; i--) {
      if (this.buffers[i].buffer !== bytes.buffer) this.pool.give(this.buffers.splice(i, 1)[0]);
    }
    this.kept = this.buffers.length;
  }

  /** Gives everything back. Nobody may look at what was in it any more. */
  giveAll(): void {
    for (const buffer of this.buffers) this.pool.give(buffer);
    this.buffers.length = this.kept = 0;
  }
}

/**
 * The chunks of an answer with the small ones copied in front of and behind those that lie in `lent` buffers, where
 * nothing else is any more: one write to the socket instead of three, each of which would wake the client.
 */
export function joinLent(chunks: Chunk[], lent: readonly Uint8Array[]): Chunk[] {
  if (lent.length === 0 || chunks.length < 2) return chunks;
  const joined: Chunk[] = [];
  for (let i = 0; i < chunks.length; i++) {
    let chunk = chunks[i];
    if (chunk instanceof Uint8Array && isIn(lent, chunk)) {
      const before = joined.at(-1);
      if (
        before instanceof Uint8Array && before.length <= HEADROOM_BYTES && before.length <= chunk.byteOffset
      ) {
        joined.pop();
        chunk = grown(chunk, before.length, 0);
        chunk.set(before);
      }
      const after = i + 2 === chunks.length ? chunks[i + 1] : undefined;
      if (
        after instanceof Uint8Array &&
        chunk.byteOffset + chunk.length + after.length <= chunk.buffer.byteLength
      ) {
        i++;
        chunk = grown(chunk, 0, after.length);
        chunk.set(after, chunk.length - after.length);
      }
    }
    joined.push(chunk);
  }
  return joined;
}

function isIn(buffers: readonly Uint8Array[], { buffer }: Uint8Array): boolean {
  return buffers.some((other) => other.buffer === buffer);
}

function grown({ buffer, byteOffset, length }: Uint8Array, before: number, after: number): Uint8Array {
  return new Uint8Array(buffer, byteOffset - before, before + length + after);
}
