/** AlterConfigs (key 33): replaces all settings of a resource: what is not named goes back to its default. */
import { api, array, bool, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const alterConfigs = api({
  key: 33,
  name: "AlterConfigs",
  versions: [0, 2],
  flexible: 2,
  request: {
    resources: array({
      resourceType: int8,
      resourceName: string,
      configs: array({
        name: string,
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

export type AlterConfigsRequest = RequestOf<typeof alterConfigs>;
export type AlterConfigsResponse = ResponseOf<typeof alterConfigs>;
