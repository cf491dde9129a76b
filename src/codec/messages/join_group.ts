/** JoinGroup (key 11): makes a client a member of a classic group and starts, or waits for, a rebalance. */
import { api, array, bool, bytes, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const joinGroup = api({
  key: 11,
  name: "JoinGroup",
  versions: [0, 9],
  flexible: 6,
  request: {
    groupId: string,
    sessionTimeoutMs: int32,
    rebalanceTimeoutMs: int32.since(1).or(-1),
    memberId: string,
    groupInstanceId: string.since(5).nullable().or(null),
    protocolType: string,
    protocols: array({
      name: string,
      metadata: bytes,
    }),
    reason: string.since(8).nullable().or(null),
  },
  response: {
    throttleTimeMs: int32.since(2).or(0),
    errorCode: int16,
    generationId: int32.or(-1),
    protocolType: string.since(7).nullable().or(null),
    protocolName: string.nullable(7),
    leader: string,
    skipAssignment: bool.since(9).or(false),
    memberId: string,
    members: array({
      memberId: string,
      groupInstanceId: string.since(5).nullable().or(null),
      metadata: bytes,
    }),
  },
});

export type JoinGroupRequest = RequestOf<typeof joinGroup>;
export type JoinGroupResponse = ResponseOf<typeof joinGroup>;
