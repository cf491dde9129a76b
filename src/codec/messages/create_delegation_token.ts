/** CreateDelegationToken (key 38): makes a delegation token (KIP-48). */
import {
  api,
  array,
  bytes,
  int16,
  int32,
  int64,
  type RequestOf,
  type ResponseOf,
  string,
} from "../schema.ts";

export const createDelegationToken = api({
  key: 38,
  name: "CreateDelegationToken",
  versions: [0, 3],
  flexible: 2,
  request: {
    ownerPrincipalType: string.since(3).nullable(),
    ownerPrincipalName: string.since(3).nullable(),
    renewers: array({
      principalType: string,
      principalName: string,
    }),
    maxLifetimeMs: int64,
  },
  response: {
    errorCode: int16,
    principalType: string,
    principalName: string,
    tokenRequesterPrincipalType: string.since(3),
    tokenRequesterPrincipalName: string.since(3),
    issueTimestampMs: int64,
    expiryTimestampMs: int64,
    maxTimestampMs: int64,
    tokenId: string,
    hmac: bytes.secret(),
    throttleTimeMs: int32.or(0),
  },
});

export type CreateDelegationTokenRequest = RequestOf<typeof createDelegationToken>;
export type CreateDelegationTokenResponse = ResponseOf<typeof createDelegationToken>;
