/**
 * Turns a declared shape into the codec of one version: closures over closures, built once. Reading fills a copy
 * of a template that has every key in order, so that all versions of a message share one hidden class.
 */
import { assert } from "../base/assert.ts";
import { MalformedFrame } from "./malformed.ts";
import type { Reader } from "./reader.ts";
import { ZERO_UUID } from "./uuid.ts";
import type { Chunk } from "../base/file_slice.ts";
import { concatChunks, Writer } from "./writer.ts";
import type { FieldSpec, Shape } from "./field.ts";
import { WrittenArray } from "./written_array.ts";

/** Reads and writes one kind of value; `minSize` is the fewest bytes that it takes on the wire. */
interface Codec {
  readonly minSize: number;
  read(reader: Reader): unknown;
  write(writer: Writer, value: unknown): void;
}

/** The codec of one version of a message. */
export interface StructCodec extends Codec {
  write(writer: Writer, value: Record<string, unknown>): void;
}

/** Where a decoded struct keeps the tagged fields that it does not know: pairs of tag and bytes, in order. */
export const UNKNOWN_TAGS: unique symbol = Symbol("unknown tagged fields");

type UnknownTags = { tag: number; data: Uint8Array }[];

/** Whether `version` of the field is on the wire at all. */
function has(spec: FieldSpec, version: number): boolean {
  return version >= spec.since && version <= spec.until;
}

function isTagged(spec: FieldSpec, version: number): boolean {
  return spec.tag !== undefined && version >= spec.tag.from;
}

function isNullable(spec: FieldSpec, version: number): boolean {
  return spec.nullable !== undefined && version >= spec.nullable[0] && version <= spec.nullable[1];
}

/** Makes the value that an absent field has; a fresh one each time where it could be changed by its owner. */
function defaultMaker(spec: FieldSpec): () => unknown {
  if (spec.default !== undefined) {
    const value = spec.default;
    if (Array.isArray(value)) return () => [...value];
    return () => value;
  }
  switch (spec.kind) {
    case "array":
      return () => [];
    case "struct": {
      const makers = Object.entries(spec.fields!).map(([name, f]) => [name, defaultMaker(f.spec)] as const);
      return () => Object.fromEntries(makers.map(([name, make]) => [name, make()]));
    }
    case "bytes":
      return () => new Uint8Array(0);
    case "records":
      return () => null;
    case "string":
      return () => "";
    case "uuid":
      return () => ZERO_UUID;
    case "bool":
      return () => false;
    case "int64":
      return () => 0n;
    default:
      return () => 0;
  }
}

/** Whether a tagged field may be left out, which it must be while it has its default. */
function isDefault(spec: FieldSpec, value: unknown): boolean {
  if (value === null || spec.default === null) return value === spec.default;
  switch (spec.kind) {
    case "array":
      return (value as unknown[]).length === 0;
    case "bytes":
    case "records":
      return (value as Uint8Array).length === 0;
    case "struct":
      return Object.entries(spec.fields!).every(([name, f]) => {
        const inner = (value as Record<string, unknown>)[name];
        return inner === undefined || isDefault(f.spec, inner);
      });
    case "int64":
      return BigInt(value as bigint | number) === (spec.default ?? 0n);
    default:
      return value === defaultMaker(spec)();
  }
}

/** Compiles `shape` for `version`. `path` names the struct in error texts. */
export function compileStruct(path: string, shape: Shape, version: number, flexible: boolean): StructCodec {
  const template: Record<string, unknown> = {};
  const names: string[] = [];
  const codecs: Codec[] = [];
  const defaults: (() => unknown)[] = [];
  const required: boolean[] = [];
  const tagged: TaggedField[] = [];
  /** Fields whose absent value is an object, which structs must not share. */
  const fresh: { name: string; make: () => unknown }[] = [];
  let minSize = flexible ? 1 : 0;

  for (const [name, { spec }] of Object.entries(shape)) {
    const make = defaultMaker(spec);
    template[name] = make();
    const here = has(spec, version);
    const isObject = typeof template[name] === "object" && template[name] !== null;
    if (here && isTagged(spec, version)) {
      assert(flexible, `${path}.${name} is tagged in version ${version}, which is not flexible`);
      const codec = compileField(`${path}.${name}`, spec, version, flexible);
      tagged.push({ tag: spec.tag!.number, name, spec, codec });
      if (isObject) fresh.push({ name, make });
    } else if (here) {
      const codec = compileField(`${path}.${name}`, spec, version, flexible);
      names.push(name);
      codecs.push(codec);
      defaults.push(make);
      required.push(!spec.optional);
      minSize += codec.minSize;
    } else if (isObject) {
      fresh.push({ name, make });
    }
  }
  tagged.sort((a, b) => a.tag - b.tag);
  const count = names.length;

  return {
    minSize,
    read(reader) {
      const value: Record<string | symbol, unknown> = { ...template };
      for (let i = 0; i < fresh.length; i++) value[fresh[i].name] = fresh[i].make();
      for (let i = 0; i < count; i++) value[names[i]] = codecs[i].read(reader);
      if (flexible) readTags(path, tagged, reader, value);
      return value;
    },
    write(writer, value) {
      for (let i = 0; i < count; i++) {
        let item = value[names[i]];
        if (item === undefined) {
          assert(!required[i], `${path}.${names[i]} is missing`);
          item = defaults[i]();
        }
        codecs[i].write(writer, item);
      }
      if (flexible) writeTags(tagged, writer, value);
    },
  };
}

/** The codec of the elements of an array in `shape`, which the names of fields lead to. */
export function compileElement(
  shape: Shape,
  [name, ...deeper]: readonly string[],
  version: number,
  flexible: boolean,
): Codec {
  const element = shape[name].spec.element!;
  if (deeper.length > 0) return compileElement(element.fields!, deeper, version, flexible);
  return compileField(`${name}[]`, element, version, flexible);
}

interface TaggedField {
  readonly tag: number;
  readonly name: string;
  readonly spec: FieldSpec;
  readonly codec: Codec;
}

function readTags(
  path: string,
  known: TaggedField[],
  reader: Reader,
  value: Record<string | symbol, unknown>,
): void {
  const count = reader.unsignedVarint();
  let previous = -1;
  for (let i = 0; i < count; i++) {
    const tag = reader.unsignedVarint();
    if (tag <= previous) throw new MalformedFrame(`${path}: tag ${tag} after tag ${previous}`);
    previous = tag;
    const size = reader.unsignedVarint();
    const field = known.find((f) => f.tag === tag);
    if (field === undefined) {
      const unknown = (value[UNKNOWN_TAGS] ??= []) as UnknownTags;
      reader.takeElements(1, path);
      unknown.push({ tag, data: reader.view8(size) });
      continue;
    }
    const end = reader.position + size;
    if (end > reader.end) {
      throw new MalformedFrame(`${path}.${field.name}: tag of ${size} bytes, ${reader.remaining} left`);
    }
    value[field.name] = field.codec.read(reader);
    if (reader.position !== end) {
      throw new MalformedFrame(`${path}.${field.name}: tag says ${size} bytes, its value has another size`);
    }
  }
}

function writeTags(known: TaggedField[], writer: Writer, value: Record<string | symbol, unknown>): void {
  let parts = value[UNKNOWN_TAGS] as UnknownTags | undefined;
  for (let i = 0; i < known.length; i++) {
    const { tag, name, spec, codec } = known[i];
    const item = value[name];
    if (item === undefined || isDefault(spec, item)) continue;
    const inner = new Writer(true);
    codec.write(inner, item);
    parts = [...parts ?? [], { tag, data: concatChunks(inner.finish()) }];
  }
  // Nearly always: each struct of a flexible version has a place for tags, hardly any has some.
  if (parts === undefined) return writer.unsignedVarint(0);
  writer.unsignedVarint(parts.length);
  for (const { tag, data } of parts.toSorted((a, b) => a.tag - b.tag)) {
    writer.unsignedVarint(tag);
    writer.unsignedVarint(data.length);
    writer.attach(data);
  }
}

function compileField(path: string, spec: FieldSpec, version: number, flexible: boolean): Codec {
  const compact = flexible && !spec.neverCompact;
  const nullable = isNullable(spec, version);
  switch (spec.kind) {
    case "int8":
      return { minSize: 1, read: (r) => r.int8(), write: (w, v) => w.int8(v as number) };
    case "int16":
      return { minSize: 2, read: (r) => r.int16(), write: (w, v) => w.int16(v as number) };
    case "uint16":
      return { minSize: 2, read: (r) => r.uint16(), write: (w, v) => w.uint16(v as number) };
    case "int32":
      return { minSize: 4, read: (r) => r.int32(), write: (w, v) => w.int32(v as number) };
    case "int64":
      return { minSize: 8, read: (r) => r.int64(), write: (w, v) => w.int64(v as bigint) };
    case "float64":
      return { minSize: 8, read: (r) => r.float64(), write: (w, v) => w.float64(v as number) };
    case "bool":
      return { minSize: 1, read: (r) => r.bool(), write: (w, v) => w.bool(v as boolean) };
    case "uuid":
      return { minSize: 16, read: (r) => r.uuid(), write: (w, v) => w.uuid(v as string) };
    case "string":
      return sized(path, nullable, compact, 16, {
        read: (r, length) => r.text(length),
        write: (w, v) => w.string(v as string, compact),
      });
    case "bytes":
      return sized(path, nullable, compact, 32, {
        read: (r, length) => r.view8(length),
        write(w, v) {
          w.length((v as Uint8Array).length, compact, 32);
          w.raw(v as Uint8Array);
        },
      });
    case "records":
      return sized(path, nullable, compact, 32, {
        read: (r, length) => r.view8(length),
        write(w, v) {
          w.length((v as Chunk).length, compact, 32);
          w.attach(v as Chunk);
        },
      });
    case "array":
      return arrayCodec(
        path,
        compileField(`${path}[]`, spec.element!, version, flexible),
        // A small number takes a few times its byte, which is nothing: there is no need to count those.
        spec.element!.kind !== "int8",
        nullable,
        compact,
      );
    case "struct": {
      const codec = compileStruct(path, spec.fields!, version, flexible);
      return nullable ? nullableStruct(codec, isTagged(spec, version) ? 0 : -1) : codec as Codec;
    }
  }
}

/** A value that is its length and then that many bytes; null is length -1. */
function sized(
  path: string,
  nullable: boolean,
  compact: boolean,
  width: 16 | 32,
  value: { read(reader: Reader, length: number): unknown; write(writer: Writer, value: unknown): void },
): Codec {
  return {
    minSize: compact ? 1 : width / 8,
    read(reader) {
      const length = reader.length(compact, width);
      if (length < 0) {
        if (nullable) return null;
        throw new MalformedFrame(`${path} is null, which it cannot be`);
      }
      return value.read(reader, length);
    },
    write(writer, item) {
      if (item === null) {
        assert(nullable, `${path} is null in a version that has no null for it`);
        writer.length(-1, compact, width);
      } else {
        value.write(writer, item);
      }
    },
  };
}

function arrayCodec(
  path: string,
  element: Codec,
  isCounted: boolean,
  nullable: boolean,
  compact: boolean,
): Codec {
  // An element without bytes of its own still costs memory, so each counts as one byte at least.
  const elementSize = Math.max(1, element.minSize);
  return sized(path, nullable, compact, 32, {
    read(reader, length) {
      if (length * elementSize > reader.remaining) {
        throw new MalformedFrame(`${path} has ${length} elements, ${reader.remaining} bytes are left`);
      }
      if (isCounted) reader.takeElements(length, path);
      const values: unknown[] = [];
      for (let i = 0; i < length; i++) values.push(element.read(reader));
      return values;
    },
    write(writer, value) {
      const values = value as unknown[] | WrittenArray<unknown>;
      writer.length(values.length, compact, 32);
      if (values instanceof WrittenArray) return values.writeTo(writer);
      for (let i = 0; i < values.length; i++) element.write(writer, values[i]);
    },
  });
}

/**
 * A struct with a byte before it: 1 for a value, `nullMark` for null (-1 in line, 0 as a tagged field). What is below is
 * null too, and what is above a value, as in Kafka.
 */
function nullableStruct(struct: StructCodec, nullMark: number): Codec {
  return {
    minSize: 1,
    read(reader) {
      return reader.int8() <= nullMark ? null : struct.read(reader);
    },
    write(writer, value) {
      if (value === null) return writer.int8(nullMark);
      writer.int8(1);
      struct.write(writer, value as Record<string, unknown>);
    },
  };
}
