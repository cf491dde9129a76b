/** Bounding what is kept of a client's text. */

/**
 * The first `maxLength` UTF-16 units of a text, as a text of its own: a part of a string keeps the whole of it in memory, and
 * a name may have come in 32 KB.
 */
export function shortCopy(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const part = text.slice(0, maxLength);
  return String.fromCharCode(...Array.from({ length: part.length }, (_, i) => part.charCodeAt(i)));
}
