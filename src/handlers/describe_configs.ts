/**
 * Tells the settings of topics, brokers, loggers, groups and client metrics subscriptions: value, where it comes from,
 * what it would be without, its type and what it does.
 */
import { ErrorCode } from "../codec/errors.ts";
import type {
  describeConfigs,
  DescribeConfigsRequest,
  DescribeConfigsResponse,
} from "../codec/messages/describe_configs.ts";
import type { DescribedSetting } from "../config/broker_config.ts";
import { ClientMetricsSettings } from "../config/client_metrics.ts";
import { GroupSettings, TopicSettings } from "../config/resource_settings.ts";
import { configSource } from "../config/setting.ts";
import { nodeIdOf, ResourceType } from "../cluster/alter_configs.ts";
import { topicNameProblem } from "../cluster/topic_names.ts";
import { describeLoggers } from "./broker_loggers.ts";
import type { Handler, RequestContext } from "./context.ts";
import { inSlices } from "./pacing.ts";

type Resource = DescribeConfigsRequest["resources"][number];

/** Why there are no settings of a resource. */
interface Problem {
  errorCode: number;
  errorMessage: string;
}

/** The settings of a resource, or why there are none. */
type Found = { settings: DescribedSetting[] } | Problem;

/**
 * How many settings one answer tells: all of 10,000 topics. Any name is a group's, and some bytes of it bring twenty
 * settings with their documentation: what is beyond this has to be asked for in another request.
 */
const MAX_SETTINGS = 500_000;

/** Up to so many resources are described without a thought for other requests. */
const AT_ONCE = 16;

export const describeConfigsHandler: Handler<typeof describeConfigs> = (request, context) => {
  const answer = new Describer(request, context);
  const describe = (resource: Resource) => answer.describe(resource);
  if (request.resources.length <= AT_ONCE) return { results: request.resources.map(describe) };
  return inSlices(request.resources, context.services.clock, describe).then((results) => ({ results }));
};

type ToldSetting = DescribeConfigsResponse["results"][number]["configs"][number];

/** One answer in the making. */
class Describer {
  private told = 0;
  /** What groups without settings of their own have in common, when all of it is asked for. */
  private groupDefaults: ToldSetting[] | null = null;

  constructor(private readonly request: DescribeConfigsRequest, private readonly context: RequestContext) {}

  describe(resource: Resource) {
    const { resourceType, resourceName } = resource;
    const found = this.told < MAX_SETTINGS ? this.find(resource) : invalid(
      `The answer has ${this.told} settings already: ask for less at once`,
    );
    if ("errorCode" in found) return { ...found, resourceType, resourceName, configs: [] };
    this.told += found.configs.length;
    return { errorCode: ErrorCode.NONE, errorMessage: "", resourceType, resourceName, ...found };
  }

  private find(resource: Resource): { configs: ToldSetting[] } | Problem {
    const isPlainGroup = resource.resourceType === ResourceType.GROUP && resource.resourceName !== "" &&
      !resource.configurationKeys?.length &&
      !this.context.services.cluster.image.groupConfigs.has(resource.resourceName);
    if (isPlainGroup && this.groupDefaults !== null) return { configs: this.groupDefaults };
    const found = find(resource, this.context);
    if ("errorCode" in found) return found;
    const configs = found.settings.map((setting) => this.tell(setting));
    if (isPlainGroup) this.groupDefaults = configs;
    return { configs };
  }

  private tell(setting: DescribedSetting): ToldSetting {
    const { includeSynonyms, includeDocumentation } = this.request;
    return {
      name: setting.name,
      value: setting.value,
      readOnly: setting.readOnly,
      isDefault: setting.source === configSource.default,
      configSource: setting.source,
      isSensitive: setting.sensitive,
      synonyms: includeSynonyms ? setting.synonyms : [],
      configType: setting.type,
      // Loggers have none, and Kafka says so without being asked.
      documentation: includeDocumentation || setting.doc === "" ? setting.doc : null,
    };
  }
}

function find(
  { resourceType, resourceName, configurationKeys }: Resource,
  { services }: RequestContext,
): Found {
  const { image } = services.cluster;
  const nodeId = services.config.get("node.id");
  // No names and an empty list of names both ask for everything.
  const names = configurationKeys !== null && configurationKeys.length > 0 ? configurationKeys : undefined;
  switch (resourceType) {
    case ResourceType.TOPIC: {
      const problem = topicNameProblem(resourceName);
      if (problem !== null) return { errorCode: ErrorCode.INVALID_TOPIC_EXCEPTION, errorMessage: problem };
      const topic = image.topics.get(resourceName);
      if (topic === undefined) return { errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, errorMessage: "" };
      return { settings: new TopicSettings(topic.configs, services.config).describe(names) };
    }
    case ResourceType.BROKER:
      if (resourceName === "") return { settings: services.config.describeClusterDefaults(names) };
      return otherBroker(resourceName, nodeId, `, expected ${nodeId} or empty string,`) ??
        { settings: services.config.describe(names) };
    case ResourceType.BROKER_LOGGER:
      if (resourceName === "") return invalid("Broker id must not be empty");
      return otherBroker(resourceName, nodeId, `, expected ${nodeId}`) ??
        { settings: describeLoggers(names) };
    case ResourceType.CLIENT_METRICS: {
      if (resourceName === "") return invalid("Client metrics subscription name must not be empty");
      const overrides = image.clientMetricsConfigs.get(resourceName) ?? new Map<string, string>();
      return { settings: new ClientMetricsSettings(overrides).describe(names) };
    }
    case ResourceType.GROUP: {
      if (resourceName === "") return invalid("Group name must not be empty");
      const overrides = image.groupConfigs.get(resourceName) ?? new Map<string, string>();
      return { settings: new GroupSettings(overrides, services.config).describe(names) };
    }
    default:
      return invalid(`Resource type ${resourceType} has no settings that this broker tells`);
  }
}

/** Why these are none of this broker's settings; null when they are. */
function otherBroker(name: string, nodeId: number, expected: string): Problem | null {
  const named = nodeIdOf(name);
  if (named === null) return invalid(`Broker id must be an integer, but it is: ${shortened(name)}`);
  return named === nodeId ? null : invalid(`Unexpected broker id${expected} but received ${named}`);
}

function invalid(errorMessage: string): Problem {
  return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage };
}

/** A name for a text, which old versions have no more room for than for the name itself. */
function shortened(name: string): string {
  return name.length <= 255 ? name : `${name.slice(0, 255)}…`;
}
