/**
 * Writes the primitive types of the Kafka protocol. Record batches are not copied: they become chunks of their
 * own between the written bytes, so that a fetched megabyte goes from the file to the socket as it is.
 *
 * What a client's input can make too long to be written is {@link Unwritable}, the only thing that is thrown here.
 */
import { assert } from "../base/assert.ts";
import type { Chunk } from "../base/file_slice.ts";
import { Unwritable } from "./malformed.ts";
import { writeUuid } from "./uuid.ts";

const utf8 = new TextEncoder();

/** Small responses share slabs of this size instead of an allocation each. */
const SLAB_BYTES = 64 * 1024;
/** What a writer of its own begins with: enough for most tagged fields. */
const APART_BYTES = 64;
/** Below this, copying record bytes costs less than one more chunk on the socket. */
const COPY_BELOW_BYTES = 2048;

/** The longest string, in UTF-8, that a version without compact lengths has room for. */
export const MAX_STRING_BYTES = 0x7fff;
/**
 * The longest frame that is written. The protocol's int32 would allow twice as much, but nothing that a client means is
 * so long, and no client could take it.
 */
export const MAX_FRAME_BYTES = 1 << 30;

let slab = new Uint8Array(SLAB_BYTES);
let slabView = new DataView(slab.buffer);
let slabUsed = 0;

export class Writer {
  private bytes: Uint8Array;
  private view: DataView;
  /** Where the chunk being written starts in `bytes`. */
  private start: number;
  private position: number;
  private readonly chunks: Chunk[] = [];
  private chunkBytes = 0;

  /**
   * `apart`: for a part of a message that is written while the message itself is. Such a writer has a buffer of its own of
   * so many bytes; were it to take the slab, each record with a tagged field would cost a new one.
   */
  constructor(apart = false, apartBytes = APART_BYTES) {
    if (apart) {
      this.bytes = new Uint8Array(apartBytes);
      this.view = new DataView(this.bytes.buffer);
      this.start = this.position = 0;
      return;
    }
    if (SLAB_BYTES - slabUsed < 512) {
      slab = new Uint8Array(SLAB_BYTES);
      slabView = new DataView(slab.buffer);
      slabUsed = 0;
    }
    this.bytes = slab;
    this.view = slabView;
    this.start = this.position = slabUsed;
    // While this writer is open the slab is its own: a second open writer starts a new slab.
    slabUsed = SLAB_BYTES;
  }

  /** Bytes written so far, chunks included. */
  get size(): number {
    return this.chunkBytes + this.position - this.start;
  }

  /**
   * Makes room for `size` bytes and gives where they go. It may replace `bytes` and `view`: call it before either is
   * looked at, never inside of an expression that has looked already.
   */
  private reserve(size: number): number {
    if (this.bytes.length - this.position < size) this.grow(size);
    const at = this.position;
    this.position = at + size;
    return at;
  }

  private grow(size: number): void {
    const used = this.position - this.start;
    checkSize(this.chunkBytes + used + size);
    const bytes = new Uint8Array(Math.max(1024, 2 * used, used + size));
    bytes.set(this.bytes.subarray(this.start, this.position));
    if (this.bytes === slab) slabUsed = this.start;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
    this.start = 0;
    this.position = used;
  }

  int8(value: number): void {
    const at = this.reserve(1);
    this.view.setInt8(at, value);
  }
  int16(value: number): void {
    const at = this.reserve(2);
    this.view.setInt16(at, value);
  }
  uint16(value: number): void {
    const at = this.reserve(2);
    this.view.setUint16(at, value);
  }
  int32(value: number): void {
    const at = this.reserve(4);
    this.view.setInt32(at, value);
  }
  /** Takes offsets and the like as plain numbers too: those must be safe integers. */
  int64(value: bigint | number): void {
    const at = this.reserve(8);
    if (typeof value === "bigint") {
      this.view.setBigInt64(at, value);
    } else {
      // The text is made only when it is needed: for each number it would be most of what writing costs.
      if (!Number.isSafeInteger(value)) assert(false, `int64 from ${value}, which is not a safe integer`);
      this.view.setInt32(at, Math.floor(value / 0x1_0000_0000));
      this.view.setUint32(at + 4, value >>> 0);
    }
  }
  float64(value: number): void {
    const at = this.reserve(8);
    this.view.setFloat64(at, value);
  }
  bool(value: boolean): void {
    const at = this.reserve(1);
    this.bytes[at] = value ? 1 : 0;
  }
  uuid(text: string): void {
    const at = this.reserve(16);
    writeUuid(text, this.bytes, at);
  }

  /** An unsigned varint; `value` is taken as 32 bits. */
  unsignedVarint(value: number): void {
    let rest = value >>> 0;
    // Room for all five bytes first: reserving may replace `bytes`.
    let at = this.reserve(5);
    while (rest >= 0x80) {
      this.bytes[at++] = rest & 0x7f | 0x80;
      rest >>>= 7;
    }
    this.bytes[at++] = rest;
    this.position = at;
  }

  /** The length of a string, byte array or array, in the form that {@link Reader.length} reads; -1 is null. */
  length(length: number, compact: boolean, width: 16 | 32): void {
    if (compact) this.unsignedVarint(length + 1);
    else if (width === 16) this.int16(length);
    else this.int32(length);
  }

  /** A string with its length before it. */
  string(text: string, compact: boolean): void {
    const length = text.length;
    let ascii = length < 64;
    for (let i = 0; ascii && i < length; i++) ascii = text.charCodeAt(i) < 0x80;
    if (ascii) {
      this.length(length, compact, 16);
      const at = this.reserve(length);
      for (let i = 0; i < length; i++) this.bytes[at + i] = text.charCodeAt(i);
      return;
    }
    const encoded = utf8.encode(text);
    if (!compact && encoded.length > MAX_STRING_BYTES) {
      throw new Unwritable(`string of ${encoded.length} bytes where the protocol has ${MAX_STRING_BYTES}`);
    }
    this.length(encoded.length, compact, 16);
    this.raw(encoded);
  }

  /** Bytes as they are, copied. */
  raw(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.bytes.set(bytes, at);
  }

  /** Bytes as they are; large ones are referred to, so the caller leaves them alone until the frame is sent. */
  attach(bytes: Chunk): void {
    if (bytes instanceof Uint8Array && bytes.length < COPY_BELOW_BYTES) return this.raw(bytes);
    this.seal();
    this.chunks.push(bytes);
    this.chunkBytes += bytes.length;
    checkSize(this.chunkBytes);
  }

  private seal(): void {
    if (this.position === this.start) return;
    this.chunks.push(this.bytes.subarray(this.start, this.position));
    this.chunkBytes += this.position - this.start;
    this.start = this.position;
  }

  /** Ends the writing and gives the chunks in order. */
  finish(): Chunk[] {
    this.seal();
    if (this.bytes === slab) slabUsed = this.position;
    return this.chunks;
  }

  /** Like {@link finish}, for a writer whose first four bytes were kept for the frame's size. */
  finishFrame(): Chunk[] {
    const chunks = this.finish();
    const head = chunks[0] as Uint8Array;
    const size = this.chunkBytes - 4;
    head[0] = size >>> 24;
    head[1] = size >>> 16;
    head[2] = size >>> 8;
    head[3] = size;
    return chunks;
  }
}

function checkSize(bytes: number): void {
  if (bytes <= MAX_FRAME_BYTES) return;
  throw new Unwritable(`message of ${bytes} bytes or more, a frame may have ${MAX_FRAME_BYTES}`);
}

/** The bytes of `chunks` in one array; the chunk itself when there is only one. Throws when a file cannot be read. */
export function concatChunks(chunks: readonly Chunk[]): Uint8Array {
  if (chunks.length === 1 && chunks[0] instanceof Uint8Array) return chunks[0];
  let size = 0;
  for (const chunk of chunks) size += chunk.length;
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    if (chunk instanceof Uint8Array) all.set(chunk, at);
    else chunk.read(all.subarray(at, at + chunk.length), 0);
    at += chunk.length;
  }
  return all;
}
