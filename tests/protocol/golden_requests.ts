/** The requests among the golden vectors, as whole frames: what real clients' bytes look like, for every version. */
import { decodeHex } from "../../src/base/hex.ts";
import { requestHeaderVersion } from "../../src/codec/framing.ts";
import { requestHeader } from "../../src/codec/headers.ts";
import type { Api } from "../../src/codec/schema.ts";
import { concatChunks, Writer } from "../../src/codec/writer.ts";
import type { Vector } from "../codec/vectors.ts";

const folder = new URL("../vectors/", import.meta.url);

/** One golden request: its body, without header. */
export interface GoldenRequest {
  readonly version: number;
  readonly sample: string;
  readonly body: Uint8Array;
}

/** All golden requests of an API. */
export function goldenRequests(api: Api): GoldenRequest[] {
  return Deno.readTextFileSync(new URL(`${api.name}Request.jsonl`, folder)).trim().split("\n").map((line) => {
    const { version, sample, hex } = JSON.parse(line) as Vector;
    return { version, sample, body: decodeHex(hex) };
  });
}

/** A frame with size and header. */
export function frameOf(
  api: Api,
  version: number,
  body: Uint8Array,
  correlationId = 1,
  clientId: string | null = "golden",
): Uint8Array {
  const writer = new Writer();
  requestHeader.write(writer, requestHeaderVersion(api, version), {
    requestApiKey: api.key,
    requestApiVersion: version,
    correlationId,
    clientId,
  });
  const header = concatChunks(writer.finish());
  const frame = new Uint8Array(4 + header.length + body.length);
  new DataView(frame.buffer).setInt32(0, header.length + body.length);
  frame.set(header, 4);
  frame.set(body, 4 + header.length);
  return frame;
}
