/**
 * Message specs in Kafka's JSON form, as far as the conformance test needs them: which fields a version has, of
 * which type, nullable, tagged or not. The specs are not part of the project; the test runs where they are at hand.
 */
import type { FieldSpec, Message, Shape } from "../../src/codec/schema.ts";

interface SpecField {
  name: string;
  type: string;
  versions?: string;
  nullableVersions?: string;
  taggedVersions?: string;
  flexibleVersions?: string;
  tag?: number;
  default?: unknown;
  fields?: SpecField[];
}

export interface Spec {
  name: string;
  apiKey?: number;
  validVersions: string;
  flexibleVersions: string;
  fields: SpecField[];
  commonStructs?: { name: string; fields: SpecField[] }[];
}

/** Reads one spec file: JSON with line comments. */
export function readSpec(path: string | URL): Spec {
  return JSON.parse(Deno.readTextFileSync(path).replace(/^\s*\/\/.*$/gm, ""));
}

/** "3+", "2-7" or "5" as a span; null for "none" and for nothing. */
export function span(text: string | undefined): [first: number, last: number] | null {
  if (text === undefined || text === "none") return null;
  const match = /^(\d+)(?:(\+)|-(\d+))?$/.exec(text.trim());
  if (match === null) throw new Error(`cannot read the versions "${text}"`);
  return [Number(match[1]), match[2] ? 0x7fff : Number(match[3] ?? match[1])];
}

const within = (version: number, s: [number, number] | null) =>
  s !== null && version >= s[0] && version <= s[1];

/** A field in one version, in the same words for both sides. */
interface Line {
  path: string;
  type: string;
  nullable: boolean;
  tag: number | null;
  default: string;
}

function specLines(spec: Spec, fields: SpecField[], version: number, path: string, lines: Line[]): void {
  for (const field of fields) {
    if (!within(version, span(field.versions ?? field.taggedVersions))) continue;
    const name = `${path}.${field.name[0].toLowerCase()}${field.name.slice(1)}`;
    const structName = field.type.replace("[]", "");
    const inner = field.fields ?? spec.commonStructs?.find((c) => c.name === structName)?.fields;
    const type = inner === undefined ? field.type : field.type.startsWith("[]") ? "[]struct" : "struct";
    lines.push({
      path: name,
      type,
      nullable: within(version, span(field.nullableVersions)),
      tag: within(version, span(field.taggedVersions)) ? field.tag! : null,
      default: specDefault(field),
    });
    if (inner !== undefined) specLines(spec, inner, version, name, lines);
  }
}

function specDefault(field: SpecField): string {
  // A JSON null is no default: the zero value of the type holds.
  if (field.default === undefined || field.default === null) return "zero";
  if (/^u?int/.test(field.type)) {
    return BigInt(field.default as string) === 0n ? "zero" : String(BigInt(field.default as string));
  }
  if (field.type === "bool") return String(field.default).toLowerCase() === "true" ? "true" : "zero";
  return field.default === "" ? "zero" : String(field.default);
}

function declaredLines(shape: Shape, version: number, path: string, lines: Line[]): void {
  for (const [key, { spec }] of Object.entries(shape)) {
    if (version < spec.since || version > spec.until) continue;
    const name = `${path}.${key}`;
    const inner = spec.kind === "array" ? spec.element! : spec;
    lines.push({
      path: name,
      type: spec.kind === "array" ? `[]${inner.kind}` : spec.kind,
      nullable: spec.nullable !== undefined && version >= spec.nullable[0] && version <= spec.nullable[1],
      tag: spec.tag !== undefined && version >= spec.tag.from ? spec.tag.number : null,
      default: declaredDefault(spec),
    });
    if (inner.kind === "struct") declaredLines(inner.fields!, version, name, lines);
  }
}

function declaredDefault({ default: value }: FieldSpec): string {
  return value === undefined || value === 0 || value === 0n || value === false || value === ""
    ? "zero"
    : String(value);
}

/** Defaults that Trackway adds so that handlers need not write them out; the wire does not change by them. */
const writesByItself = new Set(["errorMessage", "statusDetails"]);

/** What `message` says of `version` other than the spec: lines that only one of the two has. */
export function differences(spec: Spec, message: Message<Shape>, version: number): string[] {
  const expected: Line[] = [], actual: Line[] = [];
  specLines(spec, spec.fields, version, spec.name, expected);
  declaredLines(message.fields, version, spec.name, actual);
  const text = (line: Line) => {
    const free = line.default === "null" &&
      writesByItself.has(line.path.slice(line.path.lastIndexOf(".") + 1));
    return JSON.stringify(free ? { ...line, default: "zero" } : line);
  };
  const wanted = expected.map(text), declared = actual.map(text);
  const missing = wanted.filter((l) => !declared.includes(l)).map((l) => `v${version} lacks ${l}`);
  const added = declared.filter((l) => !wanted.includes(l)).map((l) => `v${version} adds ${l}`);
  if (missing.length + added.length > 0) return [...missing, ...added];
  return wanted.join() === declared.join() ? [] : [`v${version} has its fields in another order`];
}
