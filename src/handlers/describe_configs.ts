/**
 * Tells the settings of topics, brokers and groups: value, where it comes from, what it would be without, its type
 * and what it does.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { describeConfigs, DescribeConfigsRequest } from "../codec/messages/describe_configs.ts";
import type { DescribedSetting } from "../config/broker_config.ts";
import { GroupSettings, TopicSettings } from "../config/resource_settings.ts";
import { configSource } from "../config/setting.ts";
import { topicNameProblem } from "../cluster/topic_names.ts";
import type { Handler, RequestContext } from "./context.ts";

const TOPIC = 2, BROKER = 4, GROUP = 32;

type Resource = DescribeConfigsRequest["resources"][number];

/** The settings of a resource, or why there are none. */
type Found = { settings: DescribedSetting[] } | { errorCode: number; errorMessage: string };

export const describeConfigsHandler: Handler<typeof describeConfigs> = (request, context) => {
  const asked = new Map(request.resources.map((r) => [`${r.resourceType} ${r.resourceName}`, r]));
  return { results: [...asked.values()].map((resource) => describe(resource, request, context)) };
};

function describe(resource: Resource, request: DescribeConfigsRequest, context: RequestContext) {
  const { resourceType, resourceName } = resource;
  const found = find(resource, context);
  if ("errorCode" in found) return { ...found, resourceType, resourceName, configs: [] };
  return {
    errorCode: ErrorCode.NONE,
    errorMessage: "",
    resourceType,
    resourceName,
    configs: found.settings.map((setting) => ({
      name: setting.name,
      value: setting.value,
      readOnly: setting.readOnly,
      isDefault: setting.source === configSource.default,
      configSource: setting.source,
      isSensitive: setting.sensitive,
      synonyms: request.includeSynonyms ? setting.synonyms : [],
      configType: setting.type,
      documentation: request.includeDocumentation ? setting.doc : null,
    })),
  };
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
    case TOPIC: {
      const problem = topicNameProblem(resourceName);
      if (problem !== null) return { errorCode: ErrorCode.INVALID_TOPIC_EXCEPTION, errorMessage: problem };
      const topic = image.topics.get(resourceName);
      if (topic === undefined) return { errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, errorMessage: "" };
      return { settings: new TopicSettings(topic.configs, services.config).describe(names) };
    }
    case BROKER:
      if (resourceName === "") return { settings: services.config.describeClusterDefaults() };
      if (!/^-?\d+$/.test(resourceName)) {
        return invalid(`Broker id must be an integer, but it is: ${resourceName}`);
      }
      if (Number(resourceName) !== nodeId) {
        return invalid(
          `Unexpected broker id, expected ${nodeId} or empty string, but received ${resourceName}`,
        );
      }
      return { settings: services.config.describe(names) };
    case GROUP: {
      if (resourceName === "") return invalid("Group name must not be empty");
      const overrides = image.groupConfigs.get(resourceName) ?? new Map<string, string>();
      return { settings: new GroupSettings(overrides, services.config).describe(names) };
    }
    default:
      return invalid(`Resource type ${resourceType} has no settings that this broker tells`);
  }
}

function invalid(errorMessage: string): Found {
  return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage };
}
