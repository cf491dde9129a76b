/** AlterUserScramCredentials (key 51): sets and removes SCRAM credentials of users. */
import { api, array, bytes, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const alterUserScramCredentials = api({
  key: 51,
  name: "AlterUserScramCredentials",
  versions: [0, 0],
  flexible: 0,
  request: {
    deletions: array({
      name: string,
      mechanism: int8,
    }),
    upsertions: array({
      name: string,
      mechanism: int8,
      iterations: int32,
      salt: bytes.secret(),
      saltedPassword: bytes.secret(),
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    results: array({
      user: string,
      errorCode: int16,
      errorMessage: string.nullable().or(null),
    }),
  },
});

export type AlterUserScramCredentialsRequest = RequestOf<typeof alterUserScramCredentials>;
export type AlterUserScramCredentialsResponse = ResponseOf<typeof alterUserScramCredentials>;
