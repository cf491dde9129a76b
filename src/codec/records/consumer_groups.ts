/**
 * Facts of KIP-848 consumer groups in `__consumer_offsets`.
 */
import { array, bytes, int32, int64, int8, message, string, struct, uuid } from "../schema.ts";

/** Record type 3. */
export const consumerGroupMetadataKey = message({
  name: "ConsumerGroupMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
  },
});

/** Record type 3. */
export const consumerGroupMetadataValue = message({
  name: "ConsumerGroupMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    epoch: int32,
    metadataHash: int64.tagged(0).or(0n),
  },
});

/** Record type 4. */
export const consumerGroupPartitionMetadataKey = message({
  name: "ConsumerGroupPartitionMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
  },
});

/** Record type 4. */
export const consumerGroupPartitionMetadataValue = message({
  name: "ConsumerGroupPartitionMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    topics: array({
      topicId: uuid,
      topicName: string,
      numPartitions: int32,
      partitionMetadata: array({
        partition: int32,
        racks: array(string),
      }),
    }),
  },
});

/** Record type 5. */
export const consumerGroupMemberMetadataKey = message({
  name: "ConsumerGroupMemberMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    memberId: string,
  },
});

/** Record type 5. */
export const consumerGroupMemberMetadataValue = message({
  name: "ConsumerGroupMemberMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    instanceId: string.nullable(),
    rackId: string.nullable(),
    clientId: string,
    clientHost: string,
    subscribedTopicNames: array(string),
    subscribedTopicRegex: string.nullable(),
    rebalanceTimeoutMs: int32.or(-1),
    serverAssignor: string.nullable(),
    classicMemberMetadata: struct({
      sessionTimeoutMs: int32,
      supportedProtocols: array({
        name: string,
        metadata: bytes,
      }),
    }).nullable().tagged(0),
  },
});

/** Record type 6. */
export const consumerGroupTargetAssignmentMetadataKey = message({
  name: "ConsumerGroupTargetAssignmentMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
  },
});

/** Record type 6. */
export const consumerGroupTargetAssignmentMetadataValue = message({
  name: "ConsumerGroupTargetAssignmentMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    assignmentEpoch: int32,
    assignmentTimestamp: int64.tagged(0).or(0n),
  },
});

/** Record type 7. */
export const consumerGroupTargetAssignmentMemberKey = message({
  name: "ConsumerGroupTargetAssignmentMemberKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    memberId: string,
  },
});

/** Record type 7. */
export const consumerGroupTargetAssignmentMemberValue = message({
  name: "ConsumerGroupTargetAssignmentMemberValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    topicPartitions: array({
      topicId: uuid,
      partitions: array(int32),
    }),
  },
});

/** Record type 8. */
export const consumerGroupCurrentMemberAssignmentKey = message({
  name: "ConsumerGroupCurrentMemberAssignmentKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    memberId: string,
  },
});

const consumerGroupCurrentMemberAssignmentValueTopicPartitions = {
  topicId: uuid,
  partitions: array(int32),
  assignmentEpochs: array(int32).nullable().tagged(0),
};

/** Record type 8. */
export const consumerGroupCurrentMemberAssignmentValue = message({
  name: "ConsumerGroupCurrentMemberAssignmentValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    memberEpoch: int32,
    previousMemberEpoch: int32,
    state: int8,
    assignedPartitions: array(consumerGroupCurrentMemberAssignmentValueTopicPartitions),
    partitionsPendingRevocation: array(consumerGroupCurrentMemberAssignmentValueTopicPartitions),
  },
});

/** Record type 16. */
export const consumerGroupRegularExpressionKey = message({
  name: "ConsumerGroupRegularExpressionKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    regularExpression: string,
  },
});

/** Record type 16. */
export const consumerGroupRegularExpressionValue = message({
  name: "ConsumerGroupRegularExpressionValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    topics: array(string),
    version: int64,
    timestamp: int64,
  },
});
