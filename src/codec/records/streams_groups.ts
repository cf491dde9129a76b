/**
 * Facts of streams groups in `__consumer_offsets` (KIP-1071).
 */
import { array, int16, int32, int64, int8, message, string, struct, uint16 } from "../schema.ts";

/** Record type 17. */
export const streamsGroupMetadataKey = message({
  name: "StreamsGroupMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
  },
});

const streamsGroupMetadataValueLastAssignmentConfig = {
  key: string,
  value: string,
};

/** Record type 17. */
export const streamsGroupMetadataValue = message({
  name: "StreamsGroupMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    epoch: int32,
    metadataHash: int64,
    validatedTopologyEpoch: int32.tagged(0).or(-1),
    lastAssignmentConfigs: array(streamsGroupMetadataValueLastAssignmentConfig).nullable().tagged(1),
    storedDescriptionTopologyEpoch: int32.tagged(2).or(-1),
    failedDescriptionTopologyEpoch: int32.tagged(3).or(-1),
  },
});

/** Record type 19. */
export const streamsGroupMemberMetadataKey = message({
  name: "StreamsGroupMemberMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    memberId: string,
  },
});

const streamsGroupMemberMetadataValueKeyValue = {
  key: string,
  value: string,
};

const streamsGroupMemberMetadataValueEndpoint = {
  host: string,
  port: uint16,
};

/** Record type 19. */
export const streamsGroupMemberMetadataValue = message({
  name: "StreamsGroupMemberMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    instanceId: string.nullable(),
    rackId: string.nullable(),
    clientId: string,
    clientHost: string,
    rebalanceTimeoutMs: int32.or(-1),
    topologyEpoch: int32,
    processId: string,
    userEndpoint: struct(streamsGroupMemberMetadataValueEndpoint).nullable().or(null),
    clientTags: array(streamsGroupMemberMetadataValueKeyValue),
  },
});

/** Record type 20. */
export const streamsGroupTargetAssignmentMetadataKey = message({
  name: "StreamsGroupTargetAssignmentMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
  },
});

/** Record type 20. */
export const streamsGroupTargetAssignmentMetadataValue = message({
  name: "StreamsGroupTargetAssignmentMetadataValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    assignmentEpoch: int32,
    assignmentTimestamp: int64.tagged(0).or(0n),
  },
});

/** Record type 21. */
export const streamsGroupTargetAssignmentMemberKey = message({
  name: "StreamsGroupTargetAssignmentMemberKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    memberId: string,
  },
});

const streamsGroupTargetAssignmentMemberValueTaskIds = {
  subtopologyId: string,
  partitions: array(int32),
};

/** Record type 21. */
export const streamsGroupTargetAssignmentMemberValue = message({
  name: "StreamsGroupTargetAssignmentMemberValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    activeTasks: array(streamsGroupTargetAssignmentMemberValueTaskIds),
    standbyTasks: array(streamsGroupTargetAssignmentMemberValueTaskIds),
    warmupTasks: array(streamsGroupTargetAssignmentMemberValueTaskIds),
  },
});

/** Record type 22. */
export const streamsGroupCurrentMemberAssignmentKey = message({
  name: "StreamsGroupCurrentMemberAssignmentKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    memberId: string,
  },
});

const streamsGroupCurrentMemberAssignmentValueTaskIds = {
  subtopologyId: string,
  partitions: array(int32),
  assignmentEpochs: array(int32).nullable().tagged(0),
};

/** Record type 22. */
export const streamsGroupCurrentMemberAssignmentValue = message({
  name: "StreamsGroupCurrentMemberAssignmentValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    memberEpoch: int32,
    previousMemberEpoch: int32,
    state: int8,
    activeTasks: array(streamsGroupCurrentMemberAssignmentValueTaskIds),
    standbyTasks: array(streamsGroupCurrentMemberAssignmentValueTaskIds),
    warmupTasks: array(streamsGroupCurrentMemberAssignmentValueTaskIds),
    activeTasksPendingRevocation: array(streamsGroupCurrentMemberAssignmentValueTaskIds),
    standbyTasksPendingRevocation: array(streamsGroupCurrentMemberAssignmentValueTaskIds),
    warmupTasksPendingRevocation: array(streamsGroupCurrentMemberAssignmentValueTaskIds),
  },
});

/** Record type 23. */
export const streamsGroupTopologyKey = message({
  name: "StreamsGroupTopologyKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
  },
});

const streamsGroupTopologyValueTopicConfig = {
  key: string,
  value: string,
};

const streamsGroupTopologyValueTopicInfo = {
  name: string,
  partitions: int32,
  replicationFactor: int16,
  topicConfigs: array(streamsGroupTopologyValueTopicConfig),
};

/** Record type 23. */
export const streamsGroupTopologyValue = message({
  name: "StreamsGroupTopologyValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    epoch: int32,
    subtopologies: array({
      subtopologyId: string,
      sourceTopics: array(string),
      sourceTopicRegex: array(string),
      stateChangelogTopics: array(streamsGroupTopologyValueTopicInfo),
      repartitionSinkTopics: array(string),
      repartitionSourceTopics: array(streamsGroupTopologyValueTopicInfo),
      copartitionGroups: array({
        sourceTopics: array(int16),
        sourceTopicRegex: array(int16),
        repartitionSourceTopics: array(int16),
      }),
    }),
  },
});
