/** ShareGroupHeartbeat (key 76): is the one request by which a consumer joins, stays in and leaves a share group (KIP-932). */
import {
  api,
  array,
  int16,
  int32,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from "../schema.ts";

const topicPartitions = {
  topicId: uuid,
  partitions: array(int32),
};

export const shareGroupHeartbeat = api({
  key: 76,
  name: "ShareGroupHeartbeat",
  versions: [0, 1],
  flexible: 0,
  request: {
    groupId: string,
    memberId: string,
    memberEpoch: int32,
    rackId: string.nullable().or(null),
    subscribedTopicNames: array(string).nullable().or(null),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    memberId: string.nullable().or(null),
    memberEpoch: int32,
    heartbeatIntervalMs: int32,
    assignment: struct({
      topicPartitions: array(topicPartitions),
    }).nullable().or(null),
  },
});

export type ShareGroupHeartbeatRequest = RequestOf<typeof shareGroupHeartbeat>;
export type ShareGroupHeartbeatResponse = ResponseOf<typeof shareGroupHeartbeat>;
