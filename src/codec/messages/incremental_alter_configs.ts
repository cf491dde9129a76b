/** IncrementalAlterConfigs (key 44): changes single settings: set, delete, append, subtract (KIP-339). */
import { api, array, bool, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const incrementalAlterConfigs = api({
  key: 44,
  name: "IncrementalAlterConfigs",
  versions: [0, 1],
  flexible: 1,
  request: {
    resources: array({
      resourceType: int8,
      resourceName: string,
      configs: array({
        name: string,
        configOperation: int8,
        value: string.nullable(),
      }),
    }),
    validateOnly: bool,
  },
  response: {
    throttleTimeMs: int32.or(0),
    responses: array({
      errorCode: int16,
      errorMessage: string.nullable().or(null),
      resourceType: int8,
      resourceName: string,
    }),
  },
});

export type IncrementalAlterConfigsRequest = RequestOf<typeof incrementalAlterConfigs>;
export type IncrementalAlterConfigsResponse = ResponseOf<typeof incrementalAlterConfigs>;
