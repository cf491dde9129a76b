/** UnregisterController (key 94): forgets a controller that is gone. */
import { api, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const unregisterController = api({
  key: 94,
  name: "UnregisterController",
  versions: [0, 0],
  flexible: 0,
  request: {
    controllerId: int32,
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
  },
});

export type UnregisterControllerRequest = RequestOf<typeof unregisterController>;
export type UnregisterControllerResponse = ResponseOf<typeof unregisterController>;
