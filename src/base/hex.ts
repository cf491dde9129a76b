/** Bytes as hexadecimal text, for tests, dumps and logs. */

/** Lower-case hexadecimal of `bytes`. */
export function encodeHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += (byte < 16 ? "0" : "") + byte.toString(16);
  return text;
}

/** The bytes of `text`; throws a TypeError when it is not hexadecimal. */
export function decodeHex(text: string): Uint8Array {
  if (text.length % 2 !== 0 || /[^0-9a-fA-F]/.test(text)) {
    throw new TypeError(`not hexadecimal: ${text.slice(0, 80)}`);
  }
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}
