/** UpdateFeatures (key 57): raises or lowers the finalized feature levels of the cluster. */
import { api, array, bool, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const updateFeatures = api({
  key: 57,
  name: "UpdateFeatures",
  versions: [0, 2],
  flexible: 0,
  request: {
    timeoutMs: int32.or(60000),
    featureUpdates: array({
      feature: string,
      maxVersionLevel: int16,
      allowDowngrade: bool.until(0),
      upgradeType: int8.since(1).or(1),
    }),
    validateOnly: bool.since(1).or(false),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    results: array({
      feature: string,
      errorCode: int16,
      errorMessage: string.nullable().or(null),
    }).until(1),
  },
});

export type UpdateFeaturesRequest = RequestOf<typeof updateFeatures>;
export type UpdateFeaturesResponse = ResponseOf<typeof updateFeatures>;
