/**
 * AlterConfigs and IncrementalAlterConfigs as a decision: what the settings of topics, brokers, groups and client metrics
 * subscriptions become, given the image. Codes, texts and the order of the checks are those of Kafka 4.4 (observed),
 * except where Kafka answers nothing at all or UNKNOWN_SERVER_ERROR to a request that contradicts itself: that is
 * INVALID_REQUEST here. The levels of loggers, the fifth kind, are nothing that is stored: a handler sets them.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { MetadataImage, TopicImage } from "./image.ts";
import { topicNameProblem } from "./topic_names.ts";

/** Resource types of the protocol. */
export const ResourceType = { TOPIC: 2, BROKER: 4, BROKER_LOGGER: 8, CLIENT_METRICS: 16, GROUP: 32 } as const;

/** What IncrementalAlterConfigs can do to a setting (KIP-339). */
export const ConfigOperation = { SET: 0, DELETE: 1, APPEND: 2, SUBTRACT: 3 } as const;

/** One resource as both requests have it; in the old, full form the entries have no operation. */
export interface AlterableResource {
  readonly resourceType: number;
  readonly resourceName: string;
  readonly configs: readonly ConfigChange[];
}

export interface ConfigChange {
  readonly name: string;
  readonly value: string | null;
  readonly configOperation?: number;
}

/** What both responses say of a resource. */
export interface AlterConfigsResult {
  readonly errorCode: number;
  readonly errorMessage: string | null;
  readonly resourceType: number;
  readonly resourceName: string;
}

/** Why a resource does not change. */
export interface Refusal {
  readonly errorCode: number;
  readonly errorMessage: string;
}

/** What the decision has to know of the settings of one kind of resource. */
export interface SettingRules {
  /** The default of a setting that can be appended to, and subtracted from; null for all others. */
  listDefault(name: string): string | null;
  /** Why it is refused to append to another one, or to subtract. */
  noList(operation: "APPEND" | "SUBTRACT", name: string): string;
  /** Why a resource cannot have these settings; null when it can. */
  problem(resourceName: string, overrides: Overrides): Refusal | null;
}

/** The rules of each kind of resource whose settings are stored. */
export interface RulesByKind {
  readonly topic: SettingRules;
  readonly broker: SettingRules;
  readonly group: SettingRules;
  readonly clientMetrics: SettingRules;
}

export interface AlterConfigsPlan {
  /** One for each resource of the request, in its order. */
  readonly results: readonly AlterConfigsResult[];
  /** Topics as they will be. */
  readonly topics: readonly TopicImage[];
  /** All settings that the resource will have, by its name. */
  readonly brokerConfigs: ReadonlyMap<string, Overrides>;
  readonly groupConfigs: ReadonlyMap<string, Overrides>;
  readonly clientMetricsConfigs: ReadonlyMap<string, Overrides>;
}

/** Characters of a name or a value, which are kept in memory; Kafka closes the connection over more. */
const MAX_TEXT = 32_767;

/** Characters; as many bytes as they may be, they fit into the 32,767 of old versions. */
const MAX_MESSAGE = 10_000;

type Overrides = ReadonlyMap<string, string>;

/** How the settings of one kind of resource are found, judged and kept. */
interface Kind {
  readonly rules: SettingRules;
  /** The name under which they are stored, or why a resource of this name has none. */
  storedAs(name: string): string | Refusal;
  current(name: string): Overrides | undefined;
  /** What is wrong with the resource itself; asked last. */
  missing(name: string): Refusal | null;
  keep(name: string, overrides: Overrides): void;
}

/**
 * Decides on a whole request. Without `incremental`, a resource loses every setting that the request does not name. A
 * resource changes as a whole or not at all.
 */
export function planAlterConfigs(
  image: MetadataImage,
  resources: readonly AlterableResource[],
  incremental: boolean,
  rules: RulesByKind,
): AlterConfigsPlan {
  const topics: TopicImage[] = [];
  const brokerConfigs = new Map<string, Overrides>();
  const groupConfigs = new Map<string, Overrides>();
  const clientMetricsConfigs = new Map<string, Overrides>();
  const asItIs = (name: string) => name;
  const never = () => null;
  const kinds = new Map<number, Kind>([
    [ResourceType.TOPIC, {
      rules: rules.topic,
      storedAs: asItIs,
      current: (name) => image.topics.get(name)?.configs,
      missing: (name) => image.topics.has(name) ? null : noTopic(name),
      keep: (name, configs) => void topics.push({ ...image.topics.get(name)!, configs }),
    }],
    [ResourceType.BROKER, {
      rules: rules.broker,
      storedAs: (name) => storedBroker(image, name),
      // A request may name a broker twice, as "1" and as "01".
      current: (name) => brokerConfigs.get(name) ?? image.brokerConfigs.get(name),
      missing: never,
      keep: (name, configs) => void brokerConfigs.set(name, configs),
    }],
    [ResourceType.GROUP, {
      rules: rules.group,
      storedAs: asItIs,
      current: (name) => image.groupConfigs.get(name),
      missing: never,
      keep: (name, configs) => void groupConfigs.set(name, configs),
    }],
    [ResourceType.CLIENT_METRICS, {
      rules: rules.clientMetrics,
      storedAs: asItIs,
      current: (name) => image.clientMetricsConfigs.get(name),
      missing: never,
      keep: (name, configs) => void clientMetricsConfigs.set(name, configs),
    }],
  ]);
  const malformed = malformedResources(resources);
  let changes = 0;
  const refusals = resources.map((resource, index): Refusal | null => {
    if (malformed[index] !== null || changes > MAX_CHANGES) return malformed[index];
    const outcome = decide(kinds.get(resource.resourceType), resource, incremental);
    if (typeof outcome !== "number") return outcome;
    changes += outcome;
    return null;
  });
  const results = (refusals: (Refusal | null)[]) =>
    resources.map((resource, index) => resultOf(resource, refusals[index]));
  if (changes <= MAX_CHANGES) {
    return { results: results(refusals), topics, brokerConfigs, groupConfigs, clientMetricsConfigs };
  }
  const none = new Map<string, Overrides>();
  return {
    results: results(malformed.map((refusal) => refusal ?? tooMuch)),
    topics: [],
    brokerConfigs: none,
    groupConfigs: none,
    clientMetricsConfigs: none,
  };
}

/** Settings that one request may change; more is refused as a whole, as by Kafka's controller. */
const MAX_CHANGES = 10_000;

const tooMuch: Refusal = {
  errorCode: ErrorCode.POLICY_VIOLATION,
  errorMessage: "Unable to perform excessively large batch operation.",
};

function resultOf(
  { resourceType, resourceName }: AlterableResource,
  refusal: Refusal | null,
): AlterConfigsResult {
  if (refusal === null) return { errorCode: ErrorCode.NONE, errorMessage: null, resourceType, resourceName };
  const { errorCode, errorMessage } = refusal;
  return { errorCode, errorMessage: shortened(errorMessage), resourceType, resourceName };
}

/** A message with what a client sent in it, for which old versions have no more room than for that alone. */
export function shortened(errorMessage: string): string {
  return errorMessage.length <= MAX_MESSAGE ? errorMessage : `${errorMessage.slice(0, MAX_MESSAGE)}…`;
}

/** What is wrong with the form of each resource of a request, whatever its kind; null where nothing is. */
export function malformedResources(resources: readonly AlterableResource[]): (Refusal | null)[] {
  const key = ({ resourceType, resourceName }: AlterableResource) => `${resourceType} ${resourceName}`;
  const named = Map.groupBy(resources, key);
  return resources.map((resource) => {
    if (named.get(key(resource))!.length > 1) return invalid("Each resource must appear at most once.");
    const { configs } = resource;
    if (new Set(configs.map(({ name }) => name)).size < configs.length) {
      return invalid("Error due to duplicate config keys");
    }
    const texts = [resource.resourceName, ...configs.flatMap(({ name, value }) => [name, value ?? ""])];
    if (texts.some((text) => text.length > MAX_TEXT)) {
      return invalid(`Names and values have ${MAX_TEXT} characters at most`);
    }
    const nulls = configs.filter(({ value, configOperation }) =>
      value === null && configOperation !== ConfigOperation.DELETE
    );
    if (nulls.length === 0) return null;
    return invalid(`Null value not supported for : ${nulls.map(({ name }) => name).join(", ")}`);
  });
}

/** Why a resource with a broker's id for a name is none of this broker's; null when it is. */
function otherBroker(name: string, nodeId: number): Refusal | null {
  const named = nodeIdOf(name);
  if (named === null) return invalid(`Node id must be an integer, but it is: ${name}`);
  return named === nodeId ? null : invalid(`Unexpected broker id, expected ${nodeId}, but received ${named}`);
}

/** The broker that a resource is named after; null when its name is no number. */
export function nodeIdOf(name: string): number | null {
  return /^[+-]?\d{1,10}$/.test(name) ? Number(name) : null;
}

/** Keeps what the resource will have and gives the number of settings that change, or says why none does. */
function decide(
  kind: Kind | undefined,
  { resourceType, resourceName, configs }: AlterableResource,
  incremental: boolean,
): number | Refusal {
  if (kind === undefined) return invalid(`Unknown resource type ${resourceType}`);
  const name = kind.storedAs(resourceName);
  if (typeof name !== "string") return name;
  const before = kind.current(name) ?? new Map<string, string>();
  const after = incremental
    ? applyOperations(before, configs, kind.rules)
    : new Map(configs.map(({ name, value }) => [name, value!]));
  if ("errorCode" in after) return after;
  const refusal = kind.rules.problem(name, after) ?? kind.missing(name);
  if (refusal !== null) return refusal;
  kind.keep(name, after);
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((each) => before.get(each) !== after.get(each)).length;
}

function applyOperations(
  current: Overrides,
  changes: readonly ConfigChange[],
  rules: SettingRules,
): Overrides | Refusal {
  const overrides = new Map(current);
  for (const { name, value, configOperation = ConfigOperation.SET } of changes) {
    switch (configOperation) {
      case ConfigOperation.SET:
        overrides.set(name, value!);
        break;
      case ConfigOperation.DELETE:
        overrides.delete(name);
        break;
      case ConfigOperation.APPEND:
      case ConfigOperation.SUBTRACT: {
        const appends = configOperation === ConfigOperation.APPEND;
        const fallback = rules.listDefault(name);
        if (fallback === null) {
          const errorMessage = rules.noList(appends ? "APPEND" : "SUBTRACT", name);
          return { errorCode: ErrorCode.INVALID_CONFIG, errorMessage };
        }
        const elements = split(overrides.get(name) ?? fallback).filter((element) => element !== "");
        overrides.set(name, (appends ? appended : subtracted)(elements, split(value!)).join(","));
        break;
      }
      default:
        return invalid(`There is no operation ${configOperation} on settings`);
    }
  }
  return overrides;
}

// Elements are compared as they are, blanks included, and of those that come twice one is taken away.
function appended(elements: readonly string[], more: readonly string[]): string[] {
  return [...elements, ...new Set(more.filter((element) => !elements.includes(element)))];
}

function subtracted(elements: readonly string[], fewer: readonly string[]): string[] {
  const left = [...elements];
  for (const element of fewer) {
    const at = left.indexOf(element);
    if (at >= 0) left.splice(at, 1);
  }
  return left;
}

/** As Java splits: empty texts at the end are none, but an empty text is one. */
function split(text: string): string[] {
  return text === "" ? [""] : text.replace(/,+$/, "").split(",");
}

/** All brokers have one entry, "", and each has one by its id, however that is written. */
function storedBroker(image: MetadataImage, name: string): string | Refusal {
  return name === "" ? name : otherBroker(name, image.controllerId) ?? String(Number(name));
}

function noTopic(name: string): Refusal {
  return {
    errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    errorMessage: `The topic '${name}' does not exist.`,
  };
}

/** Why there can be no topic of this name to have settings; null when there can. */
export function topicResourceProblem(name: string): Refusal | null {
  if (name === "") return invalid("Default topic resources are not allowed.");
  const problem = topicNameProblem(name);
  return problem === null ? null : { errorCode: ErrorCode.INVALID_TOPIC_EXCEPTION, errorMessage: problem };
}

function invalid(errorMessage: string): Refusal {
  return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage };
}
