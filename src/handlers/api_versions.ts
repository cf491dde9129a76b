/**
 * Lists what this broker serves. Features are advertised only once they work: clients change their behaviour by
 * them (without `transaction.version` 2, Java clients speak the older transaction protocol).
 */
import { ErrorCode } from "../codec/errors.ts";
import type { apiVersions } from "../codec/messages/api_versions.ts";
import type { Handler } from "./context.ts";
import type { Registry } from "./registry.ts";

/** Client names and versions as KIP-511 allows them. */
const SOFTWARE_NAME = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/;

/** The handler; the registry that it lists is complete only after the handler is in it. */
export function apiVersionsHandler(registry: () => Registry): Handler<typeof apiVersions> {
  return (request, context) => {
    const { version } = context;
    const named = SOFTWARE_NAME.test(request.clientSoftwareName) &&
      SOFTWARE_NAME.test(request.clientSoftwareVersion);
    if (version >= 3 && !named) return { errorCode: ErrorCode.INVALID_REQUEST, apiKeys: [] };
    if (named) context.software = { name: request.clientSoftwareName, version: request.clientSoftwareVersion };
    return {
      errorCode: ErrorCode.NONE,
      apiKeys: registry().all.map(({ api, versions }) => ({
        apiKey: api.key,
        minVersion: versions[0],
        maxVersion: versions[1],
      })),
    };
  };
}
