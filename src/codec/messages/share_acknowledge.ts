/** ShareAcknowledge (key 79): acknowledges records of a share group. */
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
  uuid,
} from "../schema.ts";

export const shareAcknowledge = api({
  key: 79,
  name: "ShareAcknowledge",
  versions: [0, 2],
  flexible: 0,
  request: {
    groupId: string.nullable().or(null),
    memberId: string.nullable(),
    shareSessionEpoch: int32,
    isRenewAck: bool.since(2).or(false),
    topics: array({
      topicId: uuid,
      partitions: array({
        partitionIndex: int32,
        acknowledgementBatches: array({
          firstOffset: int64,
          lastOffset: int64,
          acknowledgeTypes: array(int8),
        }),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    acquisitionLockTimeoutMs: int32.since(2),
    responses: array({
      topicId: uuid,
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
        errorMessage: string.nullable().or(null),
        currentLeader: struct({
          leaderId: int32,
          leaderEpoch: int32,
        }),
      }),
    }),
    nodeEndpoints: array({
      nodeId: int32,
      host: string,
      port: int32,
      rack: string.nullable().or(null),
    }),
  },
});

export type ShareAcknowledgeRequest = RequestOf<typeof shareAcknowledge>;
export type ShareAcknowledgeResponse = ResponseOf<typeof shareAcknowledge>;
