/** CreateAcls (key 30): adds access rules. */
import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const createAcls = api({
  key: 30,
  name: "CreateAcls",
  versions: [0, 3],
  flexible: 2,
  request: {
    creations: array({
      resourceType: int8,
      resourceName: string,
      resourcePatternType: int8.since(1).or(3),
      principal: string,
      host: string,
      operation: int8,
      permissionType: int8,
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    results: array({
      errorCode: int16,
      errorMessage: string.nullable().or(null),
    }),
  },
});

export type CreateAclsRequest = RequestOf<typeof createAcls>;
export type CreateAclsResponse = ResponseOf<typeof createAcls>;
