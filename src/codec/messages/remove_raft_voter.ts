/** RemoveRaftVoter (key 81): removes a voter from the metadata quorum. */
import { api, int16, int32, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const removeRaftVoter = api({
  key: 81,
  name: "RemoveRaftVoter",
  versions: [0, 0],
  flexible: 0,
  request: {
    clusterId: string.nullable(),
    voterId: int32,
    voterDirectoryId: uuid,
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
  },
});

export type RemoveRaftVoterRequest = RequestOf<typeof removeRaftVoter>;
export type RemoveRaftVoterResponse = ResponseOf<typeof removeRaftVoter>;
