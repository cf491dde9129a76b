/**
 * Lists what this broker serves, and the features of the cluster. From version 5 on a client may say which broker it means
 * to talk to (KIP-1242), and is told when it has come to another.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { apiVersions, ApiVersionsRequest } from "../codec/messages/api_versions.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { levelOf } from "../cluster/features.ts";
import type { Handler } from "./context.ts";
import type { Registry } from "./registry.ts";

/** Client names and versions as KIP-511 allows them. */
const SOFTWARE_NAME = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/;

const firstWithSoftware = 3;
/** Clients before this version take a feature that may be off, at level 0, for an error (KIP-1022). */
const firstWithFeaturesOff = 4;
const NO_NODE = -1;

/** The handler; the registry that it lists is complete only after the handler is in it. */
export function apiVersionsHandler(registry: () => Registry): Handler<typeof apiVersions> {
  return (request, context) => {
    const { services: { cluster }, version } = context;
    const errorCode = requestError(request, cluster, version);
    if (errorCode !== ErrorCode.NONE) return { errorCode, apiKeys: [] };
    if (version >= firstWithSoftware) {
      context.software = { name: request.clientSoftwareName, version: request.clientSoftwareVersion };
    }
    return {
      errorCode,
      apiKeys: registry().all.map(({ api, versions }) => ({
        apiKey: api.key,
        minVersion: versions[0],
        maxVersion: versions[1],
      })),
      ...features(cluster, version),
    };
  };
}

function requestError(request: ApiVersionsRequest, cluster: Cluster, version: number): number {
  const isNamed = SOFTWARE_NAME.test(request.clientSoftwareName) &&
    SOFTWARE_NAME.test(request.clientSoftwareVersion);
  if (version >= firstWithSoftware && !isNamed) return ErrorCode.INVALID_REQUEST;
  const { clusterId, nodeId } = request;
  if ((clusterId === null) !== (nodeId === NO_NODE)) return ErrorCode.INVALID_REQUEST;
  const isMeant = clusterId === null || (clusterId === cluster.image.clusterId && nodeId === cluster.nodeId);
  return isMeant ? ErrorCode.NONE : ErrorCode.REBOOTSTRAP_REQUIRED;
}

function features({ features, image: { featureLevels }, revision }: Cluster, version: number) {
  return {
    supportedFeatures: features
      .filter(({ versions }) => versions[0] > 0 || version >= firstWithFeaturesOff)
      .map(({ name, versions }) => ({ name, minVersion: versions[0], maxVersion: versions[1] })),
    finalizedFeaturesEpoch: revision,
    finalizedFeatures: features.flatMap((feature) => {
      const level = levelOf(feature, featureLevels);
      return level === 0 ? [] : [{ name: feature.name, maxVersionLevel: level, minVersionLevel: level }];
    }),
  };
}
