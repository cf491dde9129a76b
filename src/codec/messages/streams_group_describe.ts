/** StreamsGroupDescribe (key 89): tells the state, topology and members of streams groups. */
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

const topologyDescriptionNode = {
  name: string.since(1),
  nodeType: int8.since(1),
  sourceTopics: array(string).since(1),
  sinkTopic: string.since(1).nullable().or(null),
  stores: array(string).since(1),
  successors: array(string).since(1),
};

const topologyDescriptionGlobalStore = {
  source: struct(topologyDescriptionNode).since(1),
  processor: struct(topologyDescriptionNode).since(1),
};

const topologyDescriptionSubtopology = {
  subtopologyId: string.since(1),
  nodes: array(topologyDescriptionNode).since(1),
};

const taskIds = {
  subtopologyId: string,
  partitions: array(int32),
};

const topologyDescription = {
  subtopologies: array(topologyDescriptionSubtopology).since(1),
  globalStores: array(topologyDescriptionGlobalStore).since(1),
};

const assignment = {
  activeTasks: array(taskIds),
  standbyTasks: array(taskIds),
  warmupTasks: array(taskIds),
};

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

const topicInfo = {
  name: string,
  partitions: int32,
  replicationFactor: int16,
  topicConfigs: array(keyValue),
};

export const streamsGroupDescribe = api({
  key: 89,
  name: "StreamsGroupDescribe",
  versions: [0, 1],
  flexible: 0,
  request: {
    groupIds: array(string),
    includeAuthorizedOperations: bool,
    includeTopologyDescription: bool.since(1).or(false),
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
      topology: struct({
        epoch: int32,
        subtopologies: array({
          subtopologyId: string,
          sourceTopics: array(string),
          repartitionSinkTopics: array(string),
          stateChangelogTopics: array(topicInfo),
          repartitionSourceTopics: array(topicInfo),
        }).nullable().or(null),
      }).nullable().or(null),
      members: array({
        memberId: string,
        memberEpoch: int32,
        instanceId: string.nullable().or(null),
        rackId: string.nullable().or(null),
        clientId: string,
        clientHost: string,
        topologyEpoch: int32,
        processId: string,
        userEndpoint: struct(endpoint).nullable().or(null),
        clientTags: array(keyValue),
        taskOffsets: array(taskOffset),
        taskEndOffsets: array(taskOffset),
        assignment: struct(assignment),
        targetAssignment: struct(assignment),
        isClassic: bool,
      }),
      authorizedOperations: int32.or(-(2 ** 31)),
      topologyDescription: struct(topologyDescription).since(1).nullable().or(null),
      topologyDescriptionStatus: int8.since(1).or(0),
      assignorName: string.since(1).nullable().or(null),
    }),
  },
});

export type StreamsGroupDescribeRequest = RequestOf<typeof streamsGroupDescribe>;
export type StreamsGroupDescribeResponse = ResponseOf<typeof streamsGroupDescribe>;
