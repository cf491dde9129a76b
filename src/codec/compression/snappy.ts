/**
 * Snappy, in the two shapes that Kafka's clients send: one raw block, or the framing of the Java library ("xerial"),
 * which is also what Trackway writes:
 *
 *     82 "SNAPPY" 00 | version int32 | compatible version int32 | (compressed size int32 | raw block)*
 *
 * Blocks are compressed by a native library. They are decompressed here, into memory of the right size, since a block
 * says how large it will be and a library would believe it.
 */

import { readInt32, writeInt32 } from "../big_endian.ts";
import { MalformedFrame, TooCostly } from "../malformed.ts";
import { LazyAddon } from "../addon.ts";

const MAGIC = Uint8Array.of(0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00);
const HEADER_BYTES = 16;
const VERSION = 1;
/** What Java's stream cuts its input into; its reader takes any size. */
const BLOCK_BYTES = 32 * 1024;

/** Without it blocks are written as they are, which every reader understands. */
export const snappyLibrary = new LazyAddon("snappy", () => import("snappy"));

/** One xerial stream. */
export function compressSnappy(bytes: Uint8Array): Uint8Array {
  const blocks: Uint8Array[] = [];
  let size = HEADER_BYTES;
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = compressBlock(bytes.subarray(at, at + BLOCK_BYTES));
    blocks.push(block);
    size += 4 + block.length;
  }
  const out = new Uint8Array(size);
  out.set(MAGIC);
  writeInt32(out, 8, VERSION);
  writeInt32(out, 12, VERSION);
  let at = HEADER_BYTES;
  for (const block of blocks) {
    writeInt32(out, at, block.length);
    out.set(block, at + 4);
    at += 4 + block.length;
  }
  return out;
}

/** Throws {@link MalformedFrame} for bytes that are not snappy or are cut short, {@link TooCostly} above `maxBytes`. */
export function decompressSnappy(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const blocks = hasHeader(bytes, 0) ? xerialBlocks(bytes) : [readBlock(bytes, 0, bytes.length)];
  let size = 0;
  for (const block of blocks) size += block.size;
  if (size > maxBytes) {
    throw new TooCostly(`Cannot decompress snappy: ${size} bytes, at most ${maxBytes} allowed`);
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const block of blocks) {
    decompressBlock(bytes, block.start, block.end, out, at, at + block.size);
    at += block.size;
  }
  return out;
}

function hasHeader(bytes: Uint8Array, at: number): boolean {
  if (bytes.length - at < HEADER_BYTES) return false;
  for (let i = 0; i < MAGIC.length; i++) if (bytes[at + i] !== MAGIC[i]) return false;
  return true;
}

/** A raw block: where its elements are, and how many bytes they are to give. */
interface Block {
  start: number;
  end: number;
  size: number;
}

function xerialBlocks(bytes: Uint8Array): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < bytes.length) {
    // Streams may follow one another: Java's library has appended to files that way.
    if (hasHeader(bytes, at)) {
      const compatible = readInt32(bytes, at + 12);
      if (compatible > VERSION) {
        throw new MalformedFrame(`Cannot decompress snappy: stream of version ${compatible}`);
      }
      at += HEADER_BYTES;
      continue;
    }
    const length = bytes.length - at < 4 ? -1 : readInt32(bytes, at);
    if (length < 0 || length > bytes.length - at - 4) {
      throw new MalformedFrame(
        `Cannot decompress snappy: block of ${length} bytes, ${bytes.length - at} left`,
      );
    }
    blocks.push(readBlock(bytes, at + 4, at + 4 + length));
    at += 4 + length;
  }
  return blocks;
}

/** Reads the size in front of a raw block, and refuses one that its elements cannot reach: 3 bytes give 64 at most. */
function readBlock(bytes: Uint8Array, start: number, end: number): Block {
  let size = 0;
  let at = start;
  for (let unit = 1;; unit *= 0x80) {
    if (at >= end || at - start >= 5) {
      throw new MalformedFrame("Cannot decompress snappy: the block has no size");
    }
    const byte = bytes[at++];
    size += (byte & 0x7f) * unit;
    if (byte < 0x80) break;
  }
  if (size > Math.ceil((end - at) * 64 / 3)) {
    throw new MalformedFrame(`Cannot decompress snappy: ${end - at} bytes cannot hold ${size}`);
  }
  return { start: at, end, size };
}

/**
 * Decodes the elements in `bytes[at, end)` into `out[to, limit)`, which they must fill. An element is a literal or a
 * copy of earlier output; the low two bits of its first byte tell which.
 */
function decompressBlock(
  bytes: Uint8Array,
  at: number,
  end: number,
  out: Uint8Array,
  to: number,
  limit: number,
) {
  const first = to;
  while (at < end) {
    const tag = bytes[at++];
    let length: number, distance: number;
    switch (tag & 3) {
      case 0: {
        length = (tag >>> 2) + 1;
        if (length > 60) {
          // The length is in the next 1–4 bytes, little-endian.
          const count = length - 60;
          length = 1;
          for (let i = 0, unit = 1; i < count; i++, unit *= 0x100) length += bytes[at++] * unit;
        }
        if (!(length <= end - at && length <= limit - to)) throw broken("literal", length, limit - to);
        if (length > 24) out.set(bytes.subarray(at, at + length), to);
        else for (let i = 0; i < length; i++) out[to + i] = bytes[at + i];
        at += length;
        to += length;
        continue;
      }
      case 1:
        length = ((tag >>> 2) & 7) + 4;
        distance = ((tag & 0xe0) << 3) | bytes[at++];
        break;
      case 2:
        length = (tag >>> 2) + 1;
        distance = bytes[at] | (bytes[at + 1] << 8);
        at += 2;
        break;
      default:
        length = (tag >>> 2) + 1;
        distance = (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
        at += 4;
    }
    if (distance === 0 || distance > to - first || length > limit - to || at > end) {
      throw broken("copy", length, limit - to);
    }
    // Byte by byte: a copy may reach into what it is writing, and then repeats it.
    for (let from = to - distance, stop = to + length; to < stop;) out[to++] = out[from++];
  }
  if (to !== limit) {
    throw new MalformedFrame(`Cannot decompress snappy: the block is ${limit - to} bytes short`);
  }
}

function broken(element: string, length: number, room: number): MalformedFrame {
  return new MalformedFrame(`Cannot decompress snappy: ${element} of ${length} bytes, room for ${room}`);
}

function compressBlock(bytes: Uint8Array): Uint8Array {
  return snappyLibrary.get()?.compressSync(bytes) ?? storeBlock(bytes);
}

/** A block of one literal; exported for the test of what runs without the library. `bytes` is at most 32 KiB. */
export function storeBlock(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(6 + bytes.length);
  const size = bytes.length;
  out.set([size & 0x7f | 0x80, (size >>> 7) & 0x7f | 0x80, size >>> 14]);
  out.set([61 << 2, (size - 1) & 0xff, (size - 1) >>> 8], 3);
  out.set(bytes, 6);
  return out;
}
