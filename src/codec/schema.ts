/**
 * The language in which every message is declared: one declaration covers all versions, gives the TypeScript
 * types, and is compiled into a codec per version on first use.
 *
 *     export const initProducerId = api({
 *       key: 22, name: "InitProducerId", versions: [0, 5], flexible: 2,
 *       request: { transactionalId: string.nullable(), producerId: int64.since(3).or(-1n) },
 *       response: { errorCode: int16, producerId: int64.or(-1n) },
 *     });
 *
 * What a value looks like does not depend on the version: a field that the version does not have reads as its
 * default and is not written. A field without `.or` has to be given when writing, or it does not compile.
 * int64 reads as bigint, for any 64 bits may come; writing takes safe numbers too. Uuids are 22-character text.
 */
import { compileElement, compileStruct, type StructCodec } from "./compile.ts";
import type { Decoded, Encodable, FieldSpec, Shape } from "./field.ts";
import { Reader } from "./reader.ts";
import { concatChunks, Writer } from "./writer.ts";
import type { ElementCodec } from "./written_array.ts";

export {
  array,
  bool,
  bytes,
  type Decoded,
  type Encodable,
  Field,
  type FieldSpec,
  float64,
  int16,
  int32,
  int64,
  int8,
  type Kind,
  records,
  type Shape,
  string,
  struct,
  uint16,
  uuid,
} from "./field.ts";

/** A version span, both ends included. */
export type Versions = readonly [first: number, last: number];

/** Tagged fields that no declaration knows, kept under this key so that a message can be passed on whole. */
export { UNKNOWN_TAGS } from "./compile.ts";

/** Whether decoding the field gives a view on the frame, or a value with one in it. */
function isView({ kind, element, fields }: FieldSpec): boolean {
  if (kind === "bytes" || kind === "records") return true;
  if (element !== undefined && isView(element)) return true;
  return fields !== undefined && Object.values(fields).some((field) => isView(field.spec));
}

/** A declared message: decodes and encodes each of its versions. */
export class Message<S extends Shape> {
  /** Whether what is decoded may have views on the frame among it. */
  readonly hasViews: boolean;
  private readonly codecs: (StructCodec | undefined)[] = [];

  constructor(
    readonly name: string,
    readonly versions: Versions,
    /** The first flexible version; null when there is none. */
    readonly flexible: number | null,
    readonly fields: S,
    /** Whether clients send it, so that what it may become is bounded: {@link Reader.boundElements}. */
    readonly fromClients: boolean = false,
  ) {
    this.hasViews = Object.values(fields).some((field) => isView(field.spec));
  }

  /** Whether `version` has compact lengths and tagged fields. */
  isFlexible(version: number): boolean {
    return this.flexible !== null && version >= this.flexible;
  }

  private codec(version: number): StructCodec {
    return this.codecs[version] ??= compileStruct(this.name, this.fields, version, this.isFlexible(version));
  }

  /** Reads the message from where `reader` stands. Throws {@link MalformedFrame}. */
  read(reader: Reader, version: number): Decoded<S> {
    if (this.fromClients) reader.boundElements();
    return this.codec(version).read(reader) as Decoded<S>;
  }

  /** Reads the message from exactly `bytes`. Throws {@link MalformedFrame}, for bytes left over too. */
  decode(bytes: Uint8Array, version: number): Decoded<S> {
    const reader = new Reader(bytes);
    const value = this.read(reader, version);
    reader.expectEnd();
    return value;
  }

  write(writer: Writer, version: number, value: Encodable<S>): void {
    this.codec(version).write(writer, value as Record<string, unknown>);
  }

  /** For a {@link WrittenArray} in the message, which the names of fields lead to. */
  elements(version: number, ...path: string[]): ElementCodec {
    return compileElement(this.fields, path, version, this.isFlexible(version));
  }

  encode(version: number, value: Encodable<S>): Uint8Array {
    const writer = new Writer();
    this.write(writer, version, value);
    return concatChunks(writer.finish());
  }
}

/** An API: a request and its response under one key. */
export interface Api<Q extends Shape = Shape, R extends Shape = Shape> {
  readonly key: number;
  readonly name: string;
  /** All versions that are declared. What a broker offers is the registry's business. */
  readonly versions: Versions;
  /** A last version that Kafka itself does not call stable yet. */
  readonly unstable: number | null;
  readonly flexible: number | null;
  readonly request: Message<Q>;
  readonly response: Message<R>;
}

/** Declares an API. `flexible` null: no version has compact lengths and tagged fields. */
export function api<Q extends Shape, R extends Shape>(declaration: {
  key: number;
  name: string;
  versions: Versions;
  flexible: number | null;
  unstable?: number;
  request: Q;
  response: R;
}): Api<Q, R> {
  const { key, name, versions, flexible, unstable = null, request, response } = declaration;
  return {
    key,
    name,
    versions,
    flexible,
    unstable,
    request: new Message(`${name}Request`, versions, flexible, request, true),
    response: new Message(`${name}Response`, versions, flexible, response),
  };
}

/** What a decoded request of an API looks like. */
export type RequestOf<A> = A extends Api<infer Q, Shape> ? Decoded<Q> : never;
/** What a handler of an API answers. */
export type ResponseOf<A> = A extends Api<Shape, infer R> ? Encodable<R> : never;
/** What a client sees of an API's response. */
export type DecodedResponseOf<A> = A extends Api<Shape, infer R> ? Decoded<R> : never;
/** What a client gives to send an API's request. */
export type EncodableRequestOf<A> = A extends Api<infer Q, Shape> ? Encodable<Q> : never;

/** Declares a message that is no API: a header, or a record of an internal topic. */
export function message<S extends Shape>(declaration: {
  name: string;
  versions: Versions;
  flexible: number | null;
  fields: S;
  fromClients?: boolean;
}): Message<S> {
  const { name, versions, flexible, fields, fromClients } = declaration;
  return new Message(name, versions, flexible, fields, fromClients);
}

/** What decoding a {@link Message} gives. */
export type DecodedOf<M> = M extends Message<infer S> ? Decoded<S> : never;
/** What encoding a {@link Message} takes. */
export type EncodableOf<M> = M extends Message<infer S> ? Encodable<S> : never;
