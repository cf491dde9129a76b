/** AddRaftVoter (key 80): adds a voter to the metadata quorum. */
import {
  api,
  array,
  bool,
  int16,
  int32,
  type RequestOf,
  type ResponseOf,
  string,
  uint16,
  uuid,
} from "../schema.ts";

export const addRaftVoter = api({
  key: 80,
  name: "AddRaftVoter",
  versions: [0, 1],
  flexible: 0,
  request: {
    clusterId: string.nullable(),
    timeoutMs: int32,
    voterId: int32,
    voterDirectoryId: uuid,
    listeners: array({
      name: string,
      host: string,
      port: uint16,
    }),
    ackWhenCommitted: bool.since(1).or(true),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
  },
});

export type AddRaftVoterRequest = RequestOf<typeof addRaftVoter>;
export type AddRaftVoterResponse = ResponseOf<typeof addRaftVoter>;
