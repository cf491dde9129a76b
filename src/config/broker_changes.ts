/**
 * Which changes of the broker's settings a client may make while the broker runs (KIP-226), judged in Kafka's order:
 * whether they may change at all, each value, whether they may be set for all brokers, and what results of them together.
 */
import { ErrorCode } from "../codec/errors.ts";
import { brokerRows, type BrokerSettingName, foreignSettings } from "./broker.ts";
import { type BrokerConfig, brokerRow } from "./broker_config.ts";
import { firstInvalidValue, invalidValue, type SettingProblem } from "./setting.ts";
import { topicRows } from "./topic.ts";

/** One thing that may be wrong with the settings as they would be; `before` are those in force. */
type Rule = (after: BrokerConfig, before: BrokerConfig) => string | null;

/**
 * Why a broker ("broker"), or all of them ("cluster"), cannot have `values` as what clients have set; null when they can.
 */
export function validateBrokerChange(
  config: BrokerConfig,
  scope: "broker" | "cluster",
  values: ReadonlyMap<string, string>,
): SettingProblem | null {
  const names = [...values.keys()];
  const fixed = names.filter((name) => (brokerRow(name)?.update ?? updateOfUnknown(name)) === "read-only");
  if (fixed.length > 0) return refused(`Cannot update these configs dynamically: [${fixed.join(", ")}]`);
  const invalid = firstInvalidValue(brokerRows, values);
  if (invalid !== null) return refused(invalid);
  const single = names.filter((name) => brokerRow(name)?.update === "per-broker");
  if (scope === "cluster" && single.length > 0) {
    return refused(
      `Cannot update these configs at default cluster level, broker id must be specified: [${
        single.join(", ")
      }]`,
    );
  }
  const after = config.changed(scope, values);
  const [problem] = problemsOf(required, after, config).map((text) => `requirement failed: ${text}`)
    .concat(problemsOf([...ordered, ...whileRunning], after, config));
  return problem === undefined ? null : refused(problem);
}

/** What is wrong with the settings that a broker is to start with, taken together; a line each. */
export function problemsAtStart(config: BrokerConfig): string[] {
  const problems = problemsOf(required, config, config);
  return problems.length > 0 ? problems : problemsOf(ordered, config, config);
}

function problemsOf(rules: readonly Rule[], after: BrokerConfig, before: BrokerConfig): string[] {
  return rules.map((rule) => rule(after, before)).filter((problem) => problem !== null);
}

/** Names that nobody knows are taken, as in Kafka; what belongs to a part that Trackway does not have is not. */
function updateOfUnknown(name: string): "read-only" | "cluster-wide" {
  return foreignSettings.some(([prefix]) => name.startsWith(prefix)) ? "read-only" : "cluster-wide";
}

function refused(errorMessage: string): SettingProblem {
  return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage };
}

const MIB = 1_048_576;

/** Without these a broker does not start either. */
const required: readonly Rule[] = [
  atLeast("log.roll.ms", 1),
  atLeast("log.roll.jitter.ms", 0),
  (after) =>
    after.get("log.retention.ms") === 0
      ? "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
      : null,
  (after) =>
    after.get("log.cleaner.dedupe.buffer.size") / after.get("log.cleaner.threads") <= MIB
      ? "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
      : null,
  (after) =>
    after.get("max.connections.per.ip") === 0 && after.get("max.connections.per.ip.overrides") === ""
      ? "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set."
      : null,
  (after) => {
    const known = new Set(after.get("log.dirs") ?? after.get("log.dir"));
    const missing = after.get("cordoned.log.dirs").filter((directory) =>
      !known.has(directory) && directory !== "*"
    );
    return missing.length === 0
      ? null
      : `All entries in cordoned.log.dirs must be present in log.dirs or log.dir. ` +
        `Missing entries : ${missing.join(",")}`;
  },
];

/** Nor without these. */
const ordered: readonly Rule[] = [
  ...(["consumer", "share", "streams"] as const).map((kind): Rule => (after) => {
    const [name, min, max] = [
      `group.${kind}.assignment.interval.ms`,
      `group.${kind}.min.assignment.interval.ms`,
      `group.${kind}.max.assignment.interval.ms`,
    ] as const;
    if (after.get(name) > after.get(max)) return `${name} must be less than or equal to ${max}`;
    return after.get(name) < after.get(min) ? `${name} must be greater than or equal to ${min}` : null;
  }),
  fitForTopics,
];

/** What else a running broker does not change to. */
const whileRunning: readonly Rule[] = [
  (after) => {
    const text = after.get("max.connections.per.ip.overrides");
    const odd = text === "" ? undefined : text.split(",").find((entry) => !/^.+:\d{1,9}$/.test(entry.trim()));
    return odd === undefined
      ? null
      : `Error parsing configuration property 'max.connections.per.ip.overrides': ${odd} is no address:count`;
  },
  (after, before) =>
    after.get("max.connections") === 0 && before.get("max.connections") !== 0
      ? "Invalid max.connections 0"
      : null,
  // Kafka closes the connection over a division by 0.
  (after, before) =>
    after.get("log.cleaner.threads") < 1 && before.get("log.cleaner.threads") >= 1
      ? "Log cleaner threads should be at least 1"
      : null,
  ...(
    [
      "num.io.threads",
      "num.network.threads",
      "num.replica.fetchers",
      "num.recovery.threads.per.data.dir",
      "background.threads",
      "log.cleaner.threads",
    ] as const
  ).map(inSteps),
  localRetention("ms"),
  localRetention("bytes"),
  classAtHand("principal.builder.class"),
  classAtHand("metric.reporters"),
];

function atLeast(name: "log.roll.ms" | "log.roll.jitter.ms", min: number): Rule {
  return (after) => after.get(name) < min ? `${name} must be greater than or equal to ${min}` : null;
}

/** Kafka changes a number of threads to no more than twice and no less than half of it. Here it has no effect at all. */
function inSteps(name: BrokerSettingName): Rule {
  return (after, before) => {
    const [now, next] = [Number(before.get(name)), Number(after.get(name))];
    if (now === next) return null;
    const failure = `Dynamic thread count update validation failed for ${name}=${next}, value should`;
    if (next > now * 2) return `${failure} not be greater than double the current value ${now}`;
    return next < Math.floor(now / 2) ? `${failure} be at least half the current value ${now}` : null;
  };
}

/** What is kept on the local disk under tiered storage is no more than what is kept at all; -2 stands for the latter. */
function localRetention(unit: "ms" | "bytes"): Rule {
  const [local, total] = [`log.local.retention.${unit}`, `log.retention.${unit}`] as const;
  return (after) => {
    const [kept, all] = [after.get(local), after.get(total)];
    if (kept === -2 || all === null || all < 0) return null;
    if (kept === -1) {
      return `Invalid value -1 for configuration ${local}: Value must not be -1 as ${total} value is set as ${all}.`;
    }
    return kept > all
      ? `Invalid value ${kept} for configuration ${local}: Value must not be more than ${total} property value: ${all}`
      : null;
  };
}

/** No other class than Kafka's own can be had, since none is loaded. */
function classAtHand(name: "principal.builder.class" | "metric.reporters"): Rule {
  return (after, before) => {
    const text = after.text(name);
    const same = text === before.text(name) || text === brokerRow(name)!.defaultText || text === "";
    return same ? null : `Invalid value ${text} for configuration ${name}: Class ${text} could not be found.`;
  };
}

/** A default that no topic could have would be in the way of every change of a topic's settings, as it is in Kafka. */
function fitForTopics(after: BrokerConfig): string | null {
  for (const row of Object.values(topicRows)) {
    const [synonym] = row.synonyms;
    const name = synonym?.name as BrokerSettingName | undefined;
    const text = name === undefined ? null : after.text(name);
    const parsed = text === null ? null : row.parse(text);
    if (parsed !== null && "error" in parsed) return invalidValue(name!, text!, parsed);
  }
  return null;
}
