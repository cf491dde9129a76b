/** StreamsGroupTopologyDescriptionUpdate (key 93): stores the readable description of a streams group's topology. */
import {
  api,
  array,
  int16,
  int32,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
} from "../schema.ts";

const topologyDescriptionNode = {
  name: string,
  nodeType: int8,
  sourceTopics: array(string),
  sinkTopic: string.nullable().or(null),
  stores: array(string),
  successors: array(string),
};

const topologyDescriptionGlobalStore = {
  source: struct(topologyDescriptionNode),
  processor: struct(topologyDescriptionNode),
};

const topologyDescriptionSubtopology = {
  subtopologyId: string,
  nodes: array(topologyDescriptionNode),
};

const topologyDescription = {
  subtopologies: array(topologyDescriptionSubtopology),
  globalStores: array(topologyDescriptionGlobalStore),
};

export const streamsGroupTopologyDescriptionUpdate = api({
  key: 93,
  name: "StreamsGroupTopologyDescriptionUpdate",
  versions: [0, 0],
  flexible: 0,
  request: {
    groupId: string,
    memberId: string,
    topologyEpoch: int32,
    topologyDescription: struct(topologyDescription),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
  },
});

export type StreamsGroupTopologyDescriptionUpdateRequest = RequestOf<
  typeof streamsGroupTopologyDescriptionUpdate
>;
export type StreamsGroupTopologyDescriptionUpdateResponse = ResponseOf<
  typeof streamsGroupTopologyDescriptionUpdate
>;
