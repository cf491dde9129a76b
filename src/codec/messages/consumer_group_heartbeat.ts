/** ConsumerGroupHeartbeat (key 68): is the one request by which a KIP-848 consumer joins, stays in and leaves a group. */
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

export const consumerGroupHeartbeat = api({
  key: 68,
  name: "ConsumerGroupHeartbeat",
  versions: [0, 1],
  flexible: 0,
  request: {
    groupId: string,
    memberId: string,
    memberEpoch: int32,
    instanceId: string.nullable().or(null),
    rackId: string.nullable().or(null),
    rebalanceTimeoutMs: int32.or(-1),
    subscribedTopicNames: array(string).nullable().or(null),
    subscribedTopicRegex: string.since(1).nullable().or(null),
    serverAssignor: string.nullable().or(null),
    topicPartitions: array({
      topicId: uuid,
      partitions: array(int32),
    }).nullable().or(null),
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

export type ConsumerGroupHeartbeatRequest = RequestOf<typeof consumerGroupHeartbeat>;
export type ConsumerGroupHeartbeatResponse = ResponseOf<typeof consumerGroupHeartbeat>;
