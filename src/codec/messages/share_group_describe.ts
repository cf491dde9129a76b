/** ShareGroupDescribe (key 77): tells the state and members of share groups. */
import {
  api,
  array,
  bool,
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
  topicName: string,
  partitions: array(int32),
};

const assignment = {
  topicPartitions: array(topicPartitions),
};

export const shareGroupDescribe = api({
  key: 77,
  name: "ShareGroupDescribe",
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
        rackId: string.nullable().or(null),
        memberEpoch: int32,
        clientId: string,
        clientHost: string,
        subscribedTopicNames: array(string),
        assignment: struct(assignment),
      }),
      authorizedOperations: int32.or(-(2 ** 31)),
    }),
  },
});

export type ShareGroupDescribeRequest = RequestOf<typeof shareGroupDescribe>;
export type ShareGroupDescribeResponse = ResponseOf<typeof shareGroupDescribe>;
