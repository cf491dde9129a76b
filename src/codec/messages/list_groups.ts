/** ListGroups (key 16): lists groups, filtered by state from version 4 and by type from version 5. */
import { api, array, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const listGroups = api({
  key: 16,
  name: "ListGroups",
  versions: [0, 5],
  flexible: 3,
  request: {
    statesFilter: array(string).since(4),
    typesFilter: array(string).since(5),
  },
  response: {
    throttleTimeMs: int32.since(1).or(0),
    errorCode: int16,
    groups: array({
      groupId: string,
      protocolType: string,
      groupState: string.since(4),
      groupType: string.since(5),
    }),
  },
});

export type ListGroupsRequest = RequestOf<typeof listGroups>;
export type ListGroupsResponse = ResponseOf<typeof listGroups>;
