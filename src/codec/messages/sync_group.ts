/** SyncGroup (key 14): hands the leader's assignment out to the members of a classic group. */
import { api, array, bytes, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const syncGroup = api({
  key: 14,
  name: "SyncGroup",
  versions: [0, 5],
  flexible: 4,
  request: {
    groupId: string,
    generationId: int32,
    memberId: string,
    groupInstanceId: string.since(3).nullable().or(null),
    protocolType: string.since(5).nullable().or(null),
    protocolName: string.since(5).nullable().or(null),
    assignments: array({
      memberId: string,
      assignment: bytes,
    }),
  },
  response: {
    throttleTimeMs: int32.since(1).or(0),
    errorCode: int16,
    protocolType: string.since(5).nullable().or(null),
    protocolName: string.since(5).nullable().or(null),
    assignment: bytes,
  },
});

export type SyncGroupRequest = RequestOf<typeof syncGroup>;
export type SyncGroupResponse = ResponseOf<typeof syncGroup>;
