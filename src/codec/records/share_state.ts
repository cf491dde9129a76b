/**
 * The state of share partitions in `__share_group_state` (KIP-932): snapshots, and updates since the last one.
 */
import { array, int16, int32, int64, int8, message, string, uuid } from "../schema.ts";

/** Record type 0. */
export const shareSnapshotKey = message({
  name: "ShareSnapshotKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    topicId: uuid,
    partition: int32,
  },
});

/** Record type 0. */
export const shareSnapshotValue = message({
  name: "ShareSnapshotValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    snapshotEpoch: int32,
    stateEpoch: int32,
    leaderEpoch: int32,
    startOffset: int64,
    deliveryCompleteCount: int32.tagged(0).or(-1),
    createTimestamp: int64,
    writeTimestamp: int64,
    stateBatches: array({
      firstOffset: int64,
      lastOffset: int64,
      deliveryState: int8,
      deliveryCount: int16,
    }),
  },
});

/** Record type 1. */
export const shareUpdateKey = message({
  name: "ShareUpdateKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    groupId: string,
    topicId: uuid,
    partition: int32,
  },
});

/** Record type 1. */
export const shareUpdateValue = message({
  name: "ShareUpdateValue",
  versions: [0, 0],
  flexible: 0,
  fields: {
    snapshotEpoch: int32,
    leaderEpoch: int32,
    startOffset: int64,
    deliveryCompleteCount: int32.tagged(0).or(-1),
    stateBatches: array({
      firstOffset: int64,
      lastOffset: int64,
      deliveryState: int8,
      deliveryCount: int16,
    }),
  },
});
