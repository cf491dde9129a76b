/** Bytes that are written one after the other, lies included: unlike the codec's writer it asserts nothing. */
export class ByteSink {
  private bytes = new Uint8Array(256);
  private view = new DataView(this.bytes.buffer);
  length = 0;

  private reserve(size: number): number {
    const at = this.length;
    if (at + size > this.bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.bytes.length, at + size));
      larger.set(this.bytes.subarray(0, at));
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    this.length = at + size;
    return at;
  }

  int8(value: number): void {
    const at = this.reserve(1);
    this.view.setInt8(at, value);
  }
  int16(value: number): void {
    const at = this.reserve(2);
    this.view.setInt16(at, value);
  }
  int32(value: number): void {
    const at = this.reserve(4);
    this.view.setInt32(at, value);
  }
  int64(value: bigint): void {
    const at = this.reserve(8);
    this.view.setBigInt64(at, BigInt.asIntN(64, value));
  }
  float64(value: number): void {
    const at = this.reserve(8);
    this.view.setFloat64(at, value);
  }

  /** An unsigned varint of up to 64 bits. */
  unsignedVarint(value: number | bigint): void {
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest >= 0x80n; rest >>= 7n) this.int8(Number(rest & 0x7fn) | 0x80);
    this.int8(Number(rest));
  }

  /** A zigzag varint, as records have it. */
  varint(value: number | bigint): void {
    const wide = BigInt(value);
    this.unsignedVarint(BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n)));
  }

  raw(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.bytes.set(bytes, at);
  }

  /** What was written, as a copy. */
  take(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.length);
  }
}

/** The parts in one array. */
export function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
