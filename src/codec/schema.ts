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
import { compileStruct, type StructCodec } from "./compile.ts";
import { Reader } from "./reader.ts";
import { concatChunks, Writer } from "./writer.ts";

/** A field kind and where it applies; plain data that the compiler, the tests and the documentation read. */
export interface FieldSpec {
  readonly kind: Kind;
  /** Of an array: its elements. */
  readonly element?: FieldSpec;
  /** Of a struct: its fields in wire order. */
  readonly fields?: Shape;
  readonly since: number;
  readonly until: number;
  /** Versions that may carry null; absent when none may. */
  readonly nullable?: readonly [from: number, to: number];
  /** Sent as a tagged field from version `from` on; before that, if the field exists at all, in line. */
  readonly tag?: { readonly number: number; readonly from: number };
  /** Value when absent. Undefined: the kind's own zero value. */
  readonly default?: unknown;
  /** May be left out when writing. */
  readonly optional: boolean;
  /** Never to be logged. */
  readonly secret: boolean;
  /** Never in compact form, whatever the version (the client id of the request header). */
  readonly neverCompact: boolean;
}

export type Kind =
  | "int8"
  | "int16"
  | "uint16"
  | "int32"
  | "int64"
  | "float64"
  | "bool"
  | "string"
  | "bytes"
  | "records"
  | "uuid"
  | "array"
  | "struct";

const FOREVER = 0x7fff;

/**
 * One field: `D` is what decoding gives, `E` what encoding takes, `O` whether encoding may leave it out.
 * Immutable: each modifier gives a new field.
 */
export class Field<D, E = D, O extends boolean = false> {
  /** Only for the type system. */
  declare readonly decoded: D;
  declare readonly encoded: E;
  declare readonly isOptional: O;
  constructor(readonly spec: FieldSpec) {}

  private with<D2, E2, O2 extends boolean>(change: Partial<FieldSpec>): Field<D2, E2, O2> {
    return new Field<D2, E2, O2>({ ...this.spec, ...change });
  }

  /** There from version `version` on. */
  since(version: number): Field<D, E, O> {
    return this.with({ since: version });
  }
  /** There up to and including version `version`. */
  until(version: number): Field<D, E, O> {
    return this.with({ until: version });
  }
  /** May be null, in versions `from` to `to` only when these are given. */
  nullable(from = 0, to = FOREVER): Field<D | null, E | null, O> {
    return this.with({ nullable: [from, to] });
  }
  /** A tagged field (KIP-482) from version `from` on; left out of the frame while it has its default. */
  tagged(number: number, from = 0): Field<D, E, true> {
    return this.with({ tag: { number, from }, optional: true });
  }
  /** The value when absent, on the wire or from the writer. */
  or(value: D): Field<D, E, true> {
    return this.with({ default: value, optional: true });
  }
  /** Never logged. */
  secret(): Field<D, E, O> {
    return this.with({ secret: true });
  }
  /** Keeps the old length form in flexible versions. */
  neverCompact(): Field<D, E, O> {
    return this.with({ neverCompact: true });
  }
}

// deno-lint-ignore no-explicit-any -- a shape holds fields of every type; each keeps its own
export type Shape = { readonly [name: string]: Field<any, any, boolean> };

/** What decoding a shape gives: every key, whatever the version. */
export type Decoded<S extends Shape> = { -readonly [K in keyof S]: S[K]["decoded"] };

type OptionalKeys<S extends Shape> = { [K in keyof S]: S[K]["isOptional"] extends true ? K : never }[keyof S];

/** What encoding a shape takes: fields with a default may be left out. */
export type Encodable<S extends Shape> =
  & { readonly [K in Exclude<keyof S, OptionalKeys<S>>]: S[K]["encoded"] }
  & { readonly [K in OptionalKeys<S>]?: S[K]["encoded"] };

function field<D, E = D>(kind: Kind, more: Partial<FieldSpec> = {}): Field<D, E> {
  return new Field<D, E>({
    kind,
    since: 0,
    until: FOREVER,
    optional: false,
    secret: false,
    neverCompact: false,
    ...more,
  });
}

export const int8: Field<number> = field("int8");
export const int16: Field<number> = field("int16");
export const uint16: Field<number> = field("uint16");
export const int32: Field<number> = field("int32");
export const int64: Field<bigint, bigint | number> = field("int64");
export const float64: Field<number> = field("float64");
export const bool: Field<boolean> = field("bool");
export const string: Field<string> = field("string");
export const uuid: Field<string> = field("uuid");
/** A byte array; decoding gives a view on the frame. */
export const bytes: Field<Uint8Array> = field("bytes");
/** Record batches; decoding gives a view on the frame, encoding refers to the bytes without a copy. */
export const records: Field<Uint8Array> = field("records");

/** An array of a primitive field or of structs with the given shape. */
export function array<S extends Shape>(of: S): Field<Decoded<S>[], readonly Encodable<S>[]>;
export function array<D, E>(of: Field<D, E>): Field<D[], readonly E[]>;
export function array(of: Shape | Field<unknown, unknown>): Field<unknown[], readonly unknown[]> {
  return field("array", { element: of instanceof Field ? of.spec : struct(of).spec });
}

/** A struct in line. */
export function struct<S extends Shape>(fields: S): Field<Decoded<S>, Encodable<S>> {
  return field("struct", { fields });
}

/** A version span, both ends included. */
export type Versions = readonly [first: number, last: number];

/** Tagged fields that no declaration knows, kept under this key so that a message can be passed on whole. */
export { UNKNOWN_TAGS } from "./compile.ts";

/** A declared message: decodes and encodes each of its versions. */
export class Message<S extends Shape> {
  private readonly codecs: (StructCodec | undefined)[] = [];

  constructor(
    readonly name: string,
    readonly versions: Versions,
    /** The first flexible version; null when there is none. */
    readonly flexible: number | null,
    readonly fields: S,
  ) {}

  /** Whether `version` has compact lengths and tagged fields. */
  isFlexible(version: number): boolean {
    return this.flexible !== null && version >= this.flexible;
  }

  private codec(version: number): StructCodec {
    return this.codecs[version] ??= compileStruct(this.name, this.fields, version, this.isFlexible(version));
  }

  /** Reads the message from where `reader` stands. Throws {@link MalformedFrame}. */
  read(reader: Reader, version: number): Decoded<S> {
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
    request: new Message(`${name}Request`, versions, flexible, request),
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
}): Message<S> {
  return new Message(declaration.name, declaration.versions, declaration.flexible, declaration.fields);
}

/** What decoding a {@link Message} gives. */
export type DecodedOf<M> = M extends Message<infer S> ? Decoded<S> : never;
/** What encoding a {@link Message} takes. */
export type EncodableOf<M> = M extends Message<infer S> ? Encodable<S> : never;
