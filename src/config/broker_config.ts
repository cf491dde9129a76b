/**
 * What the broker's settings are right now: defaults, below what was given at start, below what clients changed since
 * (KIP-226). Every change raises `revision`, so that holders of derived values know when to look again.
 */
import { brokerRows, type BrokerSettingName } from "./broker.ts";
import { configSource, invalidValue, type Setting, type Synonym, typeCode, type ValueOf } from "./setting.ts";

/** A value given at start, and by what: "server.properties", "TRACKWAY_NUM_PARTITIONS", "--set". */
export interface StaticValue {
  readonly text: string;
  readonly origin: string;
}

/** One value in the chain that DescribeConfigs shows as synonyms; `source` is its code. */
export interface DescribedSynonym {
  readonly name: string;
  readonly value: string | null;
  readonly source: number;
}

/** A setting as DescribeConfigs shows it; `source` and `type` are its codes. */
export interface DescribedSetting {
  readonly name: string;
  readonly value: string | null;
  readonly readOnly: boolean;
  readonly source: number;
  readonly sensitive: boolean;
  readonly synonyms: readonly DescribedSynonym[];
  readonly type: number;
  /** Null for a setting that nobody knows. */
  readonly doc: string | null;
}

/** What TypeScript sees as the value of a broker setting. */
export type BrokerValue<K extends BrokerSettingName> = ValueOf<typeof brokerRows[K]>;

/** Who set a value. */
export type BrokerSource = "default" | "static" | "dynamic-broker" | "dynamic-default";

interface Resolved {
  readonly value: unknown;
  readonly text: string | null;
}

/** The row of a broker setting, or undefined when there is no such setting. */
export function brokerRow(name: string): Setting<unknown> | undefined {
  return Object.hasOwn(brokerRows, name)
    ? brokerRows[name as BrokerSettingName] as Setting<unknown>
    : undefined;
}

/** The broker's settings. */
export class BrokerConfig {
  #revision = 0;
  #dynamicBroker: ReadonlyMap<string, string> = new Map();
  #dynamicDefault: ReadonlyMap<string, string> = new Map();
  readonly #resolved = new Map<string, Resolved>();

  /** `statics` holds what was given at start; values of known settings have been checked (see load.ts). */
  constructor(private readonly statics: ReadonlyMap<string, StaticValue> = new Map()) {}

  /** Grows with every change. */
  get revision(): number {
    return this.#revision;
  }

  /** The value in force: the setting's own, or a synonym's, or the default. */
  get<K extends BrokerSettingName>(name: K): BrokerValue<K> {
    // The row that parsed the value is the one that gives BrokerValue<K> its type.
    return this.#resolve(name).value as BrokerValue<K>;
  }

  /** The value in force as exact text; null when the setting is not set. Do not show it when it is sensitive. */
  text(name: BrokerSettingName): string | null {
    return this.#resolve(name).text;
  }

  /** Who set the setting under its own name. */
  source(name: BrokerSettingName): BrokerSource {
    if (this.#dynamicBroker.has(name)) return "dynamic-broker";
    if (this.#dynamicDefault.has(name)) return "dynamic-default";
    return this.statics.has(name) ? "static" : "default";
  }

  /** What gave the setting its value at start, for messages: "--set", a file's name, or "default". */
  origin(name: BrokerSettingName): string {
    return this.statics.get(name)?.origin ?? "default";
  }

  /**
   * Replaces what clients changed: for this broker, and for all brokers of the cluster. The values must have passed
   * `validateBrokerChange`; one that a newer release no longer allows is skipped and comes back as a line of text. Names
   * that nobody knows are kept: they belong to plug-ins in Kafka, and whoever set them wants to see them again. So are
   * texts as they were given, which the synonyms show.
   */
  setDynamic(broker: ReadonlyMap<string, string>, cluster: ReadonlyMap<string, string>): string[] {
    const problems: string[] = [];
    const kept = (values: ReadonlyMap<string, string>) => {
      const result = new Map<string, string>();
      for (const [name, text] of values) {
        const parsed = brokerRow(name)?.parse(text) ?? { text };
        if ("error" in parsed) problems.push(invalidValue(name, text, parsed));
        else result.set(name, text);
      }
      return result;
    };
    this.#dynamicBroker = kept(broker);
    this.#dynamicDefault = kept(cluster);
    this.#resolved.clear();
    this.#revision++;
    return problems;
  }

  /**
   * The settings as they would be with other values of clients, for this broker (`scope` "broker") or for all: what a
   * change is judged by before it is made.
   */
  changed(scope: "broker" | "cluster", values: ReadonlyMap<string, string>): BrokerConfig {
    const config = new BrokerConfig(this.statics);
    if (scope === "broker") config.setDynamic(values, this.#dynamicDefault);
    else config.setDynamic(this.#dynamicBroker, values);
    return config;
  }

  /** Every setting as DescribeConfigs shows it, or those named; names without a setting are left out. */
  describe(names?: readonly string[]): DescribedSetting[] {
    const listed = names ?? [...Object.keys(brokerRows), ...this.#unknownNames()];
    const result: DescribedSetting[] = [];
    for (const name of new Set(listed)) {
      const row = brokerRow(name);
      const isSet = this.#given(name) !== undefined;
      if (row && (isSet || !row.internal)) result.push(this.#describeRow(name, row));
      else if (!row && isSet) result.push(this.#describeUnknown(name));
    }
    return result;
  }

  /** What clients changed for all brokers of the cluster, as DescribeConfigs shows it for the broker named "". */
  describeClusterDefaults(names?: readonly string[]): DescribedSetting[] {
    const result: DescribedSetting[] = [];
    const source = configSource.dynamicDefaultBroker;
    for (const name of new Set(names ?? this.#dynamicDefault.keys())) {
      const text = this.#dynamicDefault.get(name);
      if (text === undefined) continue;
      const row = brokerRow(name);
      const value = !row || row.sensitive ? null : text;
      const basics = row ? describedBasics(name, row) : unknownBasics(name);
      result.push({ ...basics, value, source, synonyms: [{ name, value, source }] });
    }
    return result;
  }

  /**
   * The chain behind a setting as Kafka lists it: by level, and within a level by name, cut off before the setting's own
   * name. So a value that came from log.retention.hours shows an empty chain, as in Kafka.
   */
  synonyms(name: BrokerSettingName): DescribedSynonym[] {
    const row: Setting<unknown> = brokerRows[name] as Setting<unknown>;
    const names: string[] = [name, ...row.synonyms.map((synonym: Synonym) => synonym.name)];
    const shown = (text: string) => row.sensitive ? null : text;
    const chain: DescribedSynonym[] = [];
    const level = (source: number, value: (name: string) => string | null | undefined) => {
      for (const each of names) {
        const text = value(each);
        if (text !== null && text !== undefined) chain.push({ name: each, value: shown(text), source });
      }
    };
    level(configSource.dynamicBroker, (each) => this.#dynamicBroker.get(each));
    level(configSource.dynamicDefaultBroker, (each) => this.#dynamicDefault.get(each));
    level(configSource.staticBroker, (each) => this.statics.get(each)?.text);
    level(configSource.default, (each) => brokerRow(each)?.defaultText);
    const own = chain.findIndex((synonym) => synonym.name === name);
    return own < 0 ? [] : chain.slice(own);
  }

  #resolve(name: BrokerSettingName): Resolved {
    let resolved = this.#resolved.get(name);
    if (!resolved) {
      resolved = this.#resolveAnew(name);
      this.#resolved.set(name, resolved);
    }
    return resolved;
  }

  #resolveAnew(name: BrokerSettingName): Resolved {
    const row = brokerRow(name)!;
    const chain = [{ name: name as string, times: 1 }, ...row.synonyms];
    for (const synonym of chain) {
      const text = this.#given(synonym.name);
      if (text !== undefined) return scaled(row, text, synonym.times);
    }
    // Nothing is given, so the first default in the chain holds.
    for (const synonym of chain) {
      const text = brokerRow(synonym.name)?.defaultText;
      if (text !== null && text !== undefined) return scaled(row, text, synonym.times);
    }
    return { value: row.defaultValue, text: null };
  }

  #given(name: string): string | undefined {
    return this.#dynamicBroker.get(name) ?? this.#dynamicDefault.get(name) ?? this.statics.get(name)?.text;
  }

  #describeRow(name: string, row: Setting<unknown>): DescribedSetting {
    const synonyms = this.synonyms(name as BrokerSettingName);
    const given = this.#isOutdone(name) ? undefined : this.#given(name);
    const value = given === undefined ? row.defaultText : canonical(row, given);
    return {
      ...describedBasics(name, row),
      value: row.sensitive ? null : value,
      source: synonyms.length > 0 ? synonyms[0].source : configSource.default,
      synonyms,
    };
  }

  /** Whether a client set what the setting stands in for: Kafka then forgets what was given for it at start. */
  #isOutdone(name: string): boolean {
    return [this.#dynamicBroker, this.#dynamicDefault].some((values) =>
      [...values.keys()].some((each) => brokerRow(each)?.synonyms.some((synonym) => synonym.name === name))
    );
  }

  #describeUnknown(name: string): DescribedSetting {
    const synonyms: DescribedSynonym[] = [];
    const level = (source: number, has: boolean) => has && synonyms.push({ name, value: null, source });
    level(configSource.dynamicBroker, this.#dynamicBroker.has(name));
    level(configSource.dynamicDefaultBroker, this.#dynamicDefault.has(name));
    level(configSource.staticBroker, this.statics.has(name));
    return { ...unknownBasics(name), value: null, source: synonyms[0].source, synonyms };
  }

  #unknownNames(): string[] {
    const given = [...this.#dynamicBroker.keys(), ...this.#dynamicDefault.keys(), ...this.statics.keys()];
    return given.filter((name) => !brokerRow(name));
  }
}

function describedBasics(name: string, row: Setting<unknown>) {
  return {
    name,
    readOnly: row.update === "read-only",
    sensitive: row.sensitive,
    type: typeCode[row.type],
    doc: row.doc,
  };
}

/** Kafka shows a name that it does not know as if it were a secret, because it might be one. */
function unknownBasics(name: string) {
  return { name, readOnly: true, sensitive: true, type: 0, doc: null };
}

function canonical(row: Setting<unknown>, text: string): string {
  const parsed = row.parse(text);
  return "error" in parsed ? text : parsed.text;
}

/** Reads `text` through `row`. Of the spans of time that have a unit, whatever is below 0 is -1, "no limit". */
function scaled(row: Setting<unknown>, text: string, times: number): Resolved {
  const number = Number(text);
  const isSpan = row.synonyms.some((synonym) => synonym.times !== 1);
  const parsed = row.parse(isSpan && number < 0 ? "-1" : times === 1 ? text : String(number * times));
  return "error" in parsed ? { value: row.defaultValue, text: row.defaultText } : parsed;
}
