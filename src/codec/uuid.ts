/** Kafka's textual form of a UUID: 22 characters of URL-safe base64 over its 16 bytes, without padding. */
import { MalformedFrame } from "./malformed.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const VALUES = new Int8Array(128).fill(-1);
for (let i = 0; i < 64; i++) VALUES[ALPHABET.charCodeAt(i)] = i;

/** The UUID of sixteen zero bytes, which the protocol reads as "none". */
export const ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA";

/** The text of the 16 bytes of `bytes` that start at `at`. */
export function uuidText(bytes: Uint8Array, at = 0): string {
  let text = "";
  for (let i = at; i < at + 15; i += 3) {
    const group = bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2];
    text += ALPHABET[group >> 18] + ALPHABET[group >> 12 & 63] + ALPHABET[group >> 6 & 63] +
      ALPHABET[group & 63];
  }
  const last = bytes[at + 15];
  return text + ALPHABET[last >> 2] + ALPHABET[(last & 3) << 4];
}

/** Writes the 16 bytes of `text` into `bytes` at `at`. Throws {@link MalformedFrame} when it is no UUID text. */
export function writeUuid(text: string, bytes: Uint8Array, at: number): void {
  if (!isUuidText(text)) throw new MalformedFrame(`"${text}" is not a UUID of 22 base64 characters`);
  let bits = 0, held = 0, to = at;
  for (let i = 0; i < 22; i++) {
    bits = bits << 6 | VALUES[text.charCodeAt(i)];
    held += 6;
    if (held >= 8) {
      held -= 8;
      if (to < at + 16) bytes[to++] = bits >> held & 0xff;
    }
  }
}

/** Whether `text` is 22 characters of the URL-safe base64 alphabet. */
export function isUuidText(text: string): boolean {
  if (text.length !== 22) return false;
  for (let i = 0; i < 22; i++) {
    const code = text.charCodeAt(i);
    if (code > 127 || VALUES[code] < 0) return false;
  }
  return true;
}

/** A new random UUID (version 4) from 16 random bytes; never one that starts with "-", which command lines trip over. */
export function newUuid(random: (bytes: Uint8Array) => Uint8Array): string {
  for (;;) {
    const bytes = random(new Uint8Array(16));
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    const text = uuidText(bytes);
    if (!text.startsWith("-")) return text;
  }
}
