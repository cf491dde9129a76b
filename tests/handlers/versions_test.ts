/** Every API that is served, in every version that is served: a request of that version gets an answer of that version. */
import { assertEquals } from "@std/assert/equals";
import { Client } from "../../src/client/client.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { responseHeaderVersion } from "../../src/codec/framing.ts";
import { responseHeader } from "../../src/codec/headers.ts";
import { apiVersions } from "../../src/codec/messages/api_versions.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { Reader } from "../../src/codec/reader.ts";
import type { Api } from "../../src/codec/schema.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { registry } from "../../src/handlers/all.ts";
import { freePortBroker } from "../lib/broker.ts";
import { frameOf, goldenRequests } from "../protocol/golden_requests.ts";

/** Requests of APIs whose golden default gets no answer by intention. */
const built: ReadonlyMap<number, (version: number) => Uint8Array> = new Map([
  // By default acks is 0.
  [produce.key, (version: number) => produceRequest(version)],
]);

function produceRequest(version: number): Uint8Array {
  const records = buildBatch([{ timestamp: 1, key: null, value: new Uint8Array(1) }]);
  const topicData = [{ name: "missing", topicId: ZERO_UUID, partitionData: [{ index: 0, records }] }];
  return produce.request.encode(version, { acks: 1, timeoutMs: 1000, topicData });
}

function minimalRequest(api: Api, version: number): Uint8Array {
  const own = built.get(api.key);
  if (own !== undefined) return own(version);
  const golden = goldenRequests(api).find((r) => r.version === version && r.sample === "default");
  if (golden === undefined) throw new Error(`${api.name} version ${version} has no golden request`);
  return golden.body;
}

Deno.test("a minimal request is answered in its own version with nothing left over", async (t) => {
  await using broker = await freePortBroker({ "group.initial.rebalance.delay.ms": "0" });
  for (const { api, versions: [first, last] } of registry.all) {
    await t.step(`${api.name} ${first} to ${last}`, async () => {
      const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port });
      for (let version = first; version <= last; version++) {
        const correlationId = 1000 * api.key + version;
        const frame = await client.roundTrip(
          correlationId,
          frameOf(api, version, minimalRequest(api, version), correlationId),
        );
        const reader = new Reader(frame);
        const header = responseHeader.read(reader, responseHeaderVersion(api, version));
        assertEquals(header.correlationId, correlationId);
        const response = api.response.read(reader, version);
        assertEquals(reader.remaining, 0, `version ${version} has bytes left over`);
        // What was read is what is declared: written again it gives the same bytes.
        assertEquals(
          api.response.encode(version, response as never),
          frame.subarray(frame.length - api.response.encode(version, response as never).length),
          `version ${version}`,
        );
      }
      await client.close();
    });
  }
  assertEquals(broker.log, []);
});

Deno.test("ApiVersions lists exactly what the registry serves, in every version", async () => {
  await using broker = await freePortBroker();
  const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port });
  for (let version = apiVersions.versions[0]; version <= apiVersions.versions[1]; version++) {
    const answer = await client.send(apiVersions, version, {
      clientSoftwareName: "test",
      clientSoftwareVersion: "1",
    });
    assertEquals(answer.errorCode, ErrorCode.NONE);
    assertEquals(
      answer.apiKeys.map(({ apiKey, minVersion, maxVersion }) => [apiKey, minVersion, maxVersion]),
      registry.all.map(({ api, versions }) => [api.key, ...versions]),
      `version ${version}`,
    );
  }
  await client.close();
});
