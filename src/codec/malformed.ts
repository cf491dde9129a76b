/** The one error of the codec. */

/** Bytes that are not what the protocol says they must be. The text names the field and the numbers that disagree. */
export class MalformedFrame extends Error {
  override name = "MalformedFrame";
}
