/** DeleteAcls (key 31): removes access rules that match filters. */
import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const deleteAcls = api({
  key: 31,
  name: "DeleteAcls",
  versions: [0, 3],
  flexible: 2,
  request: {
    filters: array({
      resourceTypeFilter: int8,
      resourceNameFilter: string.nullable(),
      patternTypeFilter: int8.since(1).or(3),
      principalFilter: string.nullable(),
      hostFilter: string.nullable(),
      operation: int8,
      permissionType: int8,
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    filterResults: array({
      errorCode: int16,
      errorMessage: string.nullable().or(null),
      matchingAcls: array({
        errorCode: int16,
        errorMessage: string.nullable().or(null),
        resourceType: int8,
        resourceName: string,
        patternType: int8.since(1).or(3),
        principal: string,
        host: string,
        operation: int8,
        permissionType: int8,
      }),
    }),
  },
});

export type DeleteAclsRequest = RequestOf<typeof deleteAcls>;
export type DeleteAclsResponse = ResponseOf<typeof deleteAcls>;
