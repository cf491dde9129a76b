/** FindCoordinator (key 10): tells which broker coordinates a group, a transactional id or a share partition. From version 4 for many keys at once. */
import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const findCoordinator = api({
  key: 10,
  name: "FindCoordinator",
  versions: [0, 6],
  flexible: 3,
  request: {
    key: string.until(3),
    keyType: int8.since(1).or(0),
    coordinatorKeys: array(string).since(4),
  },
  response: {
    throttleTimeMs: int32.since(1).or(0),
    errorCode: int16.until(3),
    errorMessage: string.since(1).until(3).nullable().or(null),
    nodeId: int32.until(3),
    host: string.until(3),
    port: int32.until(3),
    coordinators: array({
      key: string,
      nodeId: int32,
      host: string,
      port: int32,
      errorCode: int16,
      errorMessage: string.nullable().or(null),
    }).since(4),
  },
});

export type FindCoordinatorRequest = RequestOf<typeof findCoordinator>;
export type FindCoordinatorResponse = ResponseOf<typeof findCoordinator>;
