/**
 * From a file, the environment and the command line to the settings in force. Later wins: defaults, the file,
 * TRACKWAY_* variables, --set, the other flags. Nothing here reads a file or a variable; the command line hands them in.
 */
import { brokerRows, type BrokerSettingName, foreignSettings } from "./broker.ts";
import { problemsAtStart } from "./broker_changes.ts";
import { BrokerConfig, brokerRow, type StaticValue } from "./broker_config.ts";
import { type Listener, type Machine, parseEndpoint, planListeners } from "./listeners.ts";
import { parseProperties } from "./properties.ts";
import { invalidValue } from "./setting.ts";
import { topicRows } from "./topic.ts";

/** Everything that has a say. */
export interface ConfigInputs {
  /** A Kafka server.properties, with the name to call it by in messages. */
  readonly file?: { readonly name: string; readonly text: string };
  /** All environment variables; only TRACKWAY_* matter. */
  readonly environment?: Readonly<Record<string, string>>;
  /** `name=value` texts, in order. */
  readonly set?: readonly string[];
  readonly port?: number;
  readonly host?: string;
  readonly dataDir?: string;
  readonly logLevel?: string;
  readonly machine: Machine;
}

/** What a broker starts with. */
export interface LoadedConfig {
  readonly config: BrokerConfig;
  readonly listeners: readonly Listener[];
  readonly interBrokerListenerName: string;
  /** Data directories as configured, at least one; relative ones are relative to the working directory. */
  readonly dataDirs: readonly string[];
  /** One line each: settings that are unknown or have no effect, and what was made of the listeners. */
  readonly warnings: readonly string[];
}

/** The settings, or why not: one line each that names the setting, its value, what is allowed and where it was set. */
export type LoadResult = { readonly loaded: LoadedConfig } | { readonly errors: readonly string[] };

/** Merges and checks everything. */
export function loadConfig(inputs: ConfigInputs): LoadResult {
  const errors: string[] = [];
  const values = new Map<string, StaticValue>();
  readFile(inputs, values, errors);
  readEnvironment(inputs.environment ?? {}, values);
  readSets(inputs.set ?? [], values, errors);
  readFlags(inputs, values, errors);
  sameNodeId(values);
  errors.push(...badValues(values), ...settingsOfTopics(values, inputs.environment ?? {}));
  if (errors.length > 0) return { errors };

  const config = new BrokerConfig(values);
  errors.push(...conflicts(config));
  const plan = planListeners({
    listeners: config.get("listeners"),
    advertisedListeners: config.get("advertised.listeners"),
    securityProtocolMap: config.get("listener.security.protocol.map"),
    interBrokerListenerName: config.get("inter.broker.listener.name"),
    securityInterBrokerProtocol: config.get("security.inter.broker.protocol"),
    controllerListenerNames: config.get("controller.listener.names"),
  }, inputs.machine);
  if ("errors" in plan) errors.push(...plan.errors);
  const dataDirs = config.get("log.dirs");
  if (dataDirs.length === 0 || dataDirs.includes("")) {
    errors.push("log.dirs names no directory: use --data DIR");
  }
  if (errors.length > 0 || "errors" in plan) return { errors };

  const warnings = [...withoutEffect(values), ...plan.warnings];
  const { listeners, interBrokerListenerName } = plan;
  return { loaded: { config, listeners, interBrokerListenerName, dataDirs, warnings } };
}

function readFile({ file }: ConfigInputs, values: Map<string, StaticValue>, errors: string[]): void {
  if (!file) return;
  const properties = parseProperties(file.text);
  for (const error of properties.errors) errors.push(`${file.name}, ${error}`);
  for (const { name, value, line } of properties.entries) {
    values.set(name, { text: value.trim(), origin: `${file.name}, line ${line}` });
  }
}

/** TRACKWAY_LOG_RETENTION_MS is log.retention.ms; TRACKWAY_LOG_LEVEL is trackway.log.level, as no log.level exists. */
function readEnvironment(
  environment: Readonly<Record<string, string>>,
  values: Map<string, StaticValue>,
): void {
  for (const variable of Object.keys(environment).sort()) {
    if (!variable.startsWith("TRACKWAY_")) continue;
    const name = variable.slice("TRACKWAY_".length).toLowerCase().replaceAll("_", ".");
    const own = `trackway.${name}`;
    values.set(brokerRow(own) ? own : name, { text: environment[variable].trim(), origin: variable });
  }
}

function readSets(sets: readonly string[], values: Map<string, StaticValue>, errors: string[]): void {
  for (const set of sets) {
    const at = set.indexOf("=");
    if (at < 1) errors.push(`--set ${set}: must look like --set num.partitions=3`);
    else values.set(set.slice(0, at).trim(), { text: set.slice(at + 1).trim(), origin: "--set" });
  }
}

function readFlags(inputs: ConfigInputs, values: Map<string, StaticValue>, errors: string[]): void {
  const { port, host, dataDir, logLevel } = inputs;
  if (dataDir !== undefined) values.set("log.dirs", { text: dataDir, origin: "--data" });
  if (logLevel !== undefined) values.set("trackway.log.level", { text: logLevel, origin: "--log-level" });
  if (port === undefined && host === undefined) return;

  const flag = port === undefined ? "--host" : host === undefined ? "--port" : "--host and --port";
  const texts = (values.get("listeners")?.text ?? brokerRows.listeners.defaultText!).split(",");
  const controllers = (values.get("controller.listener.names")?.text ?? "").toUpperCase().split(",");
  const mine = texts.map(parseEndpoint).filter((endpoint) => !controllers.includes(endpoint?.name ?? ""));
  if (mine.length !== 1 || !mine[0]) {
    errors.push(`${flag} cannot be combined with listeners=${texts.join(",")}: change listeners instead`);
    return;
  }
  const [endpoint] = mine;
  const newHost = host ?? endpoint.host;
  const text = `${endpoint.name}://${newHost.includes(":") ? `[${newHost}]` : newHost}:${
    port ?? endpoint.port
  }`;
  if (parseEndpoint(text)) values.set("listeners", { text, origin: flag });
  else errors.push(`${flag} ${host ?? ""}${port ?? ""}: must be an address and a port from 0 to 65535`);
}

/** node.id and broker.id are one setting with two names; -1 is Kafka's "not given" of the older one. */
function sameNodeId(values: Map<string, StaticValue>): void {
  if (values.get("broker.id")?.text === "-1") values.delete("broker.id");
  const given = values.get("node.id") ?? values.get("broker.id");
  if (!given) return;
  values.set("node.id", given);
  values.set("broker.id", given);
}

function badValues(values: ReadonlyMap<string, StaticValue>): string[] {
  const errors: string[] = [];
  for (const [name, { text, origin }] of values) {
    if (name === "broker.id") continue; // node.id holds the same value and has the narrower range.
    const parsed = brokerRow(name)?.parse(text);
    if (parsed && "error" in parsed) {
      errors.push(`${invalidValue(name, text, parsed)} (set by ${origin})`);
    }
  }
  return errors;
}

/**
 * Topics' settings that somebody meant for all topics, as in `--set flush.messages=1`. They are refused: a broker without
 * would run less safely than its operator believes. In a file, where Kafka ignores them too, they are a warning.
 */
function settingsOfTopics(
  values: ReadonlyMap<string, StaticValue>,
  environment: Readonly<Record<string, string>>,
): string[] {
  const errors: string[] = [];
  for (const [name, { origin }] of values) {
    const text = settingOfTopics(name);
    if (text === null || origin !== "--set" && environment[origin] === undefined) continue;
    errors.push(`${text} (set by ${origin})`);
  }
  return errors;
}

/** What to tell of a name that only topics have, with the one to use; null for every other name. */
function settingOfTopics(name: string): string | null {
  if (brokerRow(name) || !Object.hasOwn(topicRows, name)) return null;
  const [synonym] = topicRows[name as keyof typeof topicRows].synonyms;
  return `${name} is a topic's setting; ${
    synonym === undefined ? "there is none for all topics" : `for all topics it is ${synonym.name}`
  }`;
}

/** Values that are fine alone and not together, or whose silent neglect would hurt. */
function conflicts(config: BrokerConfig): string[] {
  const errors: string[] = [];
  const [min, max] = [config.get("group.min.session.timeout.ms"), config.get("group.max.session.timeout.ms")];
  if (min > max) {
    errors.push(`group.min.session.timeout.ms (${min}) is above group.max.session.timeout.ms (${max})`);
  }
  errors.push(...problemsAtStart(config));
  const authorizer = config.get("authorizer.class.name");
  if (authorizer !== "") {
    // Not a warning: the operator believes that this broker is protected.
    errors.push(
      `authorizer.class.name is ${authorizer} (set by ${
        config.origin("authorizer.class.name")
      }) and permissions are ` +
        `not supported yet: take it out to run without any`,
    );
  }
  return errors;
}

function withoutEffect(values: ReadonlyMap<string, StaticValue>): string[] {
  const warnings: string[] = [];
  for (const [name, { origin }] of values) {
    const row = brokerRow(name);
    if (row && !row.unused) continue;
    const foreign = foreignSettings.find(([prefix]) => name.startsWith(prefix));
    const ofTopics = settingOfTopics(name);
    if (row) warnings.push(`Setting ${name} has no effect (set by ${origin}): ${row.doc}`);
    else if (foreign) warnings.push(`Setting ${name} has no effect (set by ${origin}): ${foreign[1]}`);
    else if (ofTopics !== null) warnings.push(`Ignored: ${ofTopics} (set by ${origin})`);
    else warnings.push(`Unknown setting ${name} (set by ${origin}): ignored${suggestion(name)}`);
  }
  return warnings;
}

function suggestion(name: string): string {
  let best: { name: BrokerSettingName; distance: number } | undefined;
  for (const each of Object.keys(brokerRows) as BrokerSettingName[]) {
    const distance = editDistance(name, each);
    if (distance <= 2 && distance < (best?.distance ?? Infinity)) best = { name: each, distance };
  }
  return best ? `; did you mean ${best.name}?` : "";
}

/** Insertions, removals and replacements between two names; more than 2 counts as 3, since nobody asks. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return Math.min(row[b.length], 3);
}
