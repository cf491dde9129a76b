/**
 * The vocabulary of the settings tables: one call makes one row, and the row's TypeScript type follows from the call.
 * A `long` may hold 2^63-1: its text stays exact, its number saturates at Number.MAX_SAFE_INTEGER.
 */
import { assert } from "../base/assert.ts";

/** Kafka's value types. */
export type SettingType =
  | "boolean"
  | "string"
  | "int"
  | "short"
  | "long"
  | "double"
  | "list"
  | "class"
  | "password";

/** The value types' codes in DescribeConfigs from v3 on; 0 is "unknown". */
export const typeCode: Readonly<Record<SettingType, number>> = {
  boolean: 1,
  string: 2,
  int: 3,
  short: 4,
  long: 5,
  double: 6,
  list: 7,
  class: 8,
  password: 9,
};

/** Where a value comes from, as DescribeConfigs codes it. */
export const configSource = {
  topic: 1,
  dynamicBroker: 2,
  dynamicDefaultBroker: 3,
  staticBroker: 4,
  default: 5,
  brokerLogger: 6,
  clientMetrics: 7,
  group: 8,
} as const;

/** How a broker setting may change while the broker runs. Settings of topics and groups always may. */
export type UpdateMode = "read-only" | "per-broker" | "cluster-wide";

/** A value read from text with its canonical text (` 007` is `7`), or why there is none. */
export type Parsed<T> = { readonly value: T; readonly text: string } | Unparsable;

/** Why a text is no value of a setting, in Kafka's words: tools print them, and scripts look for them. */
export interface Unparsable {
  readonly error: string;
  /** The value as the message shows it; the given text when left out. */
  readonly shown?: string;
  /** The whole message, where it is not of the usual form. */
  readonly sentence?: (name: string) => string;
}

/** Why settings are refused, with the code that a client gets. */
export interface SettingProblem {
  readonly errorCode: number;
  readonly errorMessage: string;
}

/** Another setting that answers when a setting is not set; its number is multiplied by `times`. */
export interface Synonym {
  readonly name: string;
  readonly times: number;
}

/** One row of a settings table. */
export interface Setting<T> {
  readonly type: SettingType;
  /** What Kafka shows as the default; null for a setting that is not set. */
  readonly defaultText: string | null;
  readonly defaultValue: T;
  readonly update: UpdateMode;
  /** Never shown to anybody. */
  readonly sensitive: boolean;
  /** Not listed unless it is set. */
  readonly internal: boolean;
  /** Accepted because files and tools carry it; changes nothing here. `doc` says why. */
  readonly unused: boolean;
  readonly synonyms: readonly Synonym[];
  readonly doc: string;
  /** Reads a value as Java's ConfigDef does: white space around it is dropped. */
  parse(text: string): Parsed<T>;
}

/** A settings table: rows by name, in the order in which they are listed. */
// `any`: rows of all value types share a table, and Setting<unknown> would not accept them.
// deno-lint-ignore no-explicit-any
export type SettingTable = Readonly<Record<string, Setting<any>>>;

/** The value type of a row. */
export type ValueOf<S> = S extends Setting<infer T> ? T : never;

interface Common {
  readonly doc: string;
  readonly update?: UpdateMode;
  readonly internal?: boolean;
  readonly unused?: boolean;
  /** Settings that answer when this one is not set, first the one that wins. */
  readonly from?: readonly (string | Synonym)[];
}

interface NumberOptions extends Common {
  /** The default: a text where a number would not be exact, null where "not set" is a state of its own. */
  readonly or?: number | string | null;
  readonly min?: number;
  readonly max?: number;
  /** One more value outside of the range, such as -1 for "no limit". */
  readonly also?: number;
}

interface TextOptions extends Common {
  readonly or?: string | null;
  readonly oneOf?: readonly string[];
  readonly ignoreCase?: boolean;
}

interface ListOptions extends Common {
  readonly or?: string | null;
  readonly oneOf?: readonly string[];
  /** Says what is allowed instead, when the elements are not. */
  readonly check?: (elements: readonly string[]) => string | null;
  /** What becomes of an element that comes twice, and of one that is empty: the first is dropped and the other refused. */
  readonly odd?: "refused" | "kept";
}

type OrNull<V, O> = O extends { readonly or: null } ? V | null : V;
type Text<O> = O extends { readonly oneOf: readonly (infer S extends string)[] } ? S : string;

/** `true` or `false`, in any case. */
export function boolean(options: Common & { readonly or: boolean }): Setting<boolean> {
  return row<boolean>("boolean", options, String(options.or), (text) => {
    const lower = text.toLowerCase();
    if (lower === "true") return { value: true, text: lower };
    if (lower === "false") return { value: false, text: lower };
    return { error: "Expected value to be either true or false" };
  });
}

/** A whole number of 32 bits. */
export function int<const O extends NumberOptions>(options: O): Setting<OrNull<number, O>> {
  return whole("int", options, -(2n ** 31n), 2n ** 31n - 1n);
}

/** A whole number of 16 bits. */
export function short<const O extends NumberOptions>(options: O): Setting<OrNull<number, O>> {
  return whole("short", options, -(2n ** 15n), 2n ** 15n - 1n);
}

/** A whole number of 64 bits; see the file's head for what happens beyond 2^53. */
export function long<const O extends NumberOptions>(options: O): Setting<OrNull<number, O>> {
  return whole("long", options, -(2n ** 63n), 2n ** 63n - 1n);
}

/** A floating-point number, shown as Java shows it. */
export function double(options: NumberOptions & { readonly or: number }): Setting<number> {
  return row<number>("double", options, javaDouble(options.or), (text) => {
    const value = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?$/.test(text) ? parseFloat(text) : NaN;
    if (!Number.isFinite(value)) return { error: "Not a number of type DOUBLE" };
    const canonical = javaDouble(value);
    const error = outOfRange(value, options);
    return error === null ? { value, text: canonical } : { error, shown: canonical };
  });
}

/** A text, or one of a few. */
export function string<const O extends TextOptions>(options: O): Setting<OrNull<Text<O>, O>> {
  return text("string", options);
}

/** The name of a Java class: Trackway loads none, so only the text matters. */
export function javaClass<const O extends TextOptions>(options: O): Setting<OrNull<string, O>> {
  return text("class", options);
}

/** A secret: kept, never shown. */
export function password(options: Common): Setting<string | null> {
  return row<string | null>("password", options, null, (value) => ({ value, text: value }));
}

/** Texts between commas, each once. An empty text is an empty list. */
export function list<const O extends ListOptions>(options: O): Setting<OrNull<readonly Text<O>[], O>> {
  const { oneOf, check, odd: oddOnes } = options;
  // The elements are checked against oneOf below, which the type system cannot see.
  return row<never>("list", options, options.or ?? null, (value) => {
    const given = value === "" ? [] : value.split(/\s*,\s*/);
    const elements = oddOnes === "kept" ? given : [...new Set(given)];
    if (oddOnes !== "kept" && elements.includes("")) {
      return sentence((name) => `Configuration '${name}' values must not be empty.`);
    }
    if (oddOnes === "refused" && elements.length < given.length) {
      return sentence((name) => `Configuration '${name}' values must not be duplicated.`);
    }
    const odd = oneOf && elements.find((element) => !oneOf.includes(element));
    if (odd !== undefined) return { error: oneOfText(oneOf!), shown: odd };
    const error = check?.(elements);
    if (error) return { error, shown: `[${elements.join(", ")}]` };
    return { value: elements as never, text: elements.join(",") };
  });
}

/** A synonym that counts in hours what the setting counts in milliseconds. */
export function hours(name: string): Synonym {
  return { name, times: 3_600_000 };
}

/** A synonym that counts in minutes what the setting counts in milliseconds. */
export function minutes(name: string): Synonym {
  return { name, times: 60_000 };
}

/** One line for a refused value, fit for a client and for a terminal. */
export function invalidValue(name: string, text: string, why: Unparsable): string {
  return why.sentence?.(name) ?? `Invalid value ${why.shown ?? text} for configuration ${name}: ${why.error}`;
}

/** What {@link invalidValue} says of the first value that its row refuses, in the order of the table; null when there is none. */
export function firstInvalidValue(rows: SettingTable, values: ReadonlyMap<string, string>): string | null {
  for (const [name, row] of Object.entries(rows)) {
    const text = values.get(name);
    if (text === undefined) continue;
    const parsed = row.parse(text);
    if ("error" in parsed) return invalidValue(name, text, parsed);
  }
  return null;
}

/** Java's Double.toString, so that a described 0.5 or 1.7976931348623157E308 reads as tools expect. */
export function javaDouble(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-3 && size < 1e7)) return Number.isInteger(value) ? `${value}.0` : `${value}`;
  const [digits, exponent] = value.toExponential().split("e");
  return `${digits.includes(".") ? digits : `${digits}.0`}E${Number(exponent)}`;
}

function whole<T>(type: "int" | "short" | "long", options: NumberOptions, lowest: bigint, highest: bigint) {
  return row<T>(
    type,
    options,
    options.or === undefined || options.or === null ? null : `${options.or}`,
    (text) => {
      const exact = /^[+-]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, "")) : null;
      if (exact === null || exact < lowest || exact > highest) {
        return { error: `Not a number of type ${type.toUpperCase()}` };
      }
      const value = saturated(exact);
      const error = outOfRange(value, options);
      return error === null ? { value: value as T, text: `${exact}` } : { error, shown: `${exact}` };
    },
  );
}

function text<T>(type: "string" | "class", options: TextOptions) {
  const { oneOf, ignoreCase } = options;
  return row<T>(type, options, options.or ?? null, (given) => {
    const value = ignoreCase ? given.toLowerCase() : given;
    if (oneOf && !oneOf.includes(value)) return { error: oneOfText(oneOf) };
    return { value: value as T, text: value };
  });
}

function oneOfText(choices: readonly string[]): string {
  return `String must be one of: ${choices.join(", ")}`;
}

function sentence(text: (name: string) => string): Unparsable {
  return { error: text("value"), sentence: text };
}

function row<T>(
  type: SettingType,
  options: Common,
  defaultText: string | null,
  parseTrimmed: (text: string) => Parsed<T>,
): Setting<T> {
  let defaultValue = null as T;
  if (defaultText !== null) {
    const parsed = parseTrimmed(defaultText);
    assert(!("error" in parsed), `default ${defaultText} of a setting is not allowed by its own row`);
    defaultValue = parsed.value;
  }
  return {
    type,
    defaultText,
    defaultValue,
    update: options.update ?? "read-only",
    sensitive: type === "password",
    internal: options.internal ?? false,
    unused: options.unused ?? false,
    synonyms: (options.from ?? []).map((s) => typeof s === "string" ? { name: s, times: 1 } : s),
    doc: options.doc,
    parse: (given) => parseTrimmed(given.trim()),
  };
}

function saturated(exact: bigint): number {
  if (exact > BigInt(Number.MAX_SAFE_INTEGER)) return Number.MAX_SAFE_INTEGER;
  if (exact < BigInt(Number.MIN_SAFE_INTEGER)) return Number.MIN_SAFE_INTEGER;
  return Number(exact);
}

/** Says what the range is when the value is outside of it. */
function outOfRange(value: number, { min, max, also }: NumberOptions): string | null {
  if (value === also) return null;
  const [below, above] = [min !== undefined && value < min, max !== undefined && value > max];
  if (!below && !above) return null;
  if (also !== undefined) return `Value must be between ${min} and ${max} or equal to ${also}`;
  return below ? `Value must be at least ${min}` : `Value must be no more than ${max}`;
}
