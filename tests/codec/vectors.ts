/**
 * Golden vectors: one line is a message, a version, its value as JSON and its bytes. A line is right when the bytes
 * decode to the JSON with nothing left over, and both the decoded value and the JSON encode to the bytes again.
 */
import { decodeHex, encodeHex } from "../../src/base/hex.ts";
import { apis } from "../../src/codec/apis.ts";
import * as headers from "../../src/codec/headers.ts";
import * as consumerGroups from "../../src/codec/records/consumer_groups.ts";
import * as consumerProtocol from "../../src/codec/records/consumer_protocol.ts";
import * as control from "../../src/codec/records/control.ts";
import * as offsets from "../../src/codec/records/offsets.ts";
import * as principal from "../../src/codec/records/principal.ts";
import * as shareGroups from "../../src/codec/records/share_groups.ts";
import * as shareState from "../../src/codec/records/share_state.ts";
import * as streamsGroups from "../../src/codec/records/streams_groups.ts";
import * as transactions from "../../src/codec/records/transactions.ts";
import { type FieldSpec, Message, type Shape, UNKNOWN_TAGS } from "../../src/codec/schema.ts";

/** Every declared message by name: requests, responses, headers and records. */
export const messages: ReadonlyMap<string, Message<Shape>> = new Map(
  [
    ...apis.flatMap((api) => [api.request, api.response]),
    ...[
      headers,
      consumerGroups,
      consumerProtocol,
      control,
      offsets,
      principal,
      shareGroups,
      shareState,
      streamsGroups,
      transactions,
    ].flatMap((module) => Object.values(module)),
  ].filter((m): m is Message<Shape> => m instanceof Message).map((m) => [m.name, m]),
);

/** One line of a vector file. */
export interface Vector {
  message: string;
  sample: string;
  version: number;
  flexible: boolean;
  unknownTaggedFields?: { tag: number; data: string }[];
  json: Record<string, unknown>;
  hex: string;
}

const toBase64 = (bytes: Uint8Array) => {
  let text = "";
  for (let i = 0; i < bytes.length; i += 4096) text += String.fromCharCode(...bytes.subarray(i, i + 4096));
  return btoa(text);
};
const fromBase64 = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

function present(spec: FieldSpec, version: number): boolean {
  return version >= spec.since && version <= spec.until;
}

function valueToJson(spec: FieldSpec, version: number, value: unknown): unknown {
  if (value === null) return null;
  switch (spec.kind) {
    case "int64":
      return String(value);
    case "bytes":
    case "records":
      return toBase64(value as Uint8Array);
    case "array":
      return (value as unknown[]).map((item) => valueToJson(spec.element!, version, item));
    case "struct":
      return toJson(spec.fields!, version, value as Record<string, unknown>);
    default:
      return value;
  }
}

/** A decoded value as the vectors write it: the fields of `version`, but not tagged ones at their default. */
export function toJson(
  shape: Shape,
  version: number,
  value: Record<string, unknown>,
): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [name, { spec }] of Object.entries(shape)) {
    if (present(spec, version)) json[name] = valueToJson(spec, version, value[name]);
  }
  return json;
}

function valueFromJson(spec: FieldSpec, json: unknown): unknown {
  if (json === null) return null;
  switch (spec.kind) {
    case "int64":
      return BigInt(json as string);
    case "bytes":
    case "records":
      return fromBase64(json as string);
    case "array":
      return (json as unknown[]).map((item) => valueFromJson(spec.element!, item));
    case "struct":
      return fromJson(spec.fields!, json as Record<string, unknown>);
    default:
      return json;
  }
}

/** The value that {@link toJson} made `json` of. */
export function fromJson(shape: Shape, json: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(json).map(([name, item]) => {
      if (shape[name] === undefined) throw new Error(`no field ${name}`);
      return [name, valueFromJson(shape[name].spec, item)];
    }),
  );
}

/** Whether `actual` is `expected`, where a key that `expected` lacks must be a tagged field at its default. */
function difference(
  shape: Shape,
  version: number,
  actual: unknown,
  expected: unknown,
  path: string,
): string | null {
  for (const [name, { spec }] of Object.entries(shape)) {
    const a = (actual as Record<string, unknown>)[name], e = (expected as Record<string, unknown>)[name];
    if (!present(spec, version)) {
      if (e !== undefined) return `${path}.${name} is not in version ${version} here`;
      continue;
    }
    if (e === undefined) {
      if (!spec.tag) return `${path}.${name} is not in version ${version} of the vector`;
      continue;
    }
    const inner = compare(spec, version, a, e, `${path}.${name}`);
    if (inner) return inner;
  }
  return null;
}

function compare(spec: FieldSpec, version: number, a: unknown, e: unknown, path: string): string | null {
  if (a === null || e === null) return a === e ? null : `${path} is ${a}, the vector has ${e}`;
  if (spec.kind === "struct") return difference(spec.fields!, version, a, e, path);
  if (spec.kind === "array") {
    const as = a as unknown[], es = e as unknown[];
    if (as.length !== es.length) return `${path} has ${as.length} elements, the vector ${es.length}`;
    for (let i = 0; i < as.length; i++) {
      const inner = compare(spec.element!, version, as[i], es[i], `${path}[${i}]`);
      if (inner) return inner;
    }
    return null;
  }
  return Object.is(a, e) ? null : `${path} is ${a}, the vector has ${e}`;
}

/** Checks one line; gives what is wrong with it, or null. */
export function checkVector(vector: Vector): string | null {
  const message = messages.get(vector.message);
  if (message === undefined) return `no declaration named ${vector.message}`;
  const { version } = vector;
  if (version < message.versions[0] || version > message.versions[1]) {
    return `version ${version} is not declared (${message.versions[0]} to ${message.versions[1]})`;
  }
  if (message.isFlexible(version) !== vector.flexible) return `flexible is ${message.isFlexible(version)}`;
  try {
    const decoded = message.decode(decodeHex(vector.hex), version);
    const wrong = difference(
      message.fields,
      version,
      toJson(message.fields, version, decoded),
      vector.json,
      "",
    );
    if (wrong) return wrong;
    const again = encodeHex(message.encode(version, decoded as never));
    if (again !== vector.hex) return `decoded and encoded again it is ${again}`;
    const value: Record<string | symbol, unknown> = fromJson(message.fields, vector.json);
    if (vector.unknownTaggedFields) {
      value[UNKNOWN_TAGS] = vector.unknownTaggedFields.map(({ tag, data }) => ({
        tag,
        data: fromBase64(data),
      }));
    }
    const encoded = encodeHex(message.encode(version, value as never));
    return encoded === vector.hex ? null : `its JSON encodes to ${encoded}`;
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}
