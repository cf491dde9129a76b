/** Produce (key 0): appends record batches to partitions. Version 13 names topics by id. */
import {
  api,
  array,
  int16,
  int32,
  int64,
  records,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from "../schema.ts";

export const produce = api({
  key: 0,
  name: "Produce",
  versions: [0, 13],
  flexible: 9,
  request: {
    transactionalId: string.since(3).nullable().or(null),
    acks: int16,
    timeoutMs: int32,
    topicData: array({
      name: string.until(12),
      topicId: uuid.since(13),
      partitionData: array({
        index: int32,
        records: records.nullable(),
      }),
    }),
  },
  response: {
    responses: array({
      name: string.until(12),
      topicId: uuid.since(13),
      partitionResponses: array({
        index: int32,
        errorCode: int16,
        baseOffset: int64,
        logAppendTimeMs: int64.since(2).or(-1n),
        logStartOffset: int64.since(5).or(-1n),
        recordErrors: array({
          batchIndex: int32,
          batchIndexErrorMessage: string.nullable().or(null),
        }).since(8),
        errorMessage: string.since(8).nullable().or(null),
        currentLeader: struct({
          leaderId: int32.or(-1),
          leaderEpoch: int32.or(-1),
        }).since(10).tagged(0, 10),
      }),
    }),
    throttleTimeMs: int32.since(1).or(0),
    nodeEndpoints: array({
      nodeId: int32,
      host: string,
      port: int32,
      rack: string.nullable().or(null),
    }).since(10).tagged(0, 10),
  },
});

export type ProduceRequest = RequestOf<typeof produce>;
export type ProduceResponse = ResponseOf<typeof produce>;
