/** UnregisterBroker (key 64): forgets a broker that is gone. */
import { api, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const unregisterBroker = api({
  key: 64,
  name: "UnregisterBroker",
  versions: [0, 0],
  flexible: 0,
  request: {
    brokerId: int32,
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
  },
});

export type UnregisterBrokerRequest = RequestOf<typeof unregisterBroker>;
export type UnregisterBrokerResponse = ResponseOf<typeof unregisterBroker>;
