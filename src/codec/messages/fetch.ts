/** Fetch (key 1): reads record batches from partitions, waiting for new ones if asked to. Sessions (KIP-227) from version 7, topic ids from 13. */
import {
  api,
  array,
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

export const fetch = api({
  key: 1,
  name: "Fetch",
  versions: [0, 18],
  flexible: 12,
  request: {
    clusterId: string.since(12).nullable().tagged(0, 12).or(null),
    replicaId: int32.until(14).or(-1),
    replicaState: struct({
      replicaId: int32.or(-1),
      replicaEpoch: int64.or(-1n),
    }).since(15).tagged(1, 15),
    maxWaitMs: int32,
    minBytes: int32,
    maxBytes: int32.since(3).or(2147483647),
    isolationLevel: int8.since(4).or(0),
    sessionId: int32.since(7).or(0),
    sessionEpoch: int32.since(7).or(-1),
    topics: array({
      topic: string.until(12),
      topicId: uuid.since(13),
      partitions: array({
        partition: int32,
        currentLeaderEpoch: int32.since(9).or(-1),
        fetchOffset: int64,
        lastFetchedEpoch: int32.since(12).or(-1),
        logStartOffset: int64.since(5).or(-1n),
        partitionMaxBytes: int32,
        replicaDirectoryId: uuid.since(17).tagged(0, 17),
        highWatermark: int64.since(18).tagged(1, 18).or(2n ** 63n - 1n),
      }),
    }),
    forgottenTopicsData: array({
      topic: string.until(12),
      topicId: uuid.since(13),
      partitions: array(int32),
    }).since(7),
    rackId: string.since(11).or(""),
  },
  response: {
    throttleTimeMs: int32.since(1).or(0),
    errorCode: int16.since(7),
    sessionId: int32.since(7).or(0),
    responses: array({
      topic: string.until(12),
      topicId: uuid.since(13),
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
        highWatermark: int64,
        lastStableOffset: int64.since(4).or(-1n),
        logStartOffset: int64.since(5).or(-1n),
        divergingEpoch: struct({
          epoch: int32.or(-1),
          endOffset: int64.or(-1n),
        }).since(12).tagged(0, 12),
        currentLeader: struct({
          leaderId: int32.or(-1),
          leaderEpoch: int32.or(-1),
        }).since(12).tagged(1, 12),
        snapshotId: struct({
          endOffset: int64.or(-1n),
          epoch: int32.or(-1),
        }).since(12).tagged(2, 12),
        abortedTransactions: array({
          producerId: int64,
          firstOffset: int64,
        }).since(4).nullable(),
        preferredReadReplica: int32.since(11).or(-1),
        records: records.nullable(),
      }),
    }),
    nodeEndpoints: array({
      nodeId: int32,
      host: string,
      port: int32,
      rack: string.nullable().or(null),
    }).since(16).tagged(0, 16),
  },
});

export type FetchRequest = RequestOf<typeof fetch>;
export type FetchResponse = ResponseOf<typeof fetch>;
