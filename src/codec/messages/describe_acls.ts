/** DescribeAcls (key 29): lists access rules that match a filter. */
import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const describeAcls = api({
  key: 29,
  name: "DescribeAcls",
  versions: [0, 3],
  flexible: 2,
  request: {
    resourceTypeFilter: int8,
    resourceNameFilter: string.nullable(),
    patternTypeFilter: int8.since(1).or(3),
    principalFilter: string.nullable(),
    hostFilter: string.nullable(),
    operation: int8,
    permissionType: int8,
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    resources: array({
      resourceType: int8,
      resourceName: string,
      patternType: int8.since(1).or(3),
      acls: array({
        principal: string,
        host: string,
        operation: int8,
        permissionType: int8,
      }),
    }),
  },
});

export type DescribeAclsRequest = RequestOf<typeof describeAcls>;
export type DescribeAclsResponse = ResponseOf<typeof describeAcls>;
