/**
 * One record inside a format-2 batch: how it is read and written.
 *
 *     length varint | attributes int8 | timestampDelta varlong | offsetDelta varint | key | value | headers
 *
 * Lengths and deltas are zigzag varints; a length below zero means null. {@link RecordCursor} walks over the records
 * and leaves keys, values and headers where they are until someone asks.
 */

import { Allowance } from "./allowance.ts";
import type { Int64 } from "./int64.ts";
import { MalformedFrame } from "./malformed.ts";

/** Header keys are UTF-8; values may be null. The same key may come more than once. */
export interface RecordHeader {
  key: string;
  value: Uint8Array | null;
}

/**
 * Key and value are views into the batch (or into what it was decompressed to), not copies. Offset and timestamp are
 * numbers, which are safe integers then, or bigints.
 */
export interface Record<Integer extends Int64 = number> {
  offset: Integer;
  /** Milliseconds since 1970, or -1 for none. On a batch with log append time: the batch's time. */
  timestamp: Integer;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: RecordHeader[];
}

/** The shortest possible record: seven fields of one byte each. */
export const MIN_RECORD_BYTES = 7;

// ignoreBOM: a byte order mark at the start of a key is part of the key.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

const unlimited = new Allowance();

/**
 * Walks over the records of one batch, in order and once. After `next()` gave true, the fields describe the current
 * record. Every length is checked against the record and every record against the batch, so a cursor that reached
 * its end has proved the structure of all of them.
 *
 * Offsets and timestamps have 64 bits, of which numbers hold 53. `next()` refuses what they do not hold, since the log
 * counts in numbers and a rounded offset would be another record's; that the batch's own fields are safe does not save
 * it, because deltas come from the client too. `advance()` takes all there is: see {@link isExact}.
 */
export class RecordCursor {
  /** Offset in the log. */
  offset = -1;
  /** As {@link Record.timestamp}. */
  timestamp = -1;
  /** As in the batch, before log append time replaces it. */
  timestampDelta = 0;
  offsetDelta = 0;
  /** Where the record begins, at its length, and ends in `bytes`. */
  start = 0;
  end = 0;
  /** Where the record goes on after its timestamp delta: from here on it can be copied to a batch of the same offset. */
  offsetDeltaStart = 0;
  /** Lengths are -1 for null. */
  keyStart = 0;
  keyLength = -1;
  valueStart = 0;
  valueLength = -1;
  headerCount = 0;
  #headersStart = 0;
  readonly #basesAreExact: boolean;
  #at: number;
  #left: number;

  /**
   * Over `bytes[first, limit)`, which must hold exactly `count` records. With `logAppendTime` every record has that
   * timestamp. The records are paid for; `allowance` pays for their headers.
   */
  constructor(
    readonly bytes: Uint8Array,
    readonly first: number,
    readonly limit: number,
    readonly count: number,
    private readonly baseOffset: number,
    private readonly baseTimestamp: number,
    private readonly logAppendTime: number | null,
    private readonly allowance: Allowance = unlimited,
  ) {
    if (count < 0) throw new MalformedFrame(`Cannot read records: the record count is ${count}`);
    this.#basesAreExact = Number.isSafeInteger(baseOffset) &&
      Number.isSafeInteger(logAppendTime ?? baseTimestamp);
    this.#at = first;
    this.#left = count;
  }

  /**
   * Moves to the next record; false after the last. Throws {@link MalformedFrame} when the bytes are not a record, or
   * when its offset or timestamp is beyond 2^53.
   */
  next(): boolean {
    if (!this.advance()) return false;
    if (!this.isExact) {
      throw new MalformedFrame(
        `Cannot read record: offset ${this.offset} or timestamp ${this.timestamp} is out of range`,
      );
    }
    return true;
  }

  /**
   * Whether `offset` and `timestamp` are what the bytes say. If not, they are rounded, and the right ones are the
   * batch's 64 bits plus `offsetDelta` and {@link timestampDeltaBits}.
   */
  get isExact(): boolean {
    return this.#basesAreExact && Number.isSafeInteger(this.offset) && Number.isSafeInteger(this.timestamp) &&
      // Without it the sum of a rounded delta and a negative base could look safe.
      (this.logAppendTime !== null || Number.isSafeInteger(this.timestampDelta));
  }

  /** As {@link next}, but takes offsets and timestamps of all 64 bits. */
  advance(): boolean {
    if (this.#left === 0) {
      if (this.#at !== this.limit) {
        throw new MalformedFrame(
          `Cannot read records: ${this.limit - this.#at} bytes are left after ${this.count} records`,
        );
      }
      return false;
    }
    this.#left--;
    this.start = this.#at;
    if (this.start >= this.limit) {
      throw new MalformedFrame(`Cannot read records: ${this.#left + 1} of ${this.count} records are missing`);
    }
    const length = this.#varint();
    const end = this.#at + length;
    if (length < MIN_RECORD_BYTES - 1 || end > this.limit) {
      throw new MalformedFrame(
        `Cannot read record: length is ${length}, batch holds ${this.limit - this.#at}`,
      );
    }
    this.end = end;
    this.#at++; // attributes: no bit has a meaning yet
    this.timestampDelta = this.#varlong();
    this.offsetDeltaStart = this.#at;
    this.offsetDelta = this.#varint();
    this.offset = this.baseOffset + this.offsetDelta;
    this.timestamp = this.logAppendTime ?? this.baseTimestamp + this.timestampDelta;
    this.keyLength = this.#length("key");
    this.keyStart = this.#at;
    if (this.keyLength > 0) this.#at += this.keyLength;
    this.valueLength = this.#length("value");
    this.valueStart = this.#at;
    if (this.valueLength > 0) this.#at += this.valueLength;
    this.#skipHeaders();
    if (this.#at !== end) {
      throw new MalformedFrame(
        `Cannot read record: length is ${length}, its fields take ${length + this.#at - end}`,
      );
    }
    return true;
  }

  /** `timestampDelta` with all 64 bits. */
  get timestampDeltaBits(): bigint {
    if (Number.isSafeInteger(this.timestampDelta)) return BigInt(this.timestampDelta);
    let at = this.start;
    while (this.bytes[at] >= 0x80) at++;
    at += 2; // the last byte of the length, and the attributes
    let raw = 0n;
    for (let shift = 0n; at < this.offsetDeltaStart; shift += 7n) {
      raw |= BigInt(this.bytes[at++] & 0x7f) << shift;
    }
    raw = BigInt.asUintN(64, raw);
    return (raw >> 1n) ^ -(raw & 1n);
  }

  /** All records of the batch, not compressed, wherever the cursor stands. */
  get allBytes(): Uint8Array {
    return this.bytes.subarray(this.first, this.limit);
  }

  get key(): Uint8Array | null {
    return this.keyLength < 0 ? null : this.bytes.subarray(this.keyStart, this.keyStart + this.keyLength);
  }

  get value(): Uint8Array | null {
    return this.valueLength < 0
      ? null
      : this.bytes.subarray(this.valueStart, this.valueStart + this.valueLength);
  }

  /** Decodes the current record's headers. Their structure was checked by `next()`. */
  get headers(): RecordHeader[] {
    const headers: RecordHeader[] = [];
    if (this.headerCount === 0) return headers;
    const resume = this.#at;
    this.#at = this.#headersStart;
    for (let i = 0; i < this.headerCount; i++) {
      const keyLength = this.#varint();
      const keyStart = this.#at;
      this.#at += keyLength;
      const valueLength = this.#varint();
      const valueStart = this.#at;
      if (valueLength > 0) this.#at += valueLength;
      headers.push({
        key: decoder.decode(this.bytes.subarray(keyStart, keyStart + keyLength)),
        value: valueLength < 0 ? null : this.bytes.subarray(valueStart, valueStart + valueLength),
      });
    }
    this.#at = resume;
    return headers;
  }

  /** The current record with everything decoded. */
  record(): Record {
    return {
      offset: this.offset,
      timestamp: this.timestamp,
      key: this.key,
      value: this.value,
      headers: this.headers,
    };
  }

  #skipHeaders(): void {
    const count = this.#varint();
    // A header takes two bytes at least: no loop over a count that the record cannot hold.
    if (count < 0 || count * 2 > this.end - this.#at) {
      throw new MalformedFrame(`Cannot read record: ${count} headers, ${this.end - this.#at} bytes left`);
    }
    if (count > 0) this.allowance.takeItems(count);
    this.headerCount = count;
    this.#headersStart = this.#at;
    for (let i = 0; i < count; i++) {
      const keyLength = this.#length("header key");
      if (keyLength < 0) throw new MalformedFrame("Cannot read record: a header key is null");
      this.#at += keyLength;
      const valueLength = this.#length("header value");
      if (valueLength > 0) this.#at += valueLength;
    }
  }

  /** A length that fits into the record; -1 for every negative one, as Java's reader takes them. */
  #length(field: string): number {
    const length = this.#varint();
    if (length > this.end - this.#at) {
      throw new MalformedFrame(
        `Cannot read record: ${field} length is ${length}, ${this.end - this.#at} bytes left`,
      );
    }
    return length < 0 ? -1 : length;
  }

  // The two below may read past the record's end, where other bytes or (past the array) zeros stand: `next()` and
  // `#length()` compare positions afterwards, which is cheaper than a check per byte.

  #varint(): number {
    const bytes = this.bytes;
    let byte = bytes[this.#at++];
    if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
    let raw = byte & 0x7f;
    for (let shift = 7; shift <= 28; shift += 7) {
      byte = bytes[this.#at++];
      raw |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) return (raw >>> 1) ^ -(raw & 1);
    }
    throw new MalformedFrame("Cannot read record: a varint is longer than 5 bytes");
  }

  #varlong(): number {
    const bytes = this.bytes;
    let low = 0, high = 0, shift = 0;
    for (; shift < 28; shift += 7) {
      const byte = bytes[this.#at++];
      low |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) return (low >>> 1) ^ -(low & 1);
    }
    for (let unit = 1; shift < 70; shift += 7, unit *= 0x80) {
      const byte = bytes[this.#at++];
      // The tenth byte has room for one bit; Java drops the others.
      high += (byte & (shift < 63 ? 0x7f : 1)) * unit;
      if (!(byte >= 0x80)) {
        // The raw number is high × 2^28 + low; zigzag halves it and its last bit is the sign.
        const half = high * 0x800_0000 + (low >>> 1);
        return low & 1 ? -half - 1 : half;
      }
    }
    throw new MalformedFrame("Cannot read record: a varlong is longer than 10 bytes");
  }
}

/** What a record needs to be written; deltas are relative to the batch. */
export interface RecordParts {
  timestampDelta: Int64;
  offsetDelta: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers?: readonly RecordHeader[];
}

/** How many bytes a varint of a zigzag 32-bit `value` takes, 1–5. */
export function sizeOfVarint(value: number): number {
  const raw = ((value << 1) ^ (value >> 31)) >>> 0;
  return raw < 0x80 ? 1 : raw < 0x4000 ? 2 : raw < 0x20_0000 ? 3 : raw < 0x1000_0000 ? 4 : 5;
}

/** The same in 64 bits, 1–10. */
export function sizeOfVarlong(value: Int64): number {
  let size = 1;
  if (typeof value === "bigint") {
    for (let rest = zigzag(value) >> 7n; rest > 0n; rest >>= 7n) size++;
    return size;
  }
  const half = value < 0 ? -value - 1 : value;
  for (let bound = 0x40; half >= bound; bound *= 0x80) size++;
  return size;
}

function zigzag(value: bigint): bigint {
  return BigInt.asUintN(64, (value << 1n) ^ (BigInt.asIntN(64, value) >> 63n));
}

/** Writes a varint at `at` and gives the position after it. */
export function writeVarint(out: Uint8Array, at: number, value: number): number {
  let raw = ((value << 1) ^ (value >> 31)) >>> 0;
  while (raw >= 0x80) {
    out[at++] = raw | 0x80;
    raw >>>= 7;
  }
  out[at++] = raw;
  return at;
}

/** Writes a varlong at `at` and gives the position after it. */
export function writeVarlong(out: Uint8Array, at: number, value: Int64): number {
  if (typeof value === "bigint") return writeBigVarlong(out, at, value);
  if (value >= -0x4000_0000 && value < 0x4000_0000) return writeVarint(out, at, value);
  // Zigzag doubles the number, which could pass 2^53: so the sign bit is put beside the first six bits instead.
  const half = value < 0 ? -value - 1 : value;
  out[at++] = ((half % 0x40) << 1) | (value < 0 ? 1 : 0) | 0x80;
  let rest = Math.floor(half / 0x40);
  while (rest >= 0x80) {
    out[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  out[at++] = rest;
  return at;
}

function writeBigVarlong(out: Uint8Array, at: number, value: bigint): number {
  let raw = zigzag(value);
  for (; raw >= 0x80n; raw >>= 7n) out[at++] = Number(raw & 0x7fn) | 0x80;
  out[at++] = Number(raw);
  return at;
}

/** Bytes of the record after its length field. `keys` are the header keys as {@link encodeHeaderKeys} gave them. */
export function sizeOfRecordBody(record: RecordParts, keys: readonly Uint8Array[]): number {
  const headers = record.headers ?? [];
  let size = 1 + sizeOfVarlong(record.timestampDelta) + sizeOfVarint(record.offsetDelta) +
    sizeOfBytes(record.key) +
    sizeOfBytes(record.value) + sizeOfVarint(headers.length);
  for (let i = 0; i < headers.length; i++) size += sizeOfBytes(keys[i]) + sizeOfBytes(headers[i].value);
  return size;
}

const noKeys: readonly Uint8Array[] = [];

/** Header keys in UTF-8, encoded once for both measuring and writing. */
export function encodeHeaderKeys(headers: readonly RecordHeader[] | undefined): readonly Uint8Array[] {
  return headers === undefined || headers.length === 0
    ? noKeys
    : headers.map((header) => encoder.encode(header.key));
}

/** Writes a record, its length first, and gives the position after it. */
export function writeRecord(
  out: Uint8Array,
  at: number,
  record: RecordParts,
  keys: readonly Uint8Array[],
  bodySize: number,
): number {
  at = writeVarint(out, at, bodySize);
  out[at++] = 0;
  at = writeVarlong(out, at, record.timestampDelta);
  at = writeVarint(out, at, record.offsetDelta);
  at = writeBytes(out, at, record.key);
  at = writeBytes(out, at, record.value);
  const headers = record.headers ?? [];
  at = writeVarint(out, at, headers.length);
  for (let i = 0; i < headers.length; i++) {
    at = writeBytes(out, at, keys[i]);
    at = writeBytes(out, at, headers[i].value);
  }
  return at;
}

function sizeOfBytes(bytes: Uint8Array | null): number {
  return bytes === null ? 1 : sizeOfVarint(bytes.length) + bytes.length;
}

function writeBytes(out: Uint8Array, at: number, bytes: Uint8Array | null): number {
  if (bytes === null) return writeVarint(out, at, -1);
  at = writeVarint(out, at, bytes.length);
  out.set(bytes, at);
  return at + bytes.length;
}
