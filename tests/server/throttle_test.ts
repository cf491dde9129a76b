/** What becomes of a request whose client is above its quota: its answer, and for how long the connection is muted. */
import { assertEquals } from "@std/assert/equals";
import { Later } from "../../src/base/later.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { encodeRequest, responseHeaderVersion } from "../../src/codec/framing.ts";
import { responseHeader } from "../../src/codec/headers.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { heartbeat } from "../../src/codec/messages/heartbeat.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { writeTxnMarkers } from "../../src/codec/messages/write_txn_markers.ts";
import { Reader } from "../../src/codec/reader.ts";
import type { Api, EncodableRequestOf } from "../../src/codec/schema.ts";
import { concatChunks } from "../../src/codec/writer.ts";
import type { QuotaEntity } from "../../src/cluster/client_quotas.ts";
import type { Services } from "../../src/handlers/context.ts";
import { Registry, serve } from "../../src/handlers/registry.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { ANONYMOUS } from "../../src/security/principal.ts";
import type { Answer, Peer } from "../../src/server/connection.ts";
import { RequestDispatcher } from "../../src/server/dispatch.ts";
import { quotasWith } from "../quotas/support.ts";

/** A dispatcher of these APIs, and a client of it that has the quotas. */
function clientWith(quota: Record<string, number>, ...served: ReturnType<typeof serve>[]) {
  const entity: QuotaEntity = { user: "ANONYMOUS", "client-id": "me" };
  const { quotas, clock } = quotasWith([entity, quota]);
  const services = { clock, quotas, cluster: { image: { version: 1 } } } as unknown as Services;
  const dispatcher = new RequestDispatcher(new Registry(served), services, new Metrics());
  const muted: number[] = [];
  const peer = { principal: ANONYMOUS, mute: (ms: number) => muted.push(ms) } as unknown as Peer;
  return {
    clock,
    quotas,
    muted,
    ask<A extends Api>(api: A, version: number, request: EncodableRequestOf<A>, clientId = "me") {
      const frame = concatChunks(encodeRequest(api, version, { correlationId: 1, clientId }, request))
        .subarray(4);
      return { ...dispatcher.handle(frame, peer), bytes: frame.length };
    },
  };
}

function throttleTimeOf(api: Api, version: number, answer: Answer): number {
  const reader = new Reader(concatChunks(answer as Uint8Array[]), 4);
  responseHeader.read(reader, responseHeaderVersion(api, version));
  return (api.response.read(reader, version) as { throttleTimeMs: number }).throttleTimeMs;
}

const beating = { groupId: "g", generationId: 1, memberId: "m" };
const producing = (acks: number) => ({ transactionalId: null, acks, timeoutMs: 1, topicData: [] });

Deno.test("a request is counted by the time that its handler took", () => {
  const client = clientWith(
    { request_percentage: 1 },
    serve(heartbeat, () => {
      client.clock.advance(150);
      return { errorCode: ErrorCode.NONE };
    }),
  );
  // 150 ms of ten seconds and 150 ms are half as much again as one percent.
  const { answer } = client.ask(heartbeat, 4, beating);
  assertEquals([throttleTimeOf(heartbeat, 4, answer as Answer), client.muted], [1000, [1000]]);
  assertEquals(client.quotas.uses(client.clock.monotonic()).map(({ throttles }) => throttles), [1]);
});

Deno.test("the time for which a request waits is not counted", () => {
  const later = new Later<{ errorCode: number }>();
  const client = clientWith(
    { request_percentage: 1 },
    serve(heartbeat, () => {
      client.clock.advance(50);
      return later;
    }),
  );
  const { answer } = client.ask(heartbeat, 4, beating);
  client.clock.advance(5000);
  later.settle({ errorCode: ErrorCode.NONE });
  let told: Answer = null;
  (answer as PromiseLike<Answer>).then((ready) => told = ready);
  assertEquals([throttleTimeOf(heartbeat, 4, told), client.muted], [0, []]);
});

Deno.test("a version without a field for it is answered, and its connection muted all the same", () => {
  const client = clientWith(
    { request_percentage: 1e-9 },
    serve(heartbeat, () => {
      client.clock.advance(1);
      return { errorCode: ErrorCode.NONE };
    }),
  );
  const { answer } = client.ask(heartbeat, 0, beating);
  assertEquals([concatChunks(answer as Uint8Array[]).length, client.muted], [4 + 4 + 2, [1000]]);
});

Deno.test("the answer that a handler gives everybody stays as it is", () => {
  const forAll = { errorCode: ErrorCode.NONE };
  const client = clientWith(
    { request_percentage: 1e-9 },
    serve(heartbeat, () => {
      client.clock.advance(1);
      return forAll;
    }),
  );
  const times = ["me", "you"].map((clientId) =>
    throttleTimeOf(heartbeat, 4, client.ask(heartbeat, 4, beating, clientId).answer as Answer)
  );
  assertEquals(times, [1000, 0]);
});

Deno.test("a client without a quota is neither counted nor muted", () => {
  const client = clientWith(
    { request_percentage: 1e-9 },
    serve(heartbeat, () => {
      client.clock.advance(1);
      return { errorCode: ErrorCode.NONE };
    }),
  );
  client.ask(heartbeat, 4, beating, "you");
  assertEquals([client.muted, client.quotas.uses(client.clock.monotonic())], [[], []]);
});

Deno.test("produce requests are counted by their bytes, answered or not", () => {
  const client = clientWith(
    { producer_byte_rate: 1 },
    serve(produce, (request) => request.acks === 0 ? null : { responses: [] }),
  );
  const { answer, bytes } = client.ask(produce, 9, producing(1));
  // What is above ten seconds' worth, at a byte a second.
  const first = 1000 * (bytes - 10);
  assertEquals([throttleTimeOf(produce, 9, answer as Answer), client.muted], [first, [first]]);
  const silent = client.ask(produce, 9, producing(0));
  assertEquals([silent.answer, client.muted], [null, [first, 1000 * (2 * bytes - 10)]]);
});

Deno.test("the longest of several times holds, and the time of an answer's own", () => {
  const client = clientWith(
    { producer_byte_rate: 10, request_percentage: 1e-9 },
    serve(produce, () => {
      client.clock.advance(1);
      return { responses: [] };
    }),
    serve(createTopics, () => {
      client.clock.advance(1);
      return { throttleTimeMs: 5000, topics: [] };
    }),
  );
  client.ask(produce, 9, producing(1));
  client.ask(createTopics, 7, { topics: [], timeoutMs: 1, validateOnly: false });
  assertEquals(client.muted, [1000, 5000]);
});

Deno.test("a fetch that has judged itself is not judged again", () => {
  for (const throttleTimeMs of [0, 70]) {
    const client = clientWith(
      { request_percentage: 1e-9 },
      serve(fetch, () => {
        client.clock.advance(1);
        return { throttleTimeMs, errorCode: ErrorCode.NONE, sessionId: 0, responses: [] };
      }),
    );
    client.ask(fetch, 12, fetching);
    assertEquals(client.muted, throttleTimeMs === 0 ? [] : [70]);
  }
});

Deno.test("a fetch that did not come to be judged is counted as any request", () => {
  const client = clientWith(
    { request_percentage: 1e-9 },
    serve(fetch, () => {
      client.clock.advance(1);
      return { errorCode: ErrorCode.FETCH_SESSION_ID_NOT_FOUND, responses: [] };
    }),
  );
  client.ask(fetch, 12, fetching);
  assertEquals(client.muted, [1000]);
});

const fetching = {
  replicaId: -1,
  maxWaitMs: 0,
  minBytes: 0,
  maxBytes: 1,
  isolationLevel: 0,
  sessionId: 0,
  sessionEpoch: -1,
  topics: [],
  forgottenTopicsData: [],
  rackId: "",
};

Deno.test("what brokers ask of each other is nobody's quota", () => {
  const client = clientWith(
    { request_percentage: 1e-9 },
    serve(writeTxnMarkers, () => {
      client.clock.advance(1);
      return { markers: [] };
    }),
  );
  client.ask(writeTxnMarkers, 1, { markers: [] });
  assertEquals([client.muted, client.quotas.exemptMs], [[], 1]);
});

Deno.test("an answer that others are given too has each client's own time in it, where there is a quota on time", () => {
  const client = clientWith(
    { request_percentage: 1e-9 },
    serve(heartbeat, () => {
      client.clock.advance(1);
      return { errorCode: ErrorCode.NONE };
    }, { sharedAs: () => "all" }),
  );
  const times = ["me", "you", "me"].map((clientId) =>
    throttleTimeOf(heartbeat, 4, client.ask(heartbeat, 4, beating, clientId).answer as Answer)
  );
  assertEquals([times, client.muted], [[1000, 0, 1000], [1000, 1000]]);
});
