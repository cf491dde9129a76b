/**
 * Fixed-width integers in network byte order, straight from and into a byte array: no DataView is allocated, which
 * matters where a header is read a million times a second. Positions are not checked here; bytes past the end read
 * as zero, so callers compare lengths first.
 */

import type { Int64 } from "./int64.ts";

export function readInt16(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24 >> 16) | bytes[at + 1];
}

export function readInt32(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return readInt32(bytes, at) >>> 0;
}

/**
 * An int64 as a number. Exact for safe integers; any other value comes back rounded, never as a safe integer, so
 * `Number.isSafeInteger` on the result tells the two apart.
 */
export function readInt64(bytes: Uint8Array, at: number): number {
  return readInt32(bytes, at) * 0x1_0000_0000 + readUint32(bytes, at + 4);
}

/** An int64 with all its bits, where 2^53 is not enough. Slow: it allocates. */
export function readBigInt64(bytes: Uint8Array, at: number): bigint {
  return (BigInt(readInt32(bytes, at)) << 32n) | BigInt(readUint32(bytes, at + 4));
}

export function writeInt16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

export function writeInt32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** Writes a safe integer as int64, or a bigint's lowest 64 bits. */
export function writeInt64(bytes: Uint8Array, at: number, value: Int64): void {
  if (typeof value === "bigint") {
    writeInt32(bytes, at, Number(BigInt.asIntN(32, value >> 32n)));
    writeInt32(bytes, at + 4, Number(BigInt.asIntN(32, value)));
    return;
  }
  writeInt32(bytes, at, Math.floor(value / 0x1_0000_0000));
  writeInt32(bytes, at + 4, value % 0x1_0000_0000);
}
