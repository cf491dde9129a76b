/** Whole frames: which header version goes with a message, and requests and responses with header and size. */
import type { Chunk } from "../base/file_slice.ts";
import { requestHeader, responseHeader } from "./headers.ts";
import type { Api, EncodableRequestOf, ResponseOf } from "./schema.ts";
import { Writer } from "./writer.ts";

/** The key of ApiVersions, whose response is read by clients that do not know yet what the broker speaks. */
const API_VERSIONS_KEY = 18;

/** The header version of a request: flexible versions have tagged fields in it. */
export function requestHeaderVersion(api: Api, version: number): number {
  return api.request.isFlexible(version) ? 2 : 1;
}

/** The header version of a response; that of ApiVersions is 0 always, so that any client can read it. */
export function responseHeaderVersion(api: Api, version: number): number {
  return api.key !== API_VERSIONS_KEY && api.response.isFlexible(version) ? 1 : 0;
}

/** A response with its size and header, as chunks: record batches are not copied, and may be in a file. */
export function encodeResponse<A extends Api>(
  api: A,
  version: number,
  correlationId: number,
  response: ResponseOf<A>,
): Chunk[] {
  const writer = new Writer();
  writer.int32(0);
  responseHeader.write(writer, responseHeaderVersion(api, version), { correlationId });
  api.response.write(writer, version, response as never);
  return writer.finishFrame();
}

/** A request with its size and header, as chunks. */
export function encodeRequest<A extends Api>(
  api: A,
  version: number,
  header: { correlationId: number; clientId: string | null },
  request: EncodableRequestOf<A>,
): Chunk[] {
  const writer = new Writer();
  writer.int32(0);
  requestHeader.write(writer, requestHeaderVersion(api, version), {
    requestApiKey: api.key,
    requestApiVersion: version,
    ...header,
  });
  api.request.write(writer, version, request as never);
  return writer.finishFrame();
}
