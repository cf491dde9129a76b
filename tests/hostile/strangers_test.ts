/**
 * A broker among the classics of hostile and lost clients: sizes that cannot be, other protocols, garbage, bytes one by
 * one, frames that stop half way. A client that keeps to the protocol works throughout. Mutated frames are in fuzz_test.ts.
 */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { apiVersions } from "../../src/codec/messages/api_versions.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { WarningLimiter } from "../../src/observe/logging.ts";
import { freePortBroker, type TestBroker } from "../lib/broker.ts";
import { frameOf } from "../protocol/golden_requests.ts";
import { joined } from "./byte_sink.ts";
import { isGone } from "./wire.ts";
import { allTopics, batchOf, fetchFrom, TestClient } from "../protocol/requests.ts";

const SEED = 440391;
/** Connections at a time. */
const CONCURRENCY = 40;
/** Within this a request is answered, or is one of those that may be held. On a machine that has other work, too. */
const PATIENCE_MS = 5000;

// ---- Hostile connections

/** Correlation id of the request that is sent behind each mutated frame, to see whether the connection lives on. */
const PROBE_ID = 0x5afe;
const probe = frameOf(apiVersions, 0, new Uint8Array(0), PROBE_ID);

type End = "closed" | "answered" | "held";

/** Sends `bytes` in pieces and the probe behind; tells what became of the connection, which ends here in any case. */
async function attack(port: number, bytes: Uint8Array, prng: Prng): Promise<End> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<End>((resolve) => timer = setTimeout(() => resolve("held"), PATIENCE_MS));
  try {
    const writing = writeInPieces(conn, joined(bytes, probe), prng);
    const end = await Promise.race([readUntilProbe(conn), patience]);
    await writing;
    return end;
  } finally {
    clearTimeout(timer);
    conn.close();
  }
}

/** The broker may have closed long before all is written: that is its right. */
async function writeInPieces(conn: Deno.TcpConn, bytes: Uint8Array, prng: Prng): Promise<void> {
  try {
    for (let at = 0; at < bytes.length;) {
      const piece = prng.chance(0.7) ? bytes.length : prng.between(1, 50);
      at += await conn.write(bytes.subarray(at, at + piece));
    }
    // A frame that claims to be longer than it is ends here.
    await conn.closeWrite();
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

async function readUntilProbe(conn: Deno.TcpConn): Promise<End> {
  let bytes = new Uint8Array(0);
  const piece = new Uint8Array(64 * 1024);
  try {
    for (;;) {
      const read = await conn.read(piece);
      if (read === null) return "closed";
      bytes = joined(bytes, piece.subarray(0, read));
      const view = new DataView(bytes.buffer);
      for (let at = 0; bytes.length - at >= 8; at += 4 + view.getInt32(at)) {
        assert(view.getInt32(at) >= 4, `an answer of ${view.getInt32(at)} bytes`);
        if (view.getInt32(at + 4) === PROBE_ID) return "answered";
      }
    }
  } catch (error) {
    if (isGone(error)) return "closed";
    throw error;
  }
}

/** Runs `run` for each number below `count`, some at a time. */
async function each(count: number, run: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
    while (next < count) await run(next++);
  }));
}

// ---- The client beside them

/** Writes and reads as long as the others attack; every record comes back, in order and in time. */
class GoodClient {
  private stopped = false;
  private failure: unknown = null;
  private readonly working: Promise<void>;
  rounds = 0;
  slowestMs = 0;

  private constructor(private readonly client: TestClient, private readonly topic: string) {
    this.working = this.work().catch((error) => {
      this.failure = error;
    });
  }

  static async beside(broker: TestBroker, topic: string): Promise<GoodClient> {
    const client = await TestClient.to(broker);
    await client.createTopic(topic);
    return new GoodClient(client, topic);
  }

  private async work(): Promise<void> {
    while (!this.stopped) {
      const before = performance.now();
      const offset = await this.client.append(this.topic, batchOf([`round ${this.rounds}`]));
      const asked = fetchFrom(this.topic, [[0, offset]], { maxWaitMs: 10_000 });
      const { responses } = await this.client.send(fetch, 12, asked);
      const { errorCode, records } = responses[0].partitions[0];
      assertEquals([errorCode, offset], [0, this.rounds]);
      assert(records!.length > 0);
      this.rounds++;
      this.slowestMs = Math.max(this.slowestMs, performance.now() - before);
      // The others are in the same process: let them go on.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  createTopic(name: string, numPartitions: number): Promise<string> {
    return this.client.createTopic(name, numPartitions);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.working;
    await this.client.client.close();
    if (this.failure !== null) throw this.failure;
    assert(this.rounds > 0, "the good client did nothing");
    assert(this.slowestMs < PATIENCE_MS, `the good client waited for ${this.slowestMs} ms`);
  }
}

/** Every warning of a refused connection, the ones that the log holds back too. */
function recordWarnings(): { texts: string[]; restore(): void } {
  const texts: string[] = [];
  const { warn } = WarningLimiter.prototype;
  WarningLimiter.prototype.warn = (_, text) => void texts.push(text);
  return { texts, restore: () => WarningLimiter.prototype.warn = warn };
}

/** What a handler's own failure looks like in the log: every one of them is a bug. */
function failures(texts: readonly string[]): string[] {
  return [...new Set(texts.filter((text) => text.includes("request failed")))];
}

// ---- The classics

const utf8 = new TextEncoder();

/** Sends bytes and gives how the connection ended; half-open ones end when the client closes its side. */
async function endOf(port: number, bytes: Uint8Array): Promise<"closed"> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    await conn.write(bytes);
    const read = await conn.read(new Uint8Array(100)).catch((error) =>
      isGone(error) ? null : Promise.reject(error)
    );
    assertEquals(read, null, "the broker answered");
    return "closed";
  } finally {
    conn.close();
  }
}

const strangers: [name: string, bytes: Uint8Array, size: number, hint: string][] = [
  ["a size of 2 GB", new Uint8Array([0x7f, 0xff, 0xff, 0xff]), 2 ** 31 - 1, ""],
  ["a negative size", new Uint8Array([0x80, 0, 0, 0]), -(2 ** 31), ""],
  [
    "an HTTP request",
    utf8.encode("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    0x47455420,
    ": an HTTP client?",
  ],
  ["another HTTP request", utf8.encode("POST /topics HTTP/1.1\r\n\r\n"), 0x504f5354, ": an HTTP client?"],
  [
    "a TLS handshake",
    new Uint8Array([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
    0x16030102,
    ": a TLS client?",
  ],
  ["an SSH client", utf8.encode("SSH-2.0-OpenSSH_9.6\r\n"), 0x5353482d, ""],
];

for (const [name, bytes, size, hint] of strangers) {
  Deno.test(`a broker closes the connection of a client that sends ${name}, and says what it saw`, async () => {
    await using broker = await freePortBroker();
    assertEquals(await endOf(broker.port, bytes), "closed");
    assertEquals(broker.log.length, 1);
    const expected = `frame size ${size} is not between 0 and socket.request.max.bytes (104857600)${hint}`;
    assert(broker.log[0].endsWith(expected), broker.log[0]);
  });
}

Deno.test("a broker refuses an HTTP client that waits after the first four bytes as well", async () => {
  await using broker = await freePortBroker();
  assertEquals(await endOf(broker.port, utf8.encode("GET ")), "closed");
});

Deno.test("a broker survives garbage of every length", async () => {
  const warnings = recordWarnings();
  try {
    await using broker = await freePortBroker();
    const good = await GoodClient.beside(broker, "good");
    await each(300, async (i) => {
      const prng = new Prng(SEED + i);
      await attack(broker.port, prng.bytes(i), prng);
    });
    await good.stop();
    assertEquals(failures(warnings.texts), []);
  } finally {
    warnings.restore();
  }
});

Deno.test("a broker answers a client that sends one byte at a time", async () => {
  await using broker = await freePortBroker();
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: broker.port });
  conn.setNoDelay(true);
  const bytes = joined(frameOf(metadata, 12, metadata.request.encode(12, allTopics)), probe);
  for (const byte of bytes) await conn.write(new Uint8Array([byte]));
  assertEquals(await readUntilProbe(conn), "answered");
  conn.close();
});

Deno.test("a broker closes a connection whose client closed its side in the middle of a frame", async () => {
  await using broker = await freePortBroker();
  for (let cut = 0; cut < probe.length; cut++) {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port: broker.port });
    if (cut > 0) await conn.write(probe.subarray(0, cut));
    await conn.closeWrite();
    assertEquals(await readUntilProbe(conn), "closed", `after ${cut} bytes`);
    conn.close();
  }
  assertEquals(broker.log, [], "that is the client's own affair");
});

Deno.test("a broker answers what came whole from a client that then closes its side", async () => {
  await using broker = await freePortBroker();
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: broker.port });
  await conn.write(joined(probe.subarray(0), new Uint8Array([0, 0])));
  await conn.closeWrite();
  assertEquals(await readUntilProbe(conn), "answered");
  conn.close();
});

Deno.test("1,000 connections that stop in the middle of a frame keep nobody else waiting, and the stop neither", async () => {
  await using broker = await freePortBroker();
  const stalled = await Promise.all(
    Array.from({ length: 1000 }, async (_, i) => {
      const conn = await Deno.connect({ hostname: "127.0.0.1", port: broker.port });
      await conn.write(probe.subarray(0, i % probe.length));
      return conn;
    }),
  );
  const good = await GoodClient.beside(broker, "good");
  await good.stop();
  const before = performance.now();
  await broker.stop();
  assert(performance.now() - before < PATIENCE_MS);
  for (const conn of stalled) conn.close();
});

Deno.test("a broker answers a client that sends a thousand requests before it reads", async () => {
  await using broker = await freePortBroker();
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: broker.port });
  const request = frameOf(apiVersions, 0, new Uint8Array(0), 7);
  const writing = writeInPieces(conn, joined(...new Array(1000).fill(request), probe), new Prng(1));
  assertEquals(await readUntilProbe(conn), "answered");
  await writing;
  conn.close();
});
