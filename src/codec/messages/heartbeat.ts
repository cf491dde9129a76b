/** Heartbeat (key 12): keeps a member of a classic group alive and tells it of a rebalance. */
import { api, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const heartbeat = api({
  key: 12,
  name: "Heartbeat",
  versions: [0, 4],
  flexible: 4,
  request: {
    groupId: string,
    generationId: int32,
    memberId: string,
    groupInstanceId: string.since(3).nullable().or(null),
  },
  response: {
    throttleTimeMs: int32.since(1).or(0),
    errorCode: int16,
  },
});

export type HeartbeatRequest = RequestOf<typeof heartbeat>;
export type HeartbeatResponse = ResponseOf<typeof heartbeat>;
