/** ApiVersions (key 18): tells which APIs and versions a broker serves. The response header is version 0 whatever the version. */
import { api, array, bool, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const apiVersions = api({
  key: 18,
  name: "ApiVersions",
  versions: [0, 5],
  flexible: 3,
  request: {
    clientSoftwareName: string.since(3),
    clientSoftwareVersion: string.since(3),
    clusterId: string.since(5).nullable().or(null),
    nodeId: int32.since(5).or(-1),
  },
  response: {
    errorCode: int16,
    apiKeys: array({
      apiKey: int16,
      minVersion: int16,
      maxVersion: int16,
    }),
    throttleTimeMs: int32.since(1).or(0),
    supportedFeatures: array({
      name: string,
      minVersion: int16,
      maxVersion: int16,
    }).since(3).tagged(0, 3),
    finalizedFeaturesEpoch: int64.since(3).tagged(1, 3).or(-1n),
    finalizedFeatures: array({
      name: string,
      maxVersionLevel: int16,
      minVersionLevel: int16,
    }).since(3).tagged(2, 3),
    zkMigrationReady: bool.since(3).tagged(3, 3).or(false),
  },
});

export type ApiVersionsRequest = RequestOf<typeof apiVersions>;
export type ApiVersionsResponse = ResponseOf<typeof apiVersions>;
