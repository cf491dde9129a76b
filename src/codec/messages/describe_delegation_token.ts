/** DescribeDelegationToken (key 41): lists delegation tokens. */
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

export const describeDelegationToken = api({
  key: 41,
  name: "DescribeDelegationToken",
  versions: [0, 3],
  flexible: 2,
  request: {
    owners: array({
      principalType: string,
      principalName: string,
    }).nullable(),
  },
  response: {
    errorCode: int16,
    tokens: array({
      principalType: string,
      principalName: string,
      tokenRequesterPrincipalType: string.since(3),
      tokenRequesterPrincipalName: string.since(3),
      issueTimestamp: int64,
      expiryTimestamp: int64,
      maxTimestamp: int64,
      tokenId: string,
      hmac: bytes.secret(),
      renewers: array({
        principalType: string,
        principalName: string,
      }),
    }),
    throttleTimeMs: int32.or(0),
  },
});

export type DescribeDelegationTokenRequest = RequestOf<typeof describeDelegationToken>;
export type DescribeDelegationTokenResponse = ResponseOf<typeof describeDelegationToken>;
