/**
 * AlterConfigs and IncrementalAlterConfigs as a decision: what the settings of topics, brokers and groups become, given
 * the image. Codes and the order of the checks are those of Kafka 4.4 (observed), except where Kafka answers nothing at
 * all or UNKNOWN_SERVER_ERROR to a request that contradicts itself: that is INVALID_REQUEST here.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { MetadataImage, TopicImage } from "./image.ts";
import { topicNameProblem } from "./topic_names.ts";

/** Resource types of the protocol whose settings are cluster metadata. */
export const ResourceType = { TOPIC: 2, BROKER: 4, GROUP: 32 } as const;

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

/** What the decision has to know of settings; `kind` is a {@link ResourceType}. */
export interface SettingRules {
  isList(kind: number, name: string): boolean;
  /** The value that a list has when it is not set, which appending starts from; null for none. */
  inherited(kind: number, name: string): string | null;
  /** Why a resource cannot have these settings, in one line; null when it can. `changed` has the names that the request names. */
  problem(
    kind: number,
    resourceName: string,
    overrides: ReadonlyMap<string, string>,
    changed: readonly string[],
  ): string | null;
}

export interface AlterConfigsPlan {
  /** One for each resource of the request, in its order. */
  readonly results: readonly AlterConfigsResult[];
  /** Topics as they will be. */
  readonly topics: readonly TopicImage[];
  /** All settings that the resource will have, by its name. */
  readonly brokerConfigs: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly groupConfigs: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

interface Refusal {
  readonly errorCode: number;
  readonly errorMessage: string;
}

type Overrides = ReadonlyMap<string, string>;

/**
 * Decides on a whole request. Without `incremental`, a resource loses every setting that the request does not name. A
 * resource changes as a whole or not at all.
 */
export function planAlterConfigs(
  image: MetadataImage,
  resources: readonly AlterableResource[],
  incremental: boolean,
  rules: SettingRules,
): AlterConfigsPlan {
  const topics: TopicImage[] = [];
  const brokerConfigs = new Map<string, Overrides>();
  const groupConfigs = new Map<string, Overrides>();
  const counts = Map.groupBy(
    resources,
    ({ resourceType, resourceName }) => `${resourceType} ${resourceName}`,
  );
  const results = resources.map((resource): AlterConfigsResult => {
    const { resourceType, resourceName } = resource;
    const outcome = counts.get(`${resourceType} ${resourceName}`)!.length > 1
      ? refuse(ErrorCode.INVALID_REQUEST, "The request names this resource more than once")
      : decide(image, resource, incremental, rules);
    if (isRefusal(outcome)) return { ...outcome, resourceType, resourceName };
    if (resourceType === ResourceType.TOPIC) {
      topics.push({ ...image.topics.get(resourceName)!, configs: outcome });
    } else if (resourceType === ResourceType.BROKER) brokerConfigs.set(resourceName, outcome);
    else groupConfigs.set(resourceName, outcome);
    return { errorCode: ErrorCode.NONE, errorMessage: null, resourceType, resourceName };
  });
  return { results, topics, brokerConfigs, groupConfigs };
}

function refuse(errorCode: number, errorMessage: string): Refusal {
  return { errorCode, errorMessage };
}

function isRefusal(outcome: Overrides | Refusal): outcome is Refusal {
  return "errorCode" in outcome;
}

/** The settings that the resource will have, or why not. */
function decide(
  image: MetadataImage,
  { resourceType, resourceName, configs }: AlterableResource,
  incremental: boolean,
  rules: SettingRules,
): Overrides | Refusal {
  const current = currentOverrides(image, resourceType, resourceName);
  if (isRefusal(current)) return current;
  const changed = configs.map(({ name }) => name);
  if (new Set(changed).size < changed.length) {
    return refuse(ErrorCode.INVALID_REQUEST, "The request names a setting more than once");
  }
  const overrides = incremental
    ? applyOperations(current, configs, resourceType, rules)
    : applyOperations(new Map(), configs.map(({ name, value }) => ({ name, value })), resourceType, rules);
  if (isRefusal(overrides)) return overrides;
  const problem = rules.problem(resourceType, resourceName, overrides, changed);
  if (problem === null) return overrides;
  const isBroker = resourceType === ResourceType.BROKER;
  return refuse(isBroker ? ErrorCode.INVALID_REQUEST : ErrorCode.INVALID_CONFIG, problem);
}

/** What is set for the resource now, or why it can have no settings. */
function currentOverrides(image: MetadataImage, type: number, name: string): Overrides | Refusal {
  switch (type) {
    case ResourceType.TOPIC: {
      if (name === "") return refuse(ErrorCode.INVALID_REQUEST, "There are no settings for all topics");
      const problem = topicNameProblem(name);
      if (problem !== null) return refuse(ErrorCode.INVALID_TOPIC_EXCEPTION, problem);
      return image.topics.get(name)?.configs ??
        refuse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, `There is no topic '${name}'`);
    }
    case ResourceType.BROKER: {
      if (name !== "" && !(/^\d{1,10}$/.test(name) && image.brokers.has(Number(name)))) {
        return refuse(ErrorCode.INVALID_REQUEST, `There is no broker with the id "${name}"`);
      }
      return image.brokerConfigs.get(name) ?? new Map();
    }
    case ResourceType.GROUP: {
      if (name === "") return refuse(ErrorCode.INVALID_REQUEST, "There are no settings for all groups");
      return image.groupConfigs.get(name) ?? new Map();
    }
    default:
      return refuse(
        ErrorCode.INVALID_REQUEST,
        `Resources of type ${type} have no settings that can be changed`,
      );
  }
}

function applyOperations(
  current: Overrides,
  changes: readonly ConfigChange[],
  kind: number,
  rules: SettingRules,
): Overrides | Refusal {
  const overrides = new Map(current);
  for (const { name, value, configOperation = ConfigOperation.SET } of changes) {
    if (configOperation === ConfigOperation.DELETE) {
      overrides.delete(name);
      continue;
    }
    if (value === null) return refuse(ErrorCode.INVALID_REQUEST, `${name} must have a value, null is none`);
    switch (configOperation) {
      case ConfigOperation.SET:
        overrides.set(name, value);
        break;
      case ConfigOperation.APPEND:
      case ConfigOperation.SUBTRACT: {
        if (!rules.isList(kind, name)) {
          return refuse(
            ErrorCode.INVALID_CONFIG,
            `Only a list can be appended to or subtracted from: ${name} is none`,
          );
        }
        const before = listOf(overrides.get(name) ?? rules.inherited(kind, name) ?? "");
        const after = configOperation === ConfigOperation.APPEND
          ? [...new Set([...before, ...listOf(value)])]
          : before.filter((element) => !listOf(value).includes(element));
        overrides.set(name, after.join(","));
        break;
      }
      default:
        return refuse(ErrorCode.INVALID_REQUEST, `There is no operation ${configOperation} on settings`);
    }
  }
  return overrides;
}

function listOf(text: string): string[] {
  return text.split(",").map((element) => element.trim()).filter((element) => element !== "");
}
