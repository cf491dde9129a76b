/**
 * Reads the primitive types of the Kafka protocol from one frame. Every length is held against the bytes that
 * remain before anything is allocated; what does not fit is a {@link MalformedFrame}, the only error thrown here.
 *
 * Byte arrays are views on the frame, not copies: whoever keeps one beyond the request copies it.
 */
import { MalformedFrame } from "./malformed.ts";
import { uuidText } from "./uuid.ts";

// Java replaces what is not UTF-8 instead of refusing it, and keeps a byte order mark; so do we.
const utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** Strings up to this length are tried as ASCII in a loop, which beats the decoder's call overhead. */
const ASCII_LOOP_MAX = 48;

/**
 * How many elements of arrays a client's frame may hold, all arrays of it together: each becomes an object of 50 to 200 bytes, or
 * a string, that takes two bytes of the frame at the least. Without a bound a frame of 100 MiB would become gigabytes.
 * Fields on average take more than {@link MIN_BYTES_PER_ELEMENT} bytes in whatever a client sends in earnest, and a
 * client with 100,000 partitions in as many topics, each named by itself, needs 200,000 elements.
 */
export const MAX_ELEMENTS = 250_000;
/** So few elements are let pass whatever their size. */
export const FREE_ELEMENTS = 10_000;
export const MIN_BYTES_PER_ELEMENT = 4;

export class Reader {
  readonly bytes: Uint8Array;
  position: number;
  readonly end: number;
  private readonly view: DataView;
  private elementsLeft = Infinity;

  /** Reads `bytes` from `start` up to, not including, `end` (both indexes into `bytes`). */
  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Bytes not read yet. */
  get remaining(): number {
    return this.end - this.position;
  }

  /** Holds the frame to the bounds of what comes from clients, from here on; asked twice, it holds to the same. */
  boundElements(): void {
    if (this.elementsLeft !== Infinity) return;
    const fit = Math.floor(this.remaining / MIN_BYTES_PER_ELEMENT);
    this.elementsLeft = Math.min(MAX_ELEMENTS, Math.max(FREE_ELEMENTS, fit));
  }

  /** Counts elements of an array before they are read; throws when the frame has had too many: {@link MAX_ELEMENTS}. */
  takeElements(count: number, path: string): void {
    if (count > this.elementsLeft) {
      throw new MalformedFrame(
        `${path} has ${count} elements, ${this.elementsLeft} more are allowed in the frame`,
      );
    }
    this.elementsLeft -= count;
  }

  /** Moves over `size` bytes and gives where they start. */
  private take(size: number): number {
    const at = this.position;
    if (size > this.end - at) {
      throw new MalformedFrame(`need ${size} bytes at position ${at}, the frame has ${this.end - at} left`);
    }
    this.position = at + size;
    return at;
  }

  int8(): number {
    return this.view.getInt8(this.take(1));
  }
  int16(): number {
    return this.view.getInt16(this.take(2));
  }
  uint16(): number {
    return this.view.getUint16(this.take(2));
  }
  int32(): number {
    return this.view.getInt32(this.take(4));
  }
  int64(): bigint {
    return this.view.getBigInt64(this.take(8));
  }
  float64(): number {
    return this.view.getFloat64(this.take(8));
  }
  /** Any byte but 0 is true, as in Java. */
  bool(): boolean {
    return this.bytes[this.take(1)] !== 0;
  }
  uuid(): string {
    return uuidText(this.bytes, this.take(16));
  }

  /** An unsigned varint of at most 32 bits. */
  unsignedVarint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.take(1)];
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new MalformedFrame(`varint longer than 5 bytes before position ${this.position}`);
  }

  /**
   * The length of a string, byte array or array: -1 is null, and so is whatever else is negative, as in Kafka. `compact`
   * lengths are varints of length + 1.
   */
  length(compact: boolean, width: 16 | 32): number {
    return compact ? this.unsignedVarint() - 1 : Math.max(-1, width === 16 ? this.int16() : this.int32());
  }

  /** `length` bytes as text. */
  text(length: number): string {
    const at = this.take(length);
    if (length <= ASCII_LOOP_MAX) {
      let text = "";
      for (let i = at; i < at + length; i++) {
        const byte = this.bytes[i];
        if (byte >= 0x80) return utf8.decode(this.bytes.subarray(at, at + length));
        text += String.fromCharCode(byte);
      }
      return text;
    }
    return utf8.decode(this.bytes.subarray(at, at + length));
  }

  /** A view on the next `length` bytes. */
  view8(length: number): Uint8Array {
    const at = this.take(length);
    return this.bytes.subarray(at, at + length);
  }

  /** Throws unless every byte was read: trailing bytes mean that sender and reader disagree about the message. */
  expectEnd(): void {
    if (this.position !== this.end) {
      throw new MalformedFrame(`${this.end - this.position} bytes left over after the message`);
    }
  }
}
