/** LeaveGroup (key 13): takes members out of a classic group. From version 3 for many members at once. */
import { api, array, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const leaveGroup = api({
  key: 13,
  name: "LeaveGroup",
  versions: [0, 5],
  flexible: 4,
  request: {
    groupId: string,
    memberId: string.until(2),
    members: array({
      memberId: string,
      groupInstanceId: string.nullable().or(null),
      reason: string.since(5).nullable().or(null),
    }).since(3),
  },
  response: {
    throttleTimeMs: int32.since(1).or(0),
    errorCode: int16,
    members: array({
      memberId: string,
      groupInstanceId: string.nullable(),
      errorCode: int16,
    }).since(3),
  },
});

export type LeaveGroupRequest = RequestOf<typeof leaveGroup>;
export type LeaveGroupResponse = ResponseOf<typeof leaveGroup>;
