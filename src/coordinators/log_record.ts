/** The bytes of records in internal topics: a type or a version as int16, and a message behind it. */
import { Reader } from "../codec/reader.ts";
import type { DecodedOf, EncodableOf, Message, Shape } from "../codec/schema.ts";
import { concatChunks, Writer } from "../codec/writer.ts";

/** `prefix` is the record's type for a key, and the version again for a value. */
export function prefixed<S extends Shape>(
  prefix: number,
  message: Message<S>,
  version: number,
  value: EncodableOf<Message<S>>,
): Uint8Array {
  const writer = new Writer();
  writer.int16(prefix);
  message.write(writer, version, value);
  return concatChunks(writer.finish());
}

/** Throws MalformedFrame when the bytes are not what their version says. */
export function decodeValue<S extends Shape>(message: Message<S>, bytes: Uint8Array): DecodedOf<Message<S>> {
  const reader = new Reader(bytes);
  // A value of a version that we do not know is a newer broker's; its tagged fields make the newest known one fit.
  const version = Math.min(reader.int16(), message.versions[1]);
  return message.read(reader, version) as DecodedOf<Message<S>>;
}
