/** ShareFetch (key 78): acquires records for a member of a share group, and acknowledges earlier ones. */
import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
  int8,
  records,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from "../schema.ts";

export const shareFetch = api({
  key: 78,
  name: "ShareFetch",
  versions: [0, 2],
  flexible: 0,
  request: {
    groupId: string.nullable().or(null),
    memberId: string.nullable(),
    shareSessionEpoch: int32,
    maxWaitMs: int32,
    minBytes: int32,
    maxBytes: int32.or(2147483647),
    maxRecords: int32.since(1),
    batchSize: int32.since(1),
    shareAcquireMode: int8.since(2).or(0),
    isRenewAck: bool.since(2).or(false),
    topics: array({
      topicId: uuid,
      partitions: array({
        partitionIndex: int32,
        partitionMaxBytes: int32.until(0),
        acknowledgementBatches: array({
          firstOffset: int64,
          lastOffset: int64,
          acknowledgeTypes: array(int8),
        }),
      }),
    }),
    forgottenTopicsData: array({
      topicId: uuid,
      partitions: array(int32),
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    acquisitionLockTimeoutMs: int32.since(1),
    responses: array({
      topicId: uuid,
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
        errorMessage: string.nullable().or(null),
        acknowledgeErrorCode: int16,
        acknowledgeErrorMessage: string.nullable().or(null),
        currentLeader: struct({
          leaderId: int32,
          leaderEpoch: int32,
        }),
        records: records.nullable(0, 0),
        acquiredRecords: array({
          firstOffset: int64,
          lastOffset: int64,
          deliveryCount: int16,
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

export type ShareFetchRequest = RequestOf<typeof shareFetch>;
export type ShareFetchResponse = ResponseOf<typeof shareFetch>;
