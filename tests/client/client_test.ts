import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { assertThrows } from "@std/assert/throws";
import { AssertionError } from "../../src/base/assert.ts";
import { Client, Disconnected } from "../../src/client/client.ts";
import { encodeResponse, requestHeaderVersion } from "../../src/codec/framing.ts";
import { requestHeader } from "../../src/codec/headers.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { heartbeat } from "../../src/codec/messages/heartbeat.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { Reader } from "../../src/codec/reader.ts";
import { concatChunks } from "../../src/codec/writer.ts";
import { allTopics, produceTo } from "../protocol/requests.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { freePortBroker } from "../lib/broker.ts";

/** The other end of a client's connection, in the hands of the test. */
class FakeBroker implements AsyncDisposable {
  private constructor(
    private readonly listener: Deno.TcpListener,
    readonly conn: Deno.TcpConn,
    readonly client: Client,
  ) {}

  static async connected(): Promise<FakeBroker> {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const accepted = listener.accept();
    const client = await Client.connect({ hostname: "127.0.0.1", port: listener.addr.port }, "me");
    return new FakeBroker(listener, await accepted, client);
  }

  /** The next request's header and the rest of its frame. */
  async receive() {
    const frame = await this.bytes(new DataView((await this.bytes(4)).buffer).getInt32(0));
    const reader = new Reader(frame);
    const version = new DataView(frame.buffer).getInt16(2);
    const header = requestHeader.read(reader, requestHeaderVersion(heartbeat, version));
    return { header, reader };
  }

  private async bytes(count: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count;) {
      const read = await this.conn.read(bytes.subarray(at));
      if (read === null) throw new Error("the client closed");
      at += read;
    }
    return bytes;
  }

  async send(bytes: Uint8Array): Promise<void> {
    for (let sent = 0; sent < bytes.length;) sent += await this.conn.write(bytes.subarray(sent));
  }
  /** Answers a heartbeat. */
  answer(correlationId: number, errorCode: number, version = 4): Promise<void> {
    return this.send(heartbeatAnswer(correlationId, errorCode, version));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    this.listener.close();
    try {
      this.conn.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }
}

function heartbeatAnswer(correlationId: number, errorCode: number, version = 4): Uint8Array {
  return concatChunks(encodeResponse(heartbeat, version, correlationId, { errorCode }));
}

const beat = { groupId: "g", generationId: 1, memberId: "m" };

Deno.test("Client.send() sends what is asked in the version asked, under its client id", async () => {
  await using broker = await FakeBroker.connected();
  for (const version of [0, 3, 4]) {
    const answered = broker.client.send(heartbeat, version, beat);
    const { header, reader } = await broker.receive();
    const { requestApiKey, requestApiVersion, clientId, correlationId } = header;
    assertEquals([requestApiKey, requestApiVersion, clientId], [heartbeat.key, version, "me"]);
    assertEquals(heartbeat.request.read(reader, version).memberId, "m");
    assertEquals(reader.remaining, 0);
    await broker.answer(correlationId, 25, version);
    assertEquals(await answered, { throttleTimeMs: 0, errorCode: 25 });
  }
});

Deno.test("Client gives each answer to the request that it belongs to, whatever their order is", async () => {
  await using broker = await FakeBroker.connected();
  const answers = [1, 2, 3].map(() => broker.client.send(heartbeat, 4, beat));
  const ids: number[] = [];
  for (let i = 0; i < 3; i++) ids.push((await broker.receive()).header.correlationId);
  for (const i of [2, 0, 1]) await broker.answer(ids[i], 100 + i);
  assertEquals((await Promise.all(answers)).map(({ errorCode }) => errorCode), [100, 101, 102]);
});

Deno.test("Client puts an answer together that comes one byte at a time, and takes several in one piece", async () => {
  await using broker = await FakeBroker.connected();
  broker.conn.setNoDelay(true);
  const first = broker.client.send(heartbeat, 4, beat);
  for (const byte of heartbeatAnswer((await broker.receive()).header.correlationId, 7)) {
    await broker.send(new Uint8Array([byte]));
  }
  assertEquals((await first).errorCode, 7);
  const both = [broker.client.send(heartbeat, 4, beat), broker.client.send(heartbeat, 4, beat)];
  const ids = [(await broker.receive()).header.correlationId, (await broker.receive()).header.correlationId];
  await broker.send(concatChunks(ids.map((id, i) => heartbeatAnswer(id, i))));
  assertEquals((await Promise.all(both)).map(({ errorCode }) => errorCode), [0, 1]);
});

Deno.test("Client.sendOnly() expects no answer, and the next request gets its own", async () => {
  await using broker = await FakeBroker.connected();
  await broker.client.sendOnly(produce, 3, produceTo("t", new Uint8Array(1), { acks: 0 }));
  const answered = broker.client.send(heartbeat, 3, beat);
  await broker.receive();
  await broker.answer((await broker.receive()).header.correlationId, 3, 3);
  assertEquals((await answered).errorCode, 3);
});

Deno.test("Client tells all who wait that the broker closed the connection, and those who come later", async () => {
  await using broker = await FakeBroker.connected();
  const waiting = [1, 2].map(() => broker.client.send(heartbeat, 4, beat).catch((error) => error));
  await broker.receive();
  await broker.receive();
  broker.conn.close();
  for (const error of await Promise.all(waiting)) assert(error instanceof Disconnected, String(error));
  await broker.client.closed;
  await assertRejects(() => broker.client.send(heartbeat, 4, beat), Disconnected);
  await assertRejects(() => broker.client.sendOnly(heartbeat, 4, beat), Disconnected);
});

Deno.test("Client tells of a broker that is gone as Disconnected, when it writes too", async () => {
  await using broker = await FakeBroker.connected();
  broker.conn.close();
  // The client may have heard of it or not yet: whether the write or the read fails, it is told in the same way.
  const errors = [1, 2, 3].map(() => broker.client.send(heartbeat, 4, beat).catch((error) => error));
  for (const error of await Promise.all(errors)) assert(error instanceof Disconnected, String(error));
  await broker.client.closed;
  await assertRejects(() => broker.client.write(new Uint8Array(1)), Disconnected);
});

Deno.test("Client.close() rejects what waits and may come twice", async () => {
  await using broker = await FakeBroker.connected();
  const waiting = broker.client.send(heartbeat, 4, beat).catch((error) => error);
  await broker.receive();
  await broker.client.close();
  await broker.client.close();
  const error = await waiting;
  assert(error instanceof Disconnected);
  assertEquals(error.message, "closed by this client");
  assertEquals(await broker.conn.read(new Uint8Array(1)), null);
});

for (
  const [what, bytes, message] of [
    ["an answer of a negative size", new Uint8Array([0xff, 0xff, 0xff, 0xff]), "response of -1 bytes"],
    ["an answer without room for its id", new Uint8Array([0, 0, 0, 3, 1, 2, 3]), "response of 3 bytes"],
    ["an answer of 2 GB", new Uint8Array([0x7f, 0xff, 0xff, 0xff]), "response of 2147483647 bytes"],
    ["an answer to nothing", heartbeatAnswer(4711, 0), "response to 4711, which was not asked"],
  ] as const
) {
  Deno.test(`Client ends the connection at ${what}, and says so to all who wait`, async () => {
    await using broker = await FakeBroker.connected();
    const waiting = broker.client.send(heartbeat, 4, beat).catch((error) => error);
    await broker.receive();
    await broker.send(bytes);
    const error = await waiting;
    assert(error instanceof MalformedFrame);
    assertEquals(error.message, message);
    await broker.client.closed;
  });
}

Deno.test("Client.send() refuses an answer that cannot be read or has bytes left over, and goes on", async () => {
  await using broker = await FakeBroker.connected();
  const good = heartbeatAnswer(0, 0);
  for (
    const body of [good.subarray(4, good.length - 1), concatChunks([good.subarray(4), new Uint8Array(1)])]
  ) {
    const waiting = broker.client.send(heartbeat, 4, beat).catch((error) => error);
    const { correlationId } = (await broker.receive()).header;
    const frame = new Uint8Array(4 + body.length);
    frame.set(body, 4);
    new DataView(frame.buffer).setInt32(0, body.length);
    new DataView(frame.buffer).setInt32(4, correlationId);
    await broker.send(frame);
    assert(await waiting instanceof MalformedFrame);
  }
  const answered = broker.client.send(heartbeat, 4, beat);
  await broker.answer((await broker.receive()).header.correlationId, 5);
  assertEquals((await answered).errorCode, 5);
});

Deno.test("Client.roundTrip() refuses a correlation id that waits already", async () => {
  await using broker = await FakeBroker.connected();
  const first = broker.client.roundTrip(9, new Uint8Array(0));
  assertThrows(() => void broker.client.roundTrip(9, new Uint8Array(0)), AssertionError);
  await broker.answer(9, 0);
  assertEquals((await first).length, heartbeatAnswer(9, 0).length - 4);
});

Deno.test("Client.connect() throws what the system says when nobody listens", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  await assertRejects(() => Client.connect({ hostname: "127.0.0.1", port }), Deno.errors.ConnectionRefused);
});

Deno.test("Client keeps many requests under way with a real broker", async () => {
  await using broker = await freePortBroker();
  const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port });
  const answers = await Promise.all(Array.from({ length: 500 }, () => client.send(metadata, 12, allTopics)));
  assert(answers.every((answer) => answer.brokers.length === 1));
  await client.close();
});
