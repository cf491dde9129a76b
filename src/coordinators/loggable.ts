/** Which texts of clients fit into the records of internal topics. */

/** The most bytes of UTF-8 that the records and the older messages have room for in one text. */
const MAX_TEXT_BYTES = 0x7fff;
/** What one UTF-16 unit takes at most. */
const BYTES_PER_UNIT = 3;

const utf8 = new TextEncoder();

/** Whether a text that came from a client can be logged: what was not UTF-8 in it has grown. */
export function isLoggable(text: string | null): boolean {
  if (text === null || text.length * BYTES_PER_UNIT <= MAX_TEXT_BYTES) return true;
  return utf8.encode(text).length <= MAX_TEXT_BYTES;
}
