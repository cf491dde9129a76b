/** The one error of the codec, and its kinds. */

/** Bytes that are not what the protocol says they must be. The text names the field and the numbers that disagree. */
export class MalformedFrame extends Error {
  override name = "MalformedFrame";
}

/** Looking at the bytes would cost more than whoever asked allows: {@link Allowance}. */
export class TooCostly extends MalformedFrame {
  override name = "TooCostly";
}

/**
 * A message that cannot be written: it is longer than a frame can be, or has a string that the version has no room for.
 * A client brings that about, by a name that grows when what is not UTF-8 in it is replaced and that is then to be
 * repeated, or by asking for too much at once. There is no answer then, and its connection ends, as Kafka ends it.
 */
export class Unwritable extends MalformedFrame {
  override name = "Unwritable";
}
