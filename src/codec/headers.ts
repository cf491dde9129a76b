/**
 * The headers before requests and responses. Request header 1 has the client id, 2 adds tagged fields; response
 * header 1 adds tagged fields.
 */
import { int16, int32, message, string } from "./schema.ts";

export const requestHeader = message({
  name: "RequestHeader",
  versions: [0, 2],
  flexible: 2,
  fromClients: true,
  fields: {
    requestApiKey: int16,
    requestApiVersion: int16,
    correlationId: int32,
    clientId: string.since(1).nullable().neverCompact(),
  },
});

export const responseHeader = message({
  name: "ResponseHeader",
  versions: [0, 1],
  flexible: 1,
  fields: {
    correlationId: int32,
  },
});
