/**
 * A client metrics subscription (KIP-714): what clients are asked to send, how often, and which clients. Nothing is
 * inherited from the broker: what is not set has its default.
 */
import { type WholePattern, wholePattern } from "../base/linear_pattern.ts";
import { ErrorCode } from "../codec/errors.ts";
import type { DescribedSetting } from "./broker_config.ts";
import { configSource, firstInvalidValue, int, list, type SettingProblem, typeCode } from "./setting.ts";

const MIN_INTERVAL_MS = 100;
const MAX_INTERVAL_MS = 3_600_000;
/** How often clients send, and how often they ask again that are asked for nothing. */
export const DEFAULT_INTERVAL_MS = 300_000;

/** Every setting that a subscription can have. */
export const clientMetricsRows = {
  "metrics": list({
    or: "",
    doc: "Beginnings of the names of the metrics that are asked for; * for all, nothing for none.",
  }),
  "interval.ms": int({
    or: DEFAULT_INTERVAL_MS,
    doc: `How often the clients send their metrics: from ${MIN_INTERVAL_MS} to ${MAX_INTERVAL_MS}.`,
  }),
  "match": list({
    or: "",
    doc: "Which clients send them, as name=regular expression; all clients where nothing is said.",
  }),
};

/** Of what is held against a pattern: all subscriptions' patterns may be, at a request of a few bytes. */
export const MAX_MATCHED_LENGTH = 255;

/** What of a client a subscription can look at. */
export const clientMatchNames = [
  "client_instance_id",
  "client_id",
  "client_software_name",
  "client_software_version",
  "client_source_address",
  "client_source_port",
] as const;

/** See {@link clientMatchNames}. */
export type ClientMatchName = typeof clientMatchNames[number];

/** A subscription as it is in force; `overrides` must have passed {@link validateClientMetrics}. */
export class ClientMetricsSettings {
  readonly intervalMs: number;
  /** Beginnings of metrics' names; `["*"]` asks for all. */
  readonly metrics: readonly string[];
  /** A client is meant when all of these match as a whole. */
  readonly match: ReadonlyMap<ClientMatchName, WholePattern>;

  constructor(private readonly overrides: ReadonlyMap<string, string>) {
    this.intervalMs = this.#value("interval.ms");
    this.metrics = this.#value("metrics");
    this.match = new Map();
    for (const pattern of this.#value<readonly string[]>("match")) {
      const parsed = parsePattern(pattern);
      if (parsed !== null) (this.match as Map<ClientMatchName, WholePattern>).set(...parsed);
    }
  }

  /** Every setting as DescribeConfigs shows it, or those named. */
  describe(names?: readonly string[]): DescribedSetting[] {
    const shown = Object.keys(clientMetricsRows) as (keyof typeof clientMetricsRows)[];
    return shown.filter((name) => names === undefined || names.includes(name)).map((name) => {
      const row = clientMetricsRows[name];
      const override = this.overrides.get(name);
      const parsed = override === undefined ? null : row.parse(override);
      const isSet = parsed !== null && !("error" in parsed);
      const value = isSet ? parsed.text : row.defaultText;
      const source = isSet ? configSource.clientMetrics : configSource.default;
      const synonyms = isSet ? [{ name, value, source }] : [];
      const type = typeCode[row.type];
      return { name, value, readOnly: false, source, sensitive: false, synonyms, type, doc: row.doc };
    });
  }

  /** A value that a newer release no longer allows counts as not set. */
  #value<T>(name: keyof typeof clientMetricsRows): T {
    const row = clientMetricsRows[name];
    const parsed = row.parse(this.overrides.get(name) ?? row.defaultText!);
    return ("error" in parsed ? row.defaultValue : parsed.value) as T;
  }
}

/** Why a subscription cannot have these settings; null when it can. */
export function validateClientMetrics(overrides: ReadonlyMap<string, string>): SettingProblem | null {
  for (const name of overrides.keys()) {
    if (!Object.hasOwn(clientMetricsRows, name)) {
      return problem(ErrorCode.INVALID_REQUEST, `Unknown client metrics configuration: ${name}`);
    }
  }
  const invalid = firstInvalidValue(clientMetricsRows, overrides);
  if (invalid !== null) return problem(ErrorCode.INVALID_CONFIG, invalid);
  const { intervalMs } = new ClientMetricsSettings(overrides);
  if (intervalMs < MIN_INTERVAL_MS || intervalMs > MAX_INTERVAL_MS) {
    return problem(
      ErrorCode.INVALID_REQUEST,
      `Invalid value ${intervalMs} for interval.ms, interval must be between ${MIN_INTERVAL_MS} and ` +
        `${MAX_INTERVAL_MS} (1 hour)`,
    );
  }
  const match = clientMetricsRows.match.parse(overrides.get("match") ?? "");
  const odd = "error" in match ? undefined : match.value.find((pattern) => parsePattern(pattern) === null);
  if (odd === undefined) return null;
  return problem(ErrorCode.INVALID_CONFIG, `Illegal client matching pattern: ${odd}`);
}

/** `client_id=app-.*` in its two parts; null when it is not of that form. */
function parsePattern(pattern: string): [ClientMatchName, WholePattern] | null {
  const parts = pattern.split("=").map((part) => part.trim());
  const name = clientMatchNames.find((each) => each === parts[0]);
  if (parts.length !== 2 || name === undefined || parts[1] === "") return null;
  const compiled = wholePattern(parts[1]);
  return compiled === null ? null : [name, compiled];
}

function problem(errorCode: number, errorMessage: string): SettingProblem {
  return { errorCode, errorMessage };
}
