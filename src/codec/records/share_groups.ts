/**
 * Facts of share groups in `__consumer_offsets` (KIP-932).
 */
import { array, int32, int64, int8, message, string, uuid } from "../schema.ts";

/** Record type 10. */
export const shareGroupMemberMetadataKey = message({
  name: "ShareGroupMemberMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    memberId: string,
  },
});

/** Record type 10. */
export const shareGroupMemberMetadataValue = message({
  name: "ShareGroupMemberMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    rackId: string.nullable(),
    clientId: string,
    clientHost: string,
    subscribedTopicNames: array(string),
  },
});

/** Record type 11. */
export const shareGroupMetadataKey = message({
  name: "ShareGroupMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
  },
});

/** Record type 11. */
export const shareGroupMetadataValue = message({
  name: "ShareGroupMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    epoch: int32,
    metadataHash: int64,
  },
});

/** Record type 12. */
export const shareGroupTargetAssignmentMetadataKey = message({
  name: "ShareGroupTargetAssignmentMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
  },
});

/** Record type 12. */
export const shareGroupTargetAssignmentMetadataValue = message({
  name: "ShareGroupTargetAssignmentMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    assignmentEpoch: int32,
    assignmentTimestamp: int64.tagged(0).or(0n),
  },
});

/** Record type 13. */
export const shareGroupTargetAssignmentMemberKey = message({
  name: "ShareGroupTargetAssignmentMemberKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    memberId: string,
  },
});

/** Record type 13. */
export const shareGroupTargetAssignmentMemberValue = message({
  name: "ShareGroupTargetAssignmentMemberValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    topicPartitions: array({
      topicId: uuid,
      partitions: array(int32),
    }),
  },
});

/** Record type 14. */
export const shareGroupCurrentMemberAssignmentKey = message({
  name: "ShareGroupCurrentMemberAssignmentKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    memberId: string,
  },
});

const shareGroupCurrentMemberAssignmentValueTopicPartitions = {
  topicId: uuid,
  partitions: array(int32),
};

/** Record type 14. */
export const shareGroupCurrentMemberAssignmentValue = message({
  name: "ShareGroupCurrentMemberAssignmentValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    memberEpoch: int32,
    previousMemberEpoch: int32,
    state: int8,
    assignedPartitions: array(shareGroupCurrentMemberAssignmentValueTopicPartitions),
  },
});

/** Record type 15. */
export const shareGroupStatePartitionMetadataKey = message({
  name: "ShareGroupStatePartitionMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
  },
});

const shareGroupStatePartitionMetadataValueTopicInfo = {
  topicId: uuid,
  topicName: string,
};

const shareGroupStatePartitionMetadataValueTopicPartitionsInfo = {
  topicId: uuid,
  topicName: string,
  partitions: array(int32),
};

/** Record type 15. */
export const shareGroupStatePartitionMetadataValue = message({
  name: "ShareGroupStatePartitionMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    initializingTopics: array(shareGroupStatePartitionMetadataValueTopicPartitionsInfo),
    initializedTopics: array(shareGroupStatePartitionMetadataValueTopicPartitionsInfo),
    deletingTopics: array(shareGroupStatePartitionMetadataValueTopicInfo),
  },
});
