/** StreamsGroupHeartbeat (key 88): is the one request by which a Kafka Streams client joins, stays in and leaves a streams group (KIP-1071). */
import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uint16,
} from "../schema.ts";

const taskOffset = {
  subtopologyId: string,
  partition: int32,
  offset: int64,
};

const keyValue = {
  key: string,
  value: string,
};

const endpoint = {
  host: string,
  port: uint16,
};

const taskIds = {
  subtopologyId: string,
  partitions: array(int32),
};

const topicInfo = {
  name: string,
  partitions: int32,
  replicationFactor: int16,
  topicConfigs: array(keyValue),
};

const topicPartition = {
  topic: string,
  partitions: array(int32),
};

const status = {
  statusCode: int8,
  statusDetail: string,
};

export const streamsGroupHeartbeat = api({
  key: 88,
  name: "StreamsGroupHeartbeat",
  versions: [0, 1],
  flexible: 0,
  request: {
    groupId: string,
    memberId: string,
    memberEpoch: int32,
    endpointInformationEpoch: int32,
    instanceId: string.nullable().or(null),
    rackId: string.nullable().or(null),
    rebalanceTimeoutMs: int32.or(-1),
    topology: struct({
      epoch: int32,
      subtopologies: array({
        subtopologyId: string,
        sourceTopics: array(string),
        sourceTopicRegex: array(string),
        stateChangelogTopics: array(topicInfo),
        repartitionSinkTopics: array(string),
        repartitionSourceTopics: array(topicInfo),
        copartitionGroups: array({
          sourceTopics: array(int16),
          sourceTopicRegex: array(int16),
          repartitionSourceTopics: array(int16),
        }),
      }),
    }).nullable().or(null),
    activeTasks: array(taskIds).nullable().or(null),
    standbyTasks: array(taskIds).nullable().or(null),
    warmupTasks: array(taskIds).nullable().or(null),
    processId: string.nullable().or(null),
    userEndpoint: struct(endpoint).nullable().or(null),
    clientTags: array(keyValue).nullable().or(null),
    taskOffsets: array(taskOffset).nullable().or(null),
    taskEndOffsets: array(taskOffset).nullable().or(null),
    shutdownApplication: bool.or(false),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    memberId: string,
    memberEpoch: int32,
    heartbeatIntervalMs: int32,
    acceptableRecoveryLagLegacy: int32.until(0),
    taskOffsetIntervalMs: int32,
    acceptableRecoveryLag: int64.since(1).or(-1n),
    status: array(status).nullable(),
    activeTasks: array(taskIds).nullable().or(null),
    standbyTasks: array(taskIds).nullable().or(null),
    warmupTasks: array(taskIds).nullable().or(null),
    topologyDescriptionRequired: bool.since(1).or(false),
    endpointInformationEpoch: int32,
    partitionsByUserEndpoint: array({
      userEndpoint: struct(endpoint),
      activePartitions: array(topicPartition),
      standbyPartitions: array(topicPartition),
    }).nullable().or(null),
  },
});

export type StreamsGroupHeartbeatRequest = RequestOf<typeof streamsGroupHeartbeat>;
export type StreamsGroupHeartbeatResponse = ResponseOf<typeof streamsGroupHeartbeat>;
