/**
 * zstd through node:zlib. Its one-shot decompressor takes only the first of several frames and gives what it has when
 * the input is cut short, without an error, so the frames are measured here first (RFC 8878, section 3.1).
 */

import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { MalformedFrame, TooCostly } from "../malformed.ts";
import { asPlainArray } from "./plain_array.ts";
import { isTooLarge } from "./zlib_error.ts";

/** Kafka's default for `compression.zstd.level`. */
export const DEFAULT_ZSTD_LEVEL = 3;

/** One frame. `level` is -131072–22. */
export function compressZstd(bytes: Uint8Array, level: number = DEFAULT_ZSTD_LEVEL): Uint8Array {
  const options = {
    params: { [constants.ZSTD_c_compressionLevel]: level },
    // Else the tables are made for an input without an end: at level 22 a second for any 16 KB.
    pledgedSrcSize: bytes.length,
  };
  return trimZstd(asPlainArray(zstdCompressSync(bytes, options)));
}

/** Deno 2.9 puts an empty second frame behind some (100,000 random bytes, say); not every client reads past the first. */
export function trimZstd(frames: Uint8Array): Uint8Array {
  return frames.subarray(0, endOfFrame(frames, 0));
}

/** Clients send one frame, some a few; each costs a call into the library, however few bytes it takes. */
const MAX_FRAMES = 1000;

/** Throws {@link MalformedFrame} for bytes that are not zstd or are cut short, and {@link TooCostly} above `maxBytes`. */
export function decompressZstd(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const parts: Uint8Array[] = [];
  let total = 0;
  let at = 0;
  let frames = 0;
  do {
    if (++frames > MAX_FRAMES) {
      throw new TooCostly(`Cannot decompress zstd: more than the ${MAX_FRAMES} frames allowed`);
    }
    const end = endOfFrame(bytes, at);
    if (!isSkippable(bytes, at)) {
      const part = decompressFrame(bytes.subarray(at, end), maxBytes - total);
      total += part.length;
      parts.push(part);
    }
    at = end;
  } while (at < bytes.length);
  if (parts.length === 1) return parts[0];
  const out = new Uint8Array(total);
  let to = 0;
  for (const part of parts) {
    out.set(part, to);
    to += part.length;
  }
  return out;
}

function decompressFrame(frame: Uint8Array, maxBytes: number): Uint8Array {
  let out: Uint8Array;
  try {
    out = asPlainArray(zstdDecompressSync(frame, { maxOutputLength: Math.max(maxBytes, 1) })); // 0 is not allowed
  } catch (error) {
    if (isTooLarge(error)) throw tooCostly(maxBytes);
    throw new MalformedFrame(`Cannot decompress zstd: ${(error as Error).message}`);
  }
  if (out.length > maxBytes) throw tooCostly(maxBytes);
  return out;
}

function tooCostly(maxBytes: number): TooCostly {
  return new TooCostly(`Cannot decompress zstd: more than the ${maxBytes} bytes allowed`);
}

/** 0x184D2A50–5F in little-endian: four bytes of length and content for other programs, to be passed over. */
function isSkippable(bytes: Uint8Array, at: number): boolean {
  return (bytes[at] & 0xf0) === 0x50 && bytes[at + 1] === 0x2a && bytes[at + 2] === 0x4d &&
    bytes[at + 3] === 0x18;
}

const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const RLE_BLOCK = 1;

/** Where the frame that begins at `start` ends, from its header and the headers of its blocks. */
function endOfFrame(bytes: Uint8Array, start: number): number {
  if (isSkippable(bytes, start)) {
    const length =
      (bytes[start + 4] | (bytes[start + 5] << 8) | (bytes[start + 6] << 16) | (bytes[start + 7] << 24)) >>>
      0;
    return within(bytes, start + 8 + length);
  }
  const isFrame = bytes[start] === 0x28 && bytes[start + 1] === 0xb5 && bytes[start + 2] === 0x2f &&
    bytes[start + 3] === 0xfd;
  if (!isFrame) {
    throw new MalformedFrame("Cannot decompress zstd: the frame does not begin with zstd's magic number");
  }
  const descriptor = bytes[start + 4];
  const hasSingleSegment = (descriptor & 0x20) !== 0;
  const contentSizeFlag = descriptor >>> 6;
  const contentSizeBytes = contentSizeFlag === 0 && hasSingleSegment
    ? 1
    : CONTENT_SIZE_BYTES[contentSizeFlag];
  let at = start + 5 + (hasSingleSegment ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 3] + contentSizeBytes;
  for (let isLast = false; !isLast;) {
    within(bytes, at + 3);
    const header = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
    isLast = (header & 1) !== 0;
    at = within(bytes, at + 3 + (((header >>> 1) & 3) === RLE_BLOCK ? 1 : header >>> 3));
  }
  return (descriptor & 4) === 0 ? at : within(bytes, at + 4);
}

function within(bytes: Uint8Array, end: number): number {
  if (end > bytes.length) {
    throw new MalformedFrame(
      `Cannot decompress zstd: the frame goes on to ${end}, there are ${bytes.length} bytes`,
    );
  }
  return end;
}
