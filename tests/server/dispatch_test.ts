import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { AssertionError } from "../../src/base/assert.ts";
import { ManualClock } from "../../src/base/clock.ts";
import { Client, Disconnected } from "../../src/client/client.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { encodeRequest } from "../../src/codec/framing.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { apiVersions } from "../../src/codec/messages/api_versions.ts";
import { heartbeat } from "../../src/codec/messages/heartbeat.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { Reader } from "../../src/codec/reader.ts";
import { concatChunks } from "../../src/codec/writer.ts";
import type { Handler, RequestContext, Services } from "../../src/handlers/context.ts";
import { Registry, serve } from "../../src/handlers/registry.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import type { Answer, Peer } from "../../src/server/connection.ts";
import { RequestDispatcher } from "../../src/server/dispatch.ts";
import { freePortBroker } from "../lib/broker.ts";
import { ANONYMOUS } from "../../src/security/principal.ts";
import { allTopics } from "../protocol/requests.ts";
import { noQuotas } from "../quotas/support.ts";

/** A dispatcher over a registry of the test's own. */
function dispatcherOf(...served: ReturnType<typeof serve>[]) {
  const clock = new ManualClock(), metrics = new Metrics();
  const dispatcher = new RequestDispatcher(
    new Registry(served),
    { clock, quotas: noQuotas() } as unknown as Services,
    metrics,
  );
  const disconnects: string[] = [];
  const peer: Peer = {
    listenerName: "INSIDE",
    clientHost: "/10.0.0.1",
    remote: "10.0.0.1:5000",
    lifetime: { isOver: false },
    principal: ANONYMOUS,
    software: null,
    sendsFiles: false,
    onDisconnect: null,
    growAnswer: () => null,
    disconnect: (reason) => disconnects.push(reason),
    mute: () => {},
  };
  return {
    clock,
    metrics,
    peer,
    disconnects,
    /** Handles a request; the size in front is not the dispatcher's business. */
    handle: (frame: Uint8Array) => dispatcher.handle(frame.subarray(4), peer),
    pipelines: (frame: Uint8Array) => dispatcher.pipelines(frame.subarray(4)),
  };
}

/** A heartbeat, size included. */
function heartbeatFrame(version: number, correlationId = 7, clientId: string | null = "me"): Uint8Array {
  return concatChunks(
    encodeRequest(heartbeat, version, { correlationId, clientId }, {
      groupId: "g",
      generationId: 3,
      memberId: "m",
    }),
  );
}

function patched(frame: Uint8Array, at: number, value: number): Uint8Array {
  const copy = frame.slice();
  new DataView(copy.buffer).setInt16(at, value);
  return copy;
}

const bytesOf = (answer: Answer) => concatChunks(answer!);
const none: Handler<typeof heartbeat> = () => ({ errorCode: ErrorCode.NONE });

// ---- What has no answer

Deno.test("RequestDispatcher refuses a frame that has no room for a header", () => {
  const { handle } = dispatcherOf(serve(heartbeat, none));
  for (let length = 0; length < 8; length++) {
    const error = assertThrows(() => handle(new Uint8Array(4 + length)), MalformedFrame);
    assertEquals(error.message, `request of ${length} bytes has no room for its header`);
  }
});

Deno.test("RequestDispatcher refuses an API that is not served", () => {
  const { handle } = dispatcherOf(serve(heartbeat, none));
  for (const key of [0, 13, 999, 32767, -1, -32768]) {
    const error = assertThrows(() => handle(patched(heartbeatFrame(0), 4, key)), MalformedFrame);
    assertEquals(error.message, `request of API key ${key}, which is not served`);
  }
});

Deno.test("RequestDispatcher refuses a version outside of what is served, declared or not", () => {
  const { handle } = dispatcherOf(serve(heartbeat, none, { versions: [1, 3] }));
  for (const version of [0, 4, 5, 32767, -1]) {
    const error = assertThrows(() => handle(patched(heartbeatFrame(1), 6, version)), MalformedFrame);
    assertEquals(error.message, `Heartbeat version ${version} is not served (1 to 3 are)`);
  }
  assertEquals(bytesOf(handle(heartbeatFrame(3)).answer as Answer).length > 0, true);
});

Deno.test("RequestDispatcher names the API of a request that it cannot read", () => {
  const { handle } = dispatcherOf(serve(heartbeat, none));
  const frame = heartbeatFrame(4);
  for (let length = 8; length < frame.length - 4; length++) {
    const error = assertThrows(() => handle(frame.subarray(0, 4 + length)), MalformedFrame);
    const inHeader = length < 8 + 2 + "me".length + 1;
    assertEquals(
      error.message.startsWith("Heartbeat version 4: "),
      !inHeader,
      `${length} bytes: ${error.message}`,
    );
  }
});

Deno.test("RequestDispatcher lets bytes behind a request pass, as Kafka does", () => {
  const { handle } = dispatcherOf(serve(heartbeat, none));
  const longer = concatChunks([heartbeatFrame(3), new Uint8Array(5)]);
  assertEquals(handle(longer).answer, handle(heartbeatFrame(3)).answer);
});

// ---- ApiVersions of an unknown version

Deno.test("RequestDispatcher answers ApiVersions of an unknown version in version 0 with error 35 and the range", () => {
  const { handle, metrics } = dispatcherOf(
    serve(apiVersions, () => ({ errorCode: 0, apiKeys: [] }), { versions: [0, 3] }),
  );
  for (const version of [4, 99, 32767, -1]) {
    // The body is of a version that nobody here can know.
    const frame = new Uint8Array([0, 0, 0, 0, 0, 18, 0, 0, 0, 0, 0, 42, 0xff, 0xff, 0xff, 0xff, 0xff]);
    const { answer } = handle(patched(frame, 6, version));
    const reader = new Reader(bytesOf(answer as Answer), 4);
    assertEquals(reader.int32(), 42, "the correlation id, in a header of version 0");
    const response = apiVersions.response.read(reader, 0);
    assertEquals(reader.remaining, 0);
    assertEquals(response.errorCode, ErrorCode.UNSUPPORTED_VERSION);
    assertEquals(
      response.apiKeys.map(({ apiKey, minVersion, maxVersion }) => [apiKey, minVersion, maxVersion]),
      [
        [18, 0, 3],
      ],
    );
  }
  assertEquals(metrics.api(18).errors.get(ErrorCode.UNSUPPORTED_VERSION), 4);
});

// ---- What has one

Deno.test("RequestDispatcher tells a handler who asks, and gives it what was asked", () => {
  let seen: [unknown, RequestContext] | null = null;
  const { handle } = dispatcherOf(serve(heartbeat, (request, context) => {
    seen = [request, context];
    return { errorCode: ErrorCode.NONE };
  }));
  for (let version = 0; version <= 4; version++) {
    handle(heartbeatFrame(version));
    const [request, context] = seen!;
    assertEquals(request, { groupId: "g", generationId: 3, memberId: "m", groupInstanceId: null });
    const { clientId, clientHost, listenerName } = context;
    assertEquals([context.version, clientId, clientHost, listenerName], [
      version,
      "me",
      "/10.0.0.1",
      "INSIDE",
    ]);
  }
  handle(heartbeatFrame(4, 1, null));
  assertEquals(seen![1].clientId, "", "a client without a name");
});

Deno.test("RequestDispatcher puts the correlation id and the header's tags where the version has them", () => {
  const { handle } = dispatcherOf(
    serve(heartbeat, none),
    serve(apiVersions, () => ({ errorCode: 0, apiKeys: [] })),
  );
  const headerBytes = (frame: Uint8Array) => {
    const answer = bytesOf(handle(frame).answer as Answer);
    const view = new DataView(answer.buffer, answer.byteOffset);
    assertEquals(view.getInt32(0), answer.length - 4, "the size in front");
    return [view.getInt32(4), answer.length - 4];
  };
  // Correlation id, throttle time from version 1, error code; version 4 adds two empty lists of tags.
  assertEquals(headerBytes(heartbeatFrame(0, -7)), [-7, 4 + 2]);
  assertEquals(headerBytes(heartbeatFrame(1, 2 ** 31 - 1)), [2 ** 31 - 1, 4 + 4 + 2]);
  assertEquals(headerBytes(heartbeatFrame(4, 0)), [0, 4 + 1 + 4 + 2 + 1]);
  const versions = (version: number) =>
    concatChunks(encodeRequest(apiVersions, version, { correlationId: 5, clientId: null }, {
      clientSoftwareName: "a",
      clientSoftwareVersion: "1",
    }));
  // ApiVersions has no tags in its header, whatever the version: error, count of keys, throttle time, tags of the body.
  assertEquals(headerBytes(versions(3)), [5, 4 + 2 + 1 + 4 + 1]);
});

Deno.test("RequestDispatcher gives nothing to send when the handler answers null", async () => {
  const { handle, metrics } = dispatcherOf(serve(heartbeat, (() => null) as Handler<typeof heartbeat>));
  assertEquals(handle(heartbeatFrame(0)).answer, null);
  assertEquals([metrics.api(12).requests, metrics.api(12).responseBytes], [1, 0]);
  const later = dispatcherOf(serve(heartbeat, (() => Promise.resolve(null)) as Handler<typeof heartbeat>));
  assertEquals(await later.handle(heartbeatFrame(0)).answer, null);
});

Deno.test("RequestDispatcher lets Produce pipeline and nothing else", () => {
  const { pipelines } = dispatcherOf(
    serve(produce, () => ({ responses: [] })),
    serve(heartbeat, none),
  );
  const request = { acks: 1, timeoutMs: 1, topicData: [] };
  const frame = concatChunks(encodeRequest(produce, 9, { correlationId: 1, clientId: "" }, request));
  assertEquals([pipelines(frame), pipelines(heartbeatFrame(0)), pipelines(frame.subarray(0, 5))], [
    true,
    false,
    false,
  ]);
});

Deno.test("RequestDispatcher counts requests, bytes, errors and the time that they were held", async () => {
  const held = Promise.withResolvers<void>();
  const { handle, metrics, clock } = dispatcherOf(
    serve(heartbeat, () => held.promise.then(() => ({ errorCode: ErrorCode.UNKNOWN_MEMBER_ID }))),
  );
  const frame = heartbeatFrame(0);
  const { answer } = handle(frame);
  clock.advance(250);
  held.resolve();
  const response = bytesOf(await answer);
  const { requests, requestBytes, responseBytes, totalTimeMs, errors } = metrics.api(12);
  assertEquals([requests, requestBytes, responseBytes, totalTimeMs], [1, frame.length, response.length, 250]);
  assertEquals([...errors], [[ErrorCode.UNKNOWN_MEMBER_ID, 1]]);
});

Deno.test("RequestDispatcher passes a handler's wishes on to its connection", () => {
  const { handle, peer, disconnects } = dispatcherOf(serve(heartbeat, (_, context) => {
    const wake = () => {};
    context.onDisconnect = wake;
    assert(context.onDisconnect === wake);
    context.disconnect("enough");
    return { errorCode: ErrorCode.NONE };
  }));
  handle(heartbeatFrame(0));
  assertEquals([typeof peer.onDisconnect, disconnects], ["function", ["enough"]]);
});

Deno.test("RequestDispatcher lets a handler's failure through: it is a bug, and the connection's end", async () => {
  const bug = new Error("a bug");
  const sync = dispatcherOf(serve(heartbeat, () => {
    throw bug;
  }));
  assertEquals(assertThrows(() => sync.handle(heartbeatFrame(0)), Error), bug);
  const later = dispatcherOf(serve(heartbeat, () => Promise.reject(bug)));
  assertEquals(await Promise.resolve(later.handle(heartbeatFrame(0)).answer).catch((error) => error), bug);
  // An answer that the codec cannot write is a bug just as well.
  const wrong = dispatcherOf(serve(heartbeat, () => ({}) as never));
  assertThrows(() => wrong.handle(heartbeatFrame(0)), AssertionError);
});

// ---- Through a real broker

Deno.test("a broker cuts off what it cannot answer with a warning that names the client, and nobody else", async () => {
  const cases: [what: string, frame: Uint8Array, reason: string][] = [
    ["an unknown API", patched(heartbeatFrame(0), 4, 999), "request of API key 999, which is not served"],
    [
      "an unknown version",
      patched(heartbeatFrame(0), 6, 99),
      "Heartbeat version 99 is not served (0 to 4 are)",
    ],
    [
      "a negative version",
      patched(heartbeatFrame(0), 6, -1),
      "Heartbeat version -1 is not served (0 to 4 are)",
    ],
    ["an unreadable body", patched(heartbeatFrame(0), 4, 0), "Produce version 0: "],
  ];
  for (const [what, frame, reason] of cases) {
    await using broker = await freePortBroker();
    const address = { hostname: "127.0.0.1", port: broker.port };
    const good = await Client.connect(address);
    await good.send(metadata, 5, allTopics);
    const conn = await Deno.connect(address);
    const { port } = conn.localAddr as Deno.NetAddr;
    await conn.write(frame);
    assertEquals(await conn.read(new Uint8Array(10)), null, what);
    conn.close();
    assertEquals(broker.log.length, 1, what);
    const expected = ` WARN  server  Closed the connection of 127.0.0.1:${port} on PLAINTEXT: ${reason}`;
    assert(broker.log[0].includes(expected), broker.log[0]);
    // The other connection was there before and goes on.
    assertEquals((await good.send(metadata, 5, allTopics)).brokers.length, 1);
    await good.close();
  }
});

Deno.test("a client whose connection was cut off hears it for every request that waits", async () => {
  await using broker = await freePortBroker();
  const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port });
  const waiting = client.roundTrip(1000, patched(heartbeatFrame(0), 4, 999)).catch((error) => error);
  const behind = client.send(metadata, 5, allTopics).catch((error) => error);
  assert(await waiting instanceof Disconnected);
  assert(await behind instanceof Disconnected);
  await client.close();
});

// ---- Answers that are shared

Deno.test("RequestDispatcher asks a handler once for an answer that is shared, until the metadata changes", () => {
  const image = { version: 1 };
  let asked = 0, key: string | null = "all";
  const handler: Handler<typeof heartbeat> = () => ({ throttleTimeMs: ++asked, errorCode: ErrorCode.NONE });
  const metrics = new Metrics();
  const services = {
    clock: new ManualClock(),
    quotas: noQuotas(),
    cluster: { image },
  } as unknown as Services;
  const dispatcher = new RequestDispatcher(
    new Registry([serve(heartbeat, handler, { sharedAs: () => key })]),
    services,
    metrics,
  );
  const peer = {} as Peer;
  /** Correlation id and throttle time of the answer. */
  const ask = (correlationId: number, version = 1) => {
    const answer = dispatcher.handle(heartbeatFrame(version, correlationId).subarray(4), peer).answer;
    const reader = new Reader(bytesOf(answer as Answer), 4);
    return [reader.int32(), reader.int32()];
  };
  assertEquals([ask(7), ask(8)], [[7, 1], [8, 1]]);
  assertEquals(ask(9, 2), [9, 2], "another version is another answer");
  key = "other";
  assertEquals(ask(10), [10, 3]);
  key = null;
  assertEquals([ask(11), ask(12)], [[11, 4], [12, 5]], "not shared");
  key = "all";
  assertEquals(ask(13), [13, 1]);
  image.version++;
  assertEquals([ask(14), ask(15)], [[14, 6], [15, 6]]);
  dispatcher.freeBuffers();
  assertEquals(ask(16), [16, 7]);
  assertEquals(metrics.snapshot().apis[0].requests, 10);
});
