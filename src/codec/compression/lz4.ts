/**
 * LZ4 frames as Kafka knows them: version 1, independent blocks, no dictionary. Message format 0 has a header checksum
 * that covers four bytes too many, an early mistake of Kafka's that its clients still expect in that format.
 *
 *     04224d18 | FLG | BD | content size? | header checksum | (size | block | checksum?)* | 00000000 | checksum?
 *
 * Numbers are little-endian. Blocks are compressed by a native library; they are decompressed here, straight into
 * their place, never to more than the frame's block size.
 */

import { MalformedFrame, TooCostly } from "../malformed.ts";
import { LazyAddon } from "../addon.ts";
import { xxhash32 } from "./xxhash32.ts";

const MAGIC = 0x184d2204;
/** Bits of FLG. */
const VERSION_1 = 0x40;
const INDEPENDENT_BLOCKS = 0x20;
const BLOCK_CHECKSUM = 0x10;
const CONTENT_SIZE = 0x08;
const CONTENT_CHECKSUM = 0x04;
const RESERVED = 0x02;
const DICTIONARY_ID = 0x01;
/** BD for blocks of 64 KiB, the size that Java's producer uses. */
const BLOCKS_OF_64_KIB = 0x40;
const BLOCK_BYTES = 64 * 1024;
/** The bit of a block's size that says the block is stored, not compressed. */
const STORED = 0x8000_0000;
/** A compressed byte stands for 255 bytes at most. */
const MAX_RATIO = 255;

/** Without it blocks are written as they are, which every reader understands. */
export const lz4Library = new LazyAddon("lz4-napi", () => import("lz4-napi"));

/** `brokenChecksum` writes or demands the header checksum of message format 0. */
export interface Lz4Options {
  brokenChecksum?: boolean;
}

/** One frame. There is no level: the library has one. */
export function compressLz4(bytes: Uint8Array, options: Lz4Options = {}): Uint8Array {
  const blocks: { bytes: Uint8Array; stored: boolean }[] = [];
  let size = 7 + 4;
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const plain = bytes.subarray(at, at + BLOCK_BYTES);
    const packed = compressBlock(plain);
    const stored = packed.length >= plain.length;
    blocks.push({ bytes: stored ? plain : packed, stored });
    size += 4 + blocks.at(-1)!.bytes.length;
  }
  const out = new Uint8Array(size);
  writeUint32(out, 0, MAGIC);
  out[4] = VERSION_1 | INDEPENDENT_BLOCKS;
  out[5] = BLOCKS_OF_64_KIB;
  out[6] = headerChecksum(out, 6, options.brokenChecksum);
  let at = 7;
  for (const block of blocks) {
    writeUint32(out, at, block.stored ? block.bytes.length | STORED : block.bytes.length);
    out.set(block.bytes, at + 4);
    at += 4 + block.bytes.length;
  }
  return out; // and four zeros, the end mark
}

/** Throws {@link MalformedFrame} for bytes that are not such a frame or are cut short, {@link TooCostly} above `maxBytes`. */
export function decompressLz4(bytes: Uint8Array, maxBytes: number, options: Lz4Options = {}): Uint8Array {
  const frame = readHeader(bytes, options);
  const blockOverhead = frame.flags & BLOCK_CHECKSUM ? 4 : 0;
  const blocks: Uint8Array[] = [];
  let total = 0;
  let at = frame.end;
  for (;;) {
    const header = readUint32(bytes, at);
    at += 4;
    if (header === 0) break;
    const size = header & ~STORED;
    if (size > frame.blockBytes || size + blockOverhead > bytes.length - at) {
      throw new MalformedFrame(`Cannot decompress lz4: block of ${size} bytes, ${bytes.length - at} left`);
    }
    if (blockOverhead > 0) checkHash("block", xxhash32(bytes, at, at + size), readUint32(bytes, at + size));
    const room = Math.min(frame.blockBytes, maxBytes - total);
    const block = header >= STORED
      ? bytes.subarray(at, at + size)
      : decompressBlock(bytes, at, at + size, Math.min(room, size * MAX_RATIO));
    if (block.length > room) throw tooLarge(maxBytes);
    blocks.push(block);
    total += block.length;
    at += size + blockOverhead;
  }
  const out = join(blocks, total);
  if (frame.flags & CONTENT_CHECKSUM) {
    checkHash("content", xxhash32(out), readUint32(bytes, at));
    at += 4;
  }
  if (frame.contentBytes !== null && frame.contentBytes !== total) {
    throw new MalformedFrame(`Cannot decompress lz4: frame of ${frame.contentBytes} bytes holds ${total}`);
  }
  if (at !== bytes.length) {
    throw new MalformedFrame(`Cannot decompress lz4: ${bytes.length - at} bytes after the frame`);
  }
  return out;
}

interface FrameHeader {
  flags: number;
  /** The most that a block may hold. */
  blockBytes: number;
  contentBytes: number | null;
  end: number;
}

function readHeader(bytes: Uint8Array, options: Lz4Options): FrameHeader {
  if (readUint32(bytes, 0) !== MAGIC) {
    throw new MalformedFrame("Cannot decompress lz4: the frame does not begin with LZ4's magic number");
  }
  const flags = bytes[4], descriptor = bytes[5];
  const blockSizeId = descriptor >>> 4;
  const isKnown = (flags & 0xc0) === VERSION_1 && (flags & INDEPENDENT_BLOCKS) !== 0 &&
    (flags & (RESERVED | DICTIONARY_ID)) === 0 && (descriptor & 0x0f) === 0 && blockSizeId >= 4 &&
    blockSizeId <= 7;
  if (!isKnown) {
    throw new MalformedFrame(`Cannot decompress lz4: frame flags ${flags}, ${descriptor} are not supported`);
  }
  const end = 6 + (flags & CONTENT_SIZE ? 8 : 0) + 1;
  if (end > bytes.length) throw new MalformedFrame("Cannot decompress lz4: the frame's header is cut short");
  // Java's reader does not look at the checksum in format 0, since clients disagree about it there.
  if (!options.brokenChecksum) checkHash("header", headerChecksum(bytes, end - 1), bytes[end - 1]);
  return {
    flags,
    blockBytes: 0x100 << (2 * blockSizeId), // 4 is 64 KiB, 7 is 4 MiB
    contentBytes: flags & CONTENT_SIZE ? readUint32(bytes, 10) * 0x1_0000_0000 + readUint32(bytes, 6) : null,
    end,
  };
}

/** The second byte of the hash over the descriptor, which ends at `end`. The broken one begins at the magic number. */
function headerChecksum(bytes: Uint8Array, end: number, broken = false): number {
  return (xxhash32(bytes, broken ? 0 : 4, end) >>> 8) & 0xff;
}

/**
 * Decodes one block of `bytes[at, end)`, which may give up to `room` bytes. A block is a row of sequences: literals,
 * then a copy of earlier output; the last one has literals only.
 */
function decompressBlock(bytes: Uint8Array, at: number, end: number, room: number): Uint8Array {
  const out = new Uint8Array(room);
  let to = 0;
  while (at < end) {
    const token = bytes[at++];
    let literals = token >>> 4;
    if (literals === 15) {
      let more: number;
      do {
        more = bytes[at++];
        literals += more;
      } while (more === 255);
    }
    if (!(literals <= end - at)) {
      throw new MalformedFrame("Cannot decompress lz4: literals run past their block");
    }
    if (literals > room - to) throw tooLarge(room);
    if (literals > 24) out.set(bytes.subarray(at, at + literals), to);
    else for (let i = 0; i < literals; i++) out[to + i] = bytes[at + i];
    at += literals;
    to += literals;
    if (at === end) return out.subarray(0, to);

    const distance = bytes[at] | (bytes[at + 1] << 8);
    at += 2;
    let length = (token & 15) + 4;
    if (length === 19) {
      let more: number;
      do {
        more = bytes[at++];
        length += more;
      } while (more === 255);
    }
    if (at > end || distance === 0 || distance > to) {
      throw new MalformedFrame(`Cannot decompress lz4: copy from ${distance} bytes back, there are ${to}`);
    }
    if (!(length <= room - to)) throw tooLarge(room);
    // Byte by byte where a copy reaches into what it is writing, and then repeats it.
    if (distance >= length && length > 24) {
      out.copyWithin(to, to - distance, to - distance + length);
      to += length;
    } else {
      for (let from = to - distance, stop = to + length; to < stop;) out[to++] = out[from++];
    }
  }
  throw new MalformedFrame("Cannot decompress lz4: the block ends without literals");
}

function join(blocks: readonly Uint8Array[], total: number): Uint8Array {
  if (blocks.length === 1) return blocks[0];
  const out = new Uint8Array(total);
  let at = 0;
  for (const block of blocks) {
    out.set(block, at);
    at += block.length;
  }
  return out;
}

function checkHash(of: string, computed: number, stored: number): void {
  if (computed !== stored) {
    throw new MalformedFrame(`Cannot decompress lz4: ${of} checksum is ${stored}, computed ${computed}`);
  }
}

function tooLarge(room: number): TooCostly {
  return new TooCostly(`Cannot decompress lz4: more than the ${room} bytes allowed`);
}

/** A block without the size that the library puts in front of it. Without the library: no gain, so it gets stored. */
function compressBlock(bytes: Uint8Array): Uint8Array {
  const library = lz4Library.get();
  if (library === null) return bytes;
  return library.compressSync(bytes as Parameters<typeof library.compressSync>[0]).subarray(4);
}

/** Throws {@link MalformedFrame} past the end, since frames are read by nothing but such fields. */
function readUint32(bytes: Uint8Array, at: number): number {
  if (at + 4 > bytes.length) throw new MalformedFrame("Cannot decompress lz4: the frame is cut short");
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
}

function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}
