/** ConsumerGroupDescribe (key 69): tells the state and members of KIP-848 consumer groups. */
import {
  api,
  array,
  bool,
  int16,
  int32,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from "../schema.ts";

const topicPartitions = {
  topicId: uuid,
  topicName: string,
  partitions: array(int32),
};

const assignment = {
  topicPartitions: array(topicPartitions),
};

export const consumerGroupDescribe = api({
  key: 69,
  name: "ConsumerGroupDescribe",
  versions: [0, 1],
  flexible: 0,
  request: {
    groupIds: array(string),
    includeAuthorizedOperations: bool,
  },
  response: {
    throttleTimeMs: int32.or(0),
    groups: array({
      errorCode: int16,
      errorMessage: string.nullable().or(null),
      groupId: string,
      groupState: string,
      groupEpoch: int32,
      assignmentEpoch: int32,
      assignorName: string,
      members: array({
        memberId: string,
        instanceId: string.nullable().or(null),
        rackId: string.nullable().or(null),
        memberEpoch: int32,
        clientId: string,
        clientHost: string,
        subscribedTopicNames: array(string),
        subscribedTopicRegex: string.nullable().or(null),
        assignment: struct(assignment),
        targetAssignment: struct(assignment),
        memberType: int8.since(1).or(-1),
      }),
      authorizedOperations: int32.or(-(2 ** 31)),
    }),
  },
});

export type ConsumerGroupDescribeRequest = RequestOf<typeof consumerGroupDescribe>;
export type ConsumerGroupDescribeResponse = ResponseOf<typeof consumerGroupDescribe>;
