/**
 * The settings of one topic or one group: its own overrides above the broker's settings. The overrides are text as they
 * are stored; what a row makes of them is kept, and read again when the broker's settings change.
 */
import type { BrokerSettingName } from "./broker.ts";
import type { BrokerConfig, DescribedSetting, DescribedSynonym } from "./broker_config.ts";
import { groupRows } from "./group.ts";
import {
  configSource,
  firstInvalidValue,
  type Parsed,
  type Setting,
  type SettingTable,
  typeCode,
  type ValueOf,
} from "./setting.ts";
import { topicRows } from "./topic.ts";

/** What topics and groups have in common; see {@link TopicSettings} and {@link GroupSettings}. */
class ResourceSettings<Rows extends object> {
  readonly #values = new Map<keyof Rows, unknown>();
  #revision = -1;

  /** `source` is the code that DescribeConfigs gives an override. */
  constructor(
    private readonly rows: Rows,
    readonly overrides: ReadonlyMap<string, string>,
    private readonly broker: BrokerConfig,
    private readonly source: number,
  ) {}

  /** The value in force. Cheap enough for every request. */
  get<K extends keyof Rows & string>(name: K): ValueOf<Rows[K]> {
    if (this.#revision !== this.broker.revision) {
      this.#values.clear();
      this.#revision = this.broker.revision;
    }
    let value = this.#values.get(name);
    if (value === undefined) {
      value = this.resolve(name).value;
      this.#values.set(name, value);
    }
    // The row that parsed the value is the one that gives ValueOf its type.
    return value as ValueOf<Rows[K]>;
  }

  /** Every setting as DescribeConfigs shows it, or those named; internal ones only when they are set. */
  describe(names?: readonly string[]): DescribedSetting[] {
    const result: DescribedSetting[] = [];
    for (const name of new Set(names ?? Object.keys(this.rows))) {
      if (!Object.hasOwn(this.rows, name)) continue;
      const row = this.row(name);
      if (row.internal && !this.overrides.has(name)) continue;
      result.push(this.#describeRow(name, row));
    }
    return result;
  }

  /** The value in force with its exact text. An override that no longer passes its row counts as not set. */
  protected resolve(name: string): { value: unknown; text: string | null } {
    const row = this.row(name);
    const override = this.overrides.get(name);
    const parsed: Parsed<unknown> | undefined = override === undefined ? undefined : row.parse(override);
    if (parsed && !("error" in parsed)) return parsed;
    const [synonym] = row.synonyms;
    const text = synonym === undefined ? null : this.broker.text(synonym.name as BrokerSettingName);
    const inherited = text === null ? undefined : row.parse(text);
    if (inherited && !("error" in inherited)) return inherited;
    return { value: row.defaultValue, text: row.defaultText };
  }

  protected row(name: string): Setting<unknown> {
    return (this.rows as Record<string, Setting<unknown>>)[name];
  }

  #describeRow(name: string, row: Setting<unknown>): DescribedSetting {
    const value = row.sensitive ? null : this.resolve(name).text;
    const synonyms = this.#synonyms(name, row, value);
    return {
      name,
      value,
      readOnly: false,
      source: synonyms.length > 0 ? synonyms[0].source : configSource.default,
      sensitive: row.sensitive,
      synonyms,
      type: typeCode[row.type],
      doc: row.doc,
    };
  }

  #synonyms(name: string, row: Setting<unknown>, value: string | null): DescribedSynonym[] {
    const [synonym] = row.synonyms;
    const inherited = synonym === undefined
      ? this.defaultSynonym(name, row)
      : this.#brokerSynonyms(synonym.name);
    return this.overrides.has(name) ? [{ name, value, source: this.source }, ...inherited] : inherited;
  }

  /** What stands at the end of the chain of a setting that no broker setting answers for. */
  protected defaultSynonym(_name: string, _row: Setting<unknown>): DescribedSynonym[] {
    return [];
  }

  #brokerSynonyms(name: string): DescribedSynonym[] {
    return this.broker.synonyms(name as BrokerSettingName);
  }
}

/** The settings of a topic: its overrides, the broker's settings, the defaults. */
export class TopicSettings extends ResourceSettings<typeof topicRows> {
  constructor(overrides: ReadonlyMap<string, string>, broker: BrokerConfig) {
    super(topicRows, overrides, broker, configSource.topic);
  }

  /** Size at which a segment rolls: segment.bytes, or the internal setting that lets tests go below its lower limit. */
  get segmentBytes(): number {
    return this.get("internal.segment.bytes") ?? this.get("segment.bytes");
  }
}

/** The settings of a group: its overrides, the broker's settings, the defaults. */
export class GroupSettings extends ResourceSettings<typeof groupRows> {
  constructor(overrides: ReadonlyMap<string, string>, broker: BrokerConfig) {
    super(groupRows, overrides, broker, configSource.group);
  }

  /** Kafka lists a group setting that stands alone as its own default; of a topic's it lists nothing. */
  protected override defaultSynonym(name: string, row: Setting<unknown>): DescribedSynonym[] {
    return row.defaultText === null ? [] : [{ name, value: row.defaultText, source: configSource.default }];
  }
}

/**
 * Why a topic cannot have these overrides together, in one line; null when it can. Looks for names that no topic has, then
 * at each value in the order of the table, then at pairs, with the broker's settings for what is not overridden.
 */
export function validateTopicSettings(
  overrides: ReadonlyMap<string, string>,
  broker: BrokerConfig,
): string | null {
  const problem = unknownName("topic", topicRows, overrides) ?? firstInvalidValue(topicRows, overrides);
  if (problem !== null) return problem;
  const settings = new TopicSettings(overrides, broker);
  if (settings.get("remote.storage.enable")) {
    return "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.";
  }
  const [min, max] = [settings.get("min.compaction.lag.ms"), settings.get("max.compaction.lag.ms")];
  if (min > max) {
    return `conflict topic config setting min.compaction.lag.ms (${min}) > max.compaction.lag.ms (${max})`;
  }
  return null;
}

/** The broker settings that hold the bounds of a group's: least, most; null for no such bound. */
const groupBounds: Partial<Record<string, readonly [BrokerSettingName | null, BrokerSettingName | null]>> = {
  ...Object.fromEntries(
    (["consumer", "share", "streams"] as const).flatMap((kind) =>
      (["session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"] as const).map((what) =>
        [`${kind}.${what}`, [`group.${kind}.min.${what}`, `group.${kind}.max.${what}`] as const] as const
      )
    ),
  ),
  "share.record.lock.duration.ms": [
    "group.share.min.record.lock.duration.ms",
    "group.share.max.record.lock.duration.ms",
  ],
  "share.delivery.count.limit": [
    "group.share.min.delivery.count.limit",
    "group.share.max.delivery.count.limit",
  ],
  "share.partition.max.record.locks": [
    "group.share.min.partition.max.record.locks",
    "group.share.max.partition.max.record.locks",
  ],
  "streams.num.standby.replicas": [null, "group.streams.max.standby.replicas"],
  "streams.task.offset.interval.ms": ["group.streams.min.task.offset.interval.ms", null],
  "streams.num.warmup.replicas": [null, "group.streams.max.warmup.replicas"],
};

/** As {@link validateTopicSettings}, for a group; the broker's min and max settings bound what a group may ask for. */
export function validateGroupSettings(
  overrides: ReadonlyMap<string, string>,
  broker: BrokerConfig,
): string | null {
  const problem = unknownName("group", groupRows, overrides) ?? tagsTwice(overrides) ??
    firstInvalidValue(groupRows, overrides);
  if (problem !== null) return problem;
  const settings = new GroupSettings(overrides, broker);
  for (const name of Object.keys(groupRows) as (keyof typeof groupRows)[]) {
    const bounds = groupBounds[name];
    if (bounds === undefined || !overrides.has(name)) continue;
    const [lowest, highest] = bounds;
    const value = Number(settings.get(name));
    const min = lowest === null ? -Infinity : Number(broker.get(lowest));
    const max = highest === null ? Infinity : Number(broker.get(highest));
    if (value >= min && value <= max) continue;
    if (lowest === null) return `${name} must be less than or equal to ${max}`;
    if (highest === null) return `${name} must be greater than or equal to ${min}`;
    return `${name} must be in the range ${min} to ${max} inclusive.`;
  }
  const assignor = overrides.get("streams.assignor.name");
  const assignors = broker.get("group.streams.assignors");
  if (assignor !== undefined && !assignors.includes(assignor.trim())) {
    return `streams.assignor.name '${assignor}' is not a registered task assignor. Registered assignors are: ` +
      `[${assignors.join(", ")}].`;
  }
  for (const kind of ["consumer", "share", "streams"] as const) {
    const [session, heartbeat] = [`${kind}.session.timeout.ms`, `${kind}.heartbeat.interval.ms`] as const;
    if (settings.get(session) <= settings.get(heartbeat)) {
      return `${session} must be greater than ${heartbeat}`;
    }
  }
  if (overrides.get("errors.deadletterqueue.topic.name")?.trim().startsWith("__")) {
    return "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'";
  }
  return null;
}

function unknownName(
  kind: string,
  rows: SettingTable,
  overrides: ReadonlyMap<string, string>,
): string | null {
  const unknown = [...overrides.keys()].find((name) => !Object.hasOwn(rows, name));
  return unknown === undefined ? null : `Unknown ${kind} config name: ${unknown}`;
}

function tagsTwice(overrides: ReadonlyMap<string, string>): string | null {
  const name = "streams.rack.aware.assignment.tags";
  const tags = overrides.get(name)?.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "") ?? [];
  return new Set(tags).size < tags.length ? `${name} must not contain duplicate tag keys.` : null;
}
