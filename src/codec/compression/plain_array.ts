/** Node's Buffer is a Uint8Array in name only: its `slice` is a view and its equality is by class. None gets out of here. */

/** The same bytes, not copied, as a plain Uint8Array. */
export function asPlainArray(buffer: Uint8Array): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}
