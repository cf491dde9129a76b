/** RenewDelegationToken (key 39): prolongs a delegation token. */
import { api, bytes, int16, int32, int64, type RequestOf, type ResponseOf } from "../schema.ts";

export const renewDelegationToken = api({
  key: 39,
  name: "RenewDelegationToken",
  versions: [0, 2],
  flexible: 2,
  request: {
    hmac: bytes.secret(),
    renewPeriodMs: int64,
  },
  response: {
    errorCode: int16,
    expiryTimestampMs: int64,
    throttleTimeMs: int32.or(0),
  },
});

export type RenewDelegationTokenRequest = RequestOf<typeof renewDelegationToken>;
export type RenewDelegationTokenResponse = ResponseOf<typeof renewDelegationToken>;
