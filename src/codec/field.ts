/**
 * Fields, the words of a declaration: what kind of value, in which versions, null or not, tagged or not, with which
 * default. A field is plain data with a type; compile.ts makes codecs of it.
 */
import type { Chunk } from "../base/file_slice.ts";

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
/** Record batches; decoding gives a view on the frame, encoding refers to the bytes, which may be in a file, without a copy. */
export const records: Field<Uint8Array, Chunk> = field("records");

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
