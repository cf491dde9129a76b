/**
 * Requests written after their declarations, with faults at chosen fields: the bytes before a fault are right, so that
 * it is reached. A request is walked twice with the same random numbers, once to count its fields, once to write it.
 */
import { Prng } from "../../src/base/prng.ts";
import { requestHeaderVersion } from "../../src/codec/framing.ts";
import type { Api, FieldSpec, Shape } from "../../src/codec/schema.ts";
import { writeUuid } from "../../src/codec/uuid.ts";
import { ByteSink } from "./byte_sink.ts";

/** What a field is given when nothing is wrong with it; undefined leaves it to chance. `path` is like "topics.name". */
export type Values = (path: string, spec: FieldSpec, prng: Prng) => unknown;

export interface Written {
  /** The whole frame, its size in front. */
  readonly frame: Uint8Array<ArrayBuffer>;
  /** What was done to it, in words. */
  readonly faults: readonly string[];
}

/** Arrays of many elements are made until the frame has this much. */
const MOST_BYTES = 600_000;

const utf8 = new TextEncoder();

/** A frame of the API with `faultCount` faults somewhere in its header and fields. */
export function writeFrame(
  api: Api,
  version: number,
  values: Values,
  prng: Prng,
  { faultCount, correlationId }: { faultCount: number; correlationId: number },
): Written {
  const seed = prng.nextU32();
  const counting = new Pass(new Prng(seed), values, new Set());
  counting.frame(api, version, correlationId);
  const chosen = new Set<number>();
  for (let i = 0; i < faultCount; i++) chosen.add(prng.int(counting.fields));
  const writing = new Pass(new Prng(seed), values, chosen);
  return { frame: writing.frame(api, version, correlationId), faults: writing.faults };
}

const EXTREMES_8 = [0, 1, -1, 127, -128];
const EXTREMES_16 = [0, 1, -1, -2, 0x7fff, -0x8000, 1000];
const EXTREMES_32 = [0, 1, -1, -2, 0x7fffffff, -0x80000000, 0x7fff, 0x10000, 100_000_000, 0x7ffffffe];
const EXTREMES_64 = [
  0n,
  1n,
  -1n,
  -2n,
  -3n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  2n ** 53n,
  2n ** 53n - 1n,
  2n ** 31n,
  2n ** 32n,
];
const TEXTS = [
  "",
  "\0",
  ".",
  "..",
  "../../../etc/passwd",
  "a/b",
  "%s%n{}${x}",
  "\u202egnp.exe",
  // Not that of the offsets: to delete it is an administrator's right, and takes what others have committed.
  "__transaction_state",
  "__proto__",
  "constructor",
  "é".repeat(200),
  "x".repeat(249),
  "x".repeat(250),
  "x".repeat(32_767),
  "😀".repeat(5000),
];

function uuidBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(16);
  writeUuid(text, bytes, 0);
  return bytes;
}

/** One walk over a request. In the counting pass nothing is chosen and the bytes are thrown away. */
class Pass {
  readonly faults: string[] = [];
  fields = 0;
  private sink = new ByteSink();
  private version = 0;
  private flexible = false;

  constructor(
    private readonly prng: Prng,
    private readonly values: Values,
    private readonly chosen: ReadonlySet<number>,
  ) {}

  frame(api: Api, version: number, correlationId: number): Uint8Array<ArrayBuffer> {
    const { sink } = this;
    this.version = version;
    this.flexible = api.request.isFlexible(version);
    sink.int32(0);
    this.header(api, version, correlationId);
    this.struct("", api.request.fields);
    const bytes = sink.take();
    new DataView(bytes.buffer).setInt32(0, bytes.length - 4);
    return bytes;
  }

  /** A generator for this field alone, so that a fault changes nothing in what comes behind it. */
  private own(): Prng {
    return this.prng.fork();
  }

  /** Whether this field is one of the chosen; `what` it is goes into the report. */
  private isWrong(what: string): boolean {
    if (!this.chosen.has(this.fields++)) return false;
    this.faults.push(what);
    return true;
  }

  private header(api: Api, version: number, correlationId: number): void {
    const { sink } = this;
    const own = this.own();
    const wrongKey = this.isWrong("header.apiKey"), wrongVersion = this.isWrong("header.apiVersion");
    sink.int16(wrongKey ? own.pick([...EXTREMES_16, own.between(0, 95)]) : api.key);
    sink.int16(wrongVersion ? own.pick([...EXTREMES_16, own.between(0, 20)]) : version);
    sink.int32(correlationId);
    if (this.isWrong("header.clientId")) this.lyingLength(own, 3, false, 16);
    else if (own.chance(0.1)) sink.int16(-1);
    else this.text("fuzz", false);
    if (requestHeaderVersion(api, version) === 2) this.tags("header", []);
  }

  private struct(path: string, shape: Shape): void {
    const tagged: [number, string, FieldSpec][] = [];
    for (const [name, { spec }] of Object.entries(shape)) {
      if (this.version < spec.since || this.version > spec.until) continue;
      const fieldPath = path === "" ? name : `${path}.${name}`;
      if (spec.tag !== undefined && this.version >= spec.tag.from) {
        tagged.push([spec.tag.number, fieldPath, spec]);
      } else this.field(fieldPath, spec);
    }
    if (this.flexible) this.tags(path, tagged);
  }

  /** The tagged fields of a struct: some of those that there are, in order, and on a fault anything else. */
  private tags(path: string, known: [number, string, FieldSpec][]): void {
    const own = this.own(), { sink } = this;
    const given = known.filter(() => own.chance(0.3)).sort(([a], [b]) => a - b);
    const parts = given.map(([tag, fieldPath, spec]) => ({
      tag,
      data: this.apart(() => this.field(fieldPath, spec)),
    }));
    if (!this.isWrong(`${path} tags`)) return this.writeTags(parts, parts.length);
    const unknown = {
      tag: own.pick([0, 1, 7, 127, 128, 0x7fffffff, 0xffffffff]),
      data: own.bytes(own.int(40)),
    };
    switch (own.int(6)) {
      case 0:
        return this.writeTags([...parts, unknown].sort((a, b) => a.tag - b.tag), parts.length + 1);
      case 1:
        return this.writeTags([...parts, unknown, unknown], parts.length + 2);
      case 2:
        return this.writeTags([unknown, ...parts], parts.length + 1);
      case 3:
        return this.writeTags(parts, own.pick([1, 2, 127, 2 ** 31 - 1, 2 ** 32 - 1]));
      case 4: {
        // As many as a frame of that size may have, and more.
        const many = own.pick([100, 9_999, 20_000]);
        sink.unsignedVarint(many);
        for (let tag = 10; tag < 10 + many; tag++) {
          sink.unsignedVarint(tag);
          sink.unsignedVarint(0);
        }
        return;
      }
      default:
        sink.unsignedVarint(1);
        sink.unsignedVarint(unknown.tag);
        sink.unsignedVarint(own.pick([0, unknown.data.length + 1, 2 ** 31, 2 ** 32 - 1]));
        sink.raw(unknown.data);
    }
  }

  private writeTags(parts: readonly { tag: number; data: Uint8Array }[], count: number): void {
    this.sink.unsignedVarint(count);
    for (const { tag, data } of parts) {
      this.sink.unsignedVarint(tag);
      this.sink.unsignedVarint(data.length);
      this.sink.raw(data);
    }
  }

  private apart(write: () => void): Uint8Array {
    const { sink } = this;
    this.sink = new ByteSink();
    write();
    const bytes = this.sink.take();
    this.sink = sink;
    return bytes;
  }

  private field(path: string, spec: FieldSpec): void {
    const own = this.own();
    const wrong = this.isWrong(path);
    const value = this.values(path, spec, own);
    const compact = this.flexible && !spec.neverCompact;
    const mayBeNull = spec.nullable !== undefined && this.version >= spec.nullable[0];
    const isNull = wrong ? own.chance(0.15) : value === null && mayBeNull;
    switch (spec.kind) {
      case "array":
        return this.array(path, spec, own, wrong, isNull, value, compact);
      case "struct": {
        if (mayBeNull) {
          const mark = wrong ? own.pick(EXTREMES_8) : isNull || own.chance(0.3) ? -1 : 1;
          this.sink.int8(mark);
          if (mark === -1 || mark === 0) return;
        }
        return this.struct(path, spec.fields!);
      }
      case "string":
      case "bytes":
      case "records":
        return this.lengthy(spec, own, wrong, isNull, value, compact);
      default:
        return this.scalar(spec, own, wrong, value);
    }
  }

  private scalar({ kind, default: standard }: FieldSpec, own: Prng, wrong: boolean, value: unknown): void {
    const { sink } = this;
    const number = wrong ? undefined : (value ?? standard) as number | bigint | undefined;
    switch (kind) {
      case "int8":
        return sink.int8(Number(number ?? own.pick(EXTREMES_8)));
      case "bool":
        return sink.int8(wrong ? own.pick([2, -1, 0, 1]) : Number(number ?? own.chance()));
      case "int16":
      case "uint16":
        return sink.int16(Number(number ?? own.pick(EXTREMES_16)));
      case "int32":
        return sink.int32(Number(number ?? own.pick(EXTREMES_32)));
      case "int64":
        return sink.int64(BigInt(number ?? own.pick(EXTREMES_64)));
      case "float64":
        return sink.float64(Number(number ?? own.pick([0, NaN, Infinity, -1.5])));
      default:
        // A uuid.
        return sink.raw(wrong || value === undefined ? own.bytes(16) : uuidBytes(value as string));
    }
  }

  /** A string or bytes. A fault is in the length or in what it counts. */
  private lengthy(
    spec: FieldSpec,
    own: Prng,
    wrong: boolean,
    isNull: boolean,
    value: unknown,
    compact: boolean,
  ): void {
    const width = spec.kind === "string" ? 16 : 32;
    if (isNull) return this.size(-1, compact, width);
    if (wrong && own.chance()) return this.lyingLength(own, own.int(20), compact, width);
    if (spec.kind === "string") {
      const text = wrong ? own.pick(TEXTS) : (value ?? spec.default ?? own.pick(TEXTS)) as string;
      if (wrong && own.chance(0.2)) return this.sized(own.bytes(own.int(300)), compact, width);
      return this.text(text ?? "", compact);
    }
    const bytes = wrong
      ? own.bytes(own.pick([0, 1, 60, 61, 62, 500, 5000]))
      : (value ?? own.bytes(own.int(20))) as Uint8Array;
    this.sized(bytes, compact, width);
  }

  private array(
    path: string,
    spec: FieldSpec,
    own: Prng,
    wrong: boolean,
    isNull: boolean,
    value: unknown,
    compact: boolean,
  ): void {
    if (isNull) return this.size(-1, compact, 32);
    const element = spec.element!;
    const write = () =>
      element.fields !== undefined ? this.struct(path, element.fields) : this.field(`${path}[]`, element);
    const count = typeof value === "number" ? value : own.pick([0, 1, 1, 1, 1, 2, 3]);
    if (!wrong) {
      this.size(count, compact, 32);
      for (let i = 0; i < count; i++) write();
      return;
    }
    const elements = this.apart(() => {
      for (let i = 0; i < count; i++) write();
    });
    // One element over and over: a thousand partitions of one topic, the same one twice, and more than anybody has.
    const copies = own.pick([0, 0, 2, 2, 50, 3000, 30_000]);
    if (copies === 0 || elements.length === 0) {
      this.size(
        own.pick([count + 1, count - 1, -1, -2, 1000, 0x7fffffff, -0x80000000, 5_000_000]),
        compact,
        32,
      );
      this.sink.raw(elements);
      return;
    }
    const fit = Math.max(1, Math.min(copies, Math.floor(MOST_BYTES / elements.length)));
    this.size(count * fit, compact, 32);
    for (let i = 0; i < fit; i++) this.sink.raw(elements);
  }

  private size(length: number, compact: boolean, width: 16 | 32): void {
    if (compact) this.sink.unsignedVarint(BigInt.asUintN(32, BigInt(length) + 1n));
    else if (width === 16) this.sink.int16(length);
    else this.sink.int32(length);
  }

  private sized(bytes: Uint8Array, compact: boolean, width: 16 | 32): void {
    this.size(bytes.length, compact, width);
    this.sink.raw(bytes);
  }

  private text(text: string, compact: boolean): void {
    this.sized(utf8.encode(text), compact, 16);
  }

  /** A length that is not that of the `actual` bytes behind it. */
  private lyingLength(own: Prng, actual: number, compact: boolean, width: 16 | 32): void {
    if (compact && own.chance(0.2)) {
      // Varints that are longer than they may be, or than they need be.
      this.sink.raw(own.pick([Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x80, 1), Uint8Array.of(0x81, 0x80, 0)]));
    } else {
      this.size(own.pick([actual + 1, actual - 1, 0, -1, -2, 0x7fff, 0x7fffffff, 1_000_000]), compact, width);
    }
    this.sink.raw(own.bytes(actual));
  }
}
