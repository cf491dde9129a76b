/** DescribeUserScramCredentials (key 50): tells which SCRAM credentials users have, never the secrets. */
import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const describeUserScramCredentials = api({
  key: 50,
  name: "DescribeUserScramCredentials",
  versions: [0, 0],
  flexible: 0,
  request: {
    users: array({
      name: string,
    }).nullable(),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    results: array({
      user: string,
      errorCode: int16,
      errorMessage: string.nullable().or(null),
      credentialInfos: array({
        mechanism: int8,
        iterations: int32,
      }),
    }),
  },
});

export type DescribeUserScramCredentialsRequest = RequestOf<typeof describeUserScramCredentials>;
export type DescribeUserScramCredentialsResponse = ResponseOf<typeof describeUserScramCredentials>;
