/** Lists what has settings: groups and client metrics that some were set for, and every broker, its loggers, and topic. */
import { ResourceType } from "../cluster/alter_configs.ts";
import type { MetadataImage } from "../cluster/image.ts";
import { ErrorCode } from "../codec/errors.ts";
import { type listConfigResources, typesCanBeNamed } from "../codec/messages/list_config_resources.ts";
import type { Handler } from "./context.ts";

type Names = (image: MetadataImage) => Iterable<string>;

/** The names of each kind, in the order in which the kinds are listed. */
const namesOf: ReadonlyMap<number, Names> = new Map<number, Names>([
  [ResourceType.GROUP, (image) => image.groupConfigs.keys()],
  [ResourceType.CLIENT_METRICS, (image) => image.clientMetricsConfigs.keys()],
  [ResourceType.BROKER_LOGGER, brokerIds],
  [ResourceType.BROKER, brokerIds],
  [ResourceType.TOPIC, (image) => image.topics.keys()],
]);

export const listConfigResourcesHandler: Handler<typeof listConfigResources> = (request, context) => {
  const asked = context.version < typesCanBeNamed ? [ResourceType.CLIENT_METRICS] : request.resourceTypes;
  if (asked.some((type) => !namesOf.has(type))) {
    return { errorCode: ErrorCode.UNSUPPORTED_VERSION, configResources: [] };
  }
  const { image } = context.services.cluster;
  const configResources = [...namesOf].filter(([type]) => asked.length === 0 || asked.includes(type)).flatMap(
    ([resourceType, names]) => [...names(image)].map((resourceName) => ({ resourceName, resourceType })),
  );
  return { errorCode: ErrorCode.NONE, configResources };
};

function brokerIds(image: MetadataImage): string[] {
  return [...image.brokers.keys()].map(String);
}
