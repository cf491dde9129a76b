/** SaslHandshake (key 17): names the SASL mechanism to come. After version 0 the SASL bytes come without a Kafka frame. */
import { api, array, int16, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const saslHandshake = api({
  key: 17,
  name: "SaslHandshake",
  versions: [0, 1],
  flexible: null,
  request: {
    mechanism: string,
  },
  response: {
    errorCode: int16,
    mechanisms: array(string),
  },
});

export type SaslHandshakeRequest = RequestOf<typeof saslHandshake>;
export type SaslHandshakeResponse = ResponseOf<typeof saslHandshake>;
