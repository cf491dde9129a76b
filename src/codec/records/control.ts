/**
 * Control records of the log: which kind a control batch holds, and what the metadata quorum writes.
 */
import { array, int16, int32, int64, message, string, struct, uint16, uuid } from "../schema.ts";

export const controlRecordTypeSchema = message({
  name: "ControlRecordTypeSchema",
  versions: [0, 0],
  flexible: null,
  fields: {
    type: int16,
  },
});

const leaderChangeMessageVoter = {
  voterId: int32,
  voterDirectoryId: uuid.since(1),
};

export const leaderChangeMessage = message({
  name: "LeaderChangeMessage",
  versions: [0, 1],
  flexible: 0,
  fields: {
    version: int16,
    leaderId: int32,
    voters: array(leaderChangeMessageVoter),
    grantingVoters: array(leaderChangeMessageVoter),
  },
});

export const snapshotHeaderRecord = message({
  name: "SnapshotHeaderRecord",
  versions: [0, 0],
  flexible: 0,
  fields: {
    version: int16,
    lastContainedLogTimestamp: int64,
  },
});

export const snapshotFooterRecord = message({
  name: "SnapshotFooterRecord",
  versions: [0, 0],
  flexible: 0,
  fields: {
    version: int16,
  },
});

export const kRaftVersionRecord = message({
  name: "KRaftVersionRecord",
  versions: [0, 0],
  flexible: 0,
  fields: {
    version: int16,
    kRaftVersion: int16,
  },
});

export const votersRecord = message({
  name: "VotersRecord",
  versions: [0, 0],
  flexible: 0,
  fields: {
    version: int16,
    voters: array({
      voterId: int32,
      voterDirectoryId: uuid,
      endpoints: array({
        name: string,
        host: string,
        port: uint16,
      }),
      kRaftVersionFeature: struct({
        minSupportedVersion: int16,
        maxSupportedVersion: int16,
      }),
    }),
  },
});
