/** ExpireDelegationToken (key 40): ends a delegation token. */
import { api, bytes, int16, int32, int64, type RequestOf, type ResponseOf } from "../schema.ts";

export const expireDelegationToken = api({
  key: 40,
  name: "ExpireDelegationToken",
  versions: [0, 2],
  flexible: 2,
  request: {
    hmac: bytes.secret(),
    expiryTimePeriodMs: int64,
  },
  response: {
    errorCode: int16,
    expiryTimestampMs: int64,
    throttleTimeMs: int32.or(0),
  },
});

export type ExpireDelegationTokenRequest = RequestOf<typeof expireDelegationToken>;
export type ExpireDelegationTokenResponse = ResponseOf<typeof expireDelegationToken>;
