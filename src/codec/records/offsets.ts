/**
 * Committed offsets in `__consumer_offsets`, and the facts of classic groups beside them. In the log an int16 goes
 * before the body: the record type before a key, the version before a value.
 */
import { array, bytes, int32, int64, message, string, uuid } from "../schema.ts";

/** Record type 0. Read only. */
export const legacyOffsetCommitKey = message({
  name: "LegacyOffsetCommitKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    group: string,
    topic: string,
    partition: int32,
  },
});

/** Record type 0. */
export const legacyOffsetCommitValue = message({
  name: "LegacyOffsetCommitValue",
  versions: [0, 0],
  flexible: null,
  fields: {
    offset: int64,
    metadata: string,
    commitTimestamp: int64,
  },
});

/** Record type 1. Version 1 is what is written; a value of null deletes the offset. */
export const offsetCommitKey = message({
  name: "OffsetCommitKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    group: string,
    topic: string,
    partition: int32,
  },
});

/** Record type 1. */
export const offsetCommitValue = message({
  name: "OffsetCommitValue",
  versions: [0, 4],
  flexible: 4,
  fields: {
    offset: int64,
    leaderEpoch: int32.since(3).or(-1),
    metadata: string,
    commitTimestamp: int64,
    expireTimestamp: int64.since(1).until(1).or(-1n),
    topicId: uuid.since(4).tagged(0, 4),
  },
});

/** Record type 2. */
export const groupMetadataKey = message({
  name: "GroupMetadataKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    group: string,
  },
});

const groupMetadataValueMemberMetadata = {
  memberId: string,
  groupInstanceId: string.since(3).nullable().or(null),
  clientId: string,
  clientHost: string,
  rebalanceTimeout: int32.since(1).or(-1),
  sessionTimeout: int32,
  subscription: bytes,
  assignment: bytes,
};

/** Record type 2. */
export const groupMetadataValue = message({
  name: "GroupMetadataValue",
  versions: [0, 4],
  flexible: 4,
  fields: {
    protocolType: string,
    generation: int32,
    protocol: string.nullable(),
    leader: string.nullable(),
    currentStateTimestamp: int64.since(2).or(-1n),
    members: array(groupMetadataValueMemberMetadata),
  },
});
