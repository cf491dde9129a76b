/** SaslAuthenticate (key 36): carries one step of a SASL exchange. */
import { api, bytes, int16, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const saslAuthenticate = api({
  key: 36,
  name: "SaslAuthenticate",
  versions: [0, 2],
  flexible: 2,
  request: {
    authBytes: bytes.secret(),
  },
  response: {
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    authBytes: bytes.secret(),
    sessionLifetimeMs: int64.since(1).or(0n),
  },
});

export type SaslAuthenticateRequest = RequestOf<typeof saslAuthenticate>;
export type SaslAuthenticateResponse = ResponseOf<typeof saslAuthenticate>;
