/** DeleteGroups (key 42): deletes empty groups with their offsets. */
import { api, array, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const deleteGroups = api({
  key: 42,
  name: "DeleteGroups",
  versions: [0, 3],
  flexible: 2,
  request: {
    groupsNames: array(string),
  },
  response: {
    throttleTimeMs: int32.or(0),
    results: array({
      groupId: string,
      errorCode: int16,
      errorMessage: string.since(3).nullable().or(null),
    }),
  },
});

export type DeleteGroupsRequest = RequestOf<typeof deleteGroups>;
export type DeleteGroupsResponse = ResponseOf<typeof deleteGroups>;
