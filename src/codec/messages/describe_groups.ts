/** DescribeGroups (key 15): tells the state and members of classic groups. */
import { api, array, bool, bytes, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const describeGroups = api({
  key: 15,
  name: "DescribeGroups",
  versions: [0, 6],
  flexible: 5,
  request: {
    groups: array(string),
    includeAuthorizedOperations: bool.since(3),
  },
  response: {
    throttleTimeMs: int32.since(1).or(0),
    groups: array({
      errorCode: int16,
      errorMessage: string.since(6).nullable().or(null),
      groupId: string,
      groupState: string,
      protocolType: string,
      protocolData: string,
      members: array({
        memberId: string,
        groupInstanceId: string.since(4).nullable().or(null),
        clientId: string,
        clientHost: string,
        memberMetadata: bytes,
        memberAssignment: bytes,
      }),
      authorizedOperations: int32.since(3).or(-(2 ** 31)),
    }),
  },
});

export type DescribeGroupsRequest = RequestOf<typeof describeGroups>;
export type DescribeGroupsResponse = ResponseOf<typeof describeGroups>;
