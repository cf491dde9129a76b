/**
 * What docs/limits.md promises of clients that are of no good to anybody, against a broker process with real sockets:
 * who says nothing, who says a byte now and then, who asks and does not listen, who comes in thousands.
 */
import { join } from "node:path";
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";
import { listTransactions } from "../../src/codec/messages/list_transactions.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { descriptorLimit } from "../../src/server/descriptors.ts";
import { type BrokerOptions, BrokerProcess } from "../lib/broker_process.ts";
import { until } from "../lib/waiting.ts";
import { frameOf } from "../protocol/golden_requests.ts";
import { fetchFrom, produceTo, TestClient } from "../protocol/requests.ts";
import { withRecords } from "./batches.ts";
import { bombs } from "./bombs.ts";
import { cpuTicks, openDescriptors, residentBytes } from "./process.ts";
import { MAX_BYTES_PER_IDLE_CONNECTION, MAX_RSS_MIB } from "./promises.ts";
import { isGone } from "./wire.ts";

const MIB = 1024 * 1024;
/** Far beyond what a loaded machine needs. */
const PATIENCE_MS = 40_000;

/** A broker process with these settings, while `use` runs. */
async function withBroker(
  settings: Record<string, string>,
  use: (broker: BrokerProcess) => Promise<void>,
  options: BrokerOptions = {},
): Promise<void> {
  const parent = await Deno.makeTempDir({ prefix: "trackway-limits-" });
  const args = Object.entries(settings).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
  const broker = await BrokerProcess.start(join(parent, "data"), 0, { args, ...options });
  try {
    await use(broker).catch((error) => {
      throw new Error(broker.described(`${error}`), { cause: error });
    });
    assertEquals(broker.said.filter((line) => / ERROR |FATAL/.test(line)), []);
    assertEquals((await broker.end("SIGTERM")).code, 0, broker.described("It did not stop in order"));
  } finally {
    await broker.end("SIGKILL");
    await Deno.remove(parent, { recursive: true });
  }
}

function connect({ port }: BrokerProcess): Promise<Deno.TcpConn> {
  return Deno.connect({ hostname: "127.0.0.1", port });
}

/** Resolves when the broker has closed the connection, with the milliseconds it took. */
async function closed(conn: Deno.TcpConn, since = performance.now()): Promise<number> {
  const piece = new Uint8Array(1000);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) =>
    timer = setTimeout(() => reject(new Error("the connection stays open")), PATIENCE_MS)
  );
  const end = async () => {
    try {
      while (await conn.read(piece) !== null);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  };
  try {
    await Promise.race([end(), late]);
  } finally {
    clearTimeout(timer);
    conn.close();
  }
  return performance.now() - since;
}

/** Produces and reads back: what others do must not be felt here. */
async function worksFor(client: TestClient, topic: string): Promise<void> {
  const records = buildBatch([{ timestamp: Date.now(), key: null, value: new Uint8Array(10) }]);
  const offset = await client.append(topic, records);
  const { responses } = await client.send(fetch, 12, fetchFrom(topic, [[0, offset]]));
  assertEquals(responses[0].partitions[0].errorCode, ErrorCode.NONE);
}

Deno.test("connections on which nothing comes are closed after connections.max.idle.ms, whoever left them", async () => {
  await withBroker({ "connections.max.idle.ms": "500" }, async (broker) => {
    const since = performance.now();
    const silent = await connect(broker), half = await connect(broker);
    await half.write(new Uint8Array([0, 0, 0, 50, 0, 18]));
    const took = await Promise.all([closed(silent, since), closed(half, since)]);
    for (const ms of took) assert(ms > 450, `closed after ${ms} ms`);
  });
});

Deno.test("a client that sends a byte now and then is closed after connections.max.idle.ms as well", async () => {
  await withBroker({ "connections.max.idle.ms": "600" }, async (broker) => {
    const conn = await connect(broker);
    const since = performance.now();
    const frame = new Uint8Array(1000);
    frame[2] = 3;
    let at = 0;
    const sending = setInterval(() => {
      conn.write(frame.subarray(at, ++at)).catch(() => clearInterval(sending));
    }, 50);
    try {
      const ms = await closed(conn, since);
      assert(ms > 550, `closed after ${ms} ms`);
      assert(at > 5, `${at} bytes were sent`);
    } finally {
      clearInterval(sending);
    }
  });
});

Deno.test("clients that never read their answers cost what all together may, and are closed", async () => {
  const settings = { "connections.max.idle.ms": "4000", "queued.max.request.bytes": `${64 * MIB}` };
  await withBroker(settings, async (broker) => {
    // A new one each time: this client, too, must not be idle for long, and the machine may be slow.
    const asGoodClient = async (use: (client: TestClient) => Promise<void>) => {
      await using client = await TestClient.to(broker);
      await use(client);
    };
    const value = new Uint8Array(900_000);
    crypto.getRandomValues(value.subarray(0, 65_536));
    await asGoodClient(async (good) => {
      await good.createTopic("large");
      await good.createTopic("good");
      for (let i = 0; i < 4; i++) {
        await good.append("large", buildBatch([{ timestamp: 1, key: null, value }]));
      }
    });
    const request = frameOf(fetch, 12, fetch.request.encode(12, fetchFrom("large", [[0, 0, 4 * MIB]])));
    const deaf = await Promise.all(Array.from({ length: 60 }, () => connect(broker)));
    await Promise.all(deaf.map(async (conn) => {
      for (let i = 0; i < 20; i++) await conn.write(request);
    }));
    for (let i = 0; i < 20; i++) await asGoodClient((good) => worksFor(good, "good"));
    const rss = residentBytes(broker.pid);
    // 60 times 20 answers of 4 MB are nearly 5 GB.
    if (rss !== null) assert(rss.peak < 400 * MIB, `${Math.round(rss.peak / MIB)} MiB`);
    // They are open until nothing has moved for four seconds: reading would be moving.
    await until(() => (openDescriptors(broker.pid) ?? 0) < 60);
    for (const conn of deaf) conn.close();
    await asGoodClient((good) => worksFor(good, "good"));
  });
});

Deno.test("clients that ask for very large answers and do not read them cost what such answers may have together", async () => {
  await withBroker({}, async (broker) => {
    await using client = await TestClient.to(broker);
    for (let i = 0; i < 600; i++) {
      const transactionalId = `${i}`.padEnd(32_000, "x");
      await client.send(findCoordinator, 4, { key: "", keyType: 1, coordinatorKeys: [transactionalId] });
      await client.send(initProducerId, 5, { transactionalId, transactionTimeoutMs: 60_000 });
    }
    const everything = { stateFilters: [], producerIdFilters: [], durationFilter: -1n };
    const request = frameOf(listTransactions, 1, listTransactions.request.encode(1, everything));
    const deaf = await Promise.all(Array.from({ length: 40 }, () => connect(broker)));
    await Promise.all(deaf.map((conn) => conn.write(request)));
    const small = await client.send(listTransactions, 2, { ...everything, transactionalIdPattern: "1x*" });
    assertEquals(small.transactionStates.length, 1);
    const rss = residentBytes(broker.pid);
    // 40 answers of 19 MB are 760 MB.
    if (rss !== null) assert(rss.peak < 400 * MIB, `${Math.round(rss.peak / MIB)} MiB`);
    for (const conn of deaf) conn.close();
    const all = await client.send(listTransactions, 1, everything);
    assertEquals(all.transactionStates.length, 600);
  });
});

Deno.test("thousands of connections that do nothing cost a few kilobytes each, and nobody else anything", async () => {
  const limit = descriptorLimit() ?? 1024;
  const count = Math.min(5000, limit - 300);
  await withBroker({}, async (broker) => {
    await using good = await TestClient.to(broker);
    await good.createTopic("good");
    await worksFor(good, "good");
    const before = residentBytes(broker.pid);
    const idle: Deno.TcpConn[] = [];
    for (let i = 0; i < count; i += 100) {
      idle.push(...await Promise.all(Array.from({ length: 100 }, () => connect(broker))));
    }
    await until(() => (openDescriptors(broker.pid) ?? Infinity) > count);
    await worksFor(good, "good");
    const after = residentBytes(broker.pid);
    if (before !== null && after !== null) {
      const each = (after.now - before.now) / count;
      assert(each < MAX_BYTES_PER_IDLE_CONNECTION, `${Math.round(each)} bytes for each of ${count}`);
    }
    for (const conn of idle) conn.close();
    await until(() => (openDescriptors(broker.pid) ?? 0) < 200);
  });
});

Deno.test("connections that sent large requests and fell quiet keep little, all of them together", async () => {
  await withBroker({}, async (broker) => {
    await using good = await TestClient.to(broker);
    await good.createTopic("good");
    const before = residentBytes(broker.pid);
    const request = frameOf(
      produce,
      9,
      produce.request.encode(9, produceTo("good", new Uint8Array(400_000))),
    );
    const quiet: Deno.TcpConn[] = [];
    for (let i = 0; i < 800; i++) {
      const conn = await connect(broker);
      for (let at = 0; at < request.length;) at += await conn.write(request.subarray(at));
      // The answer: what was sent is no batch.
      assert(await conn.read(new Uint8Array(1000)) !== null);
      quiet.push(conn);
    }
    const after = residentBytes(broker.pid);
    // Each on its own would keep 512 KiB, 400 MiB in all.
    if (before !== null && after !== null) {
      assert(after.now - before.now < 250 * MIB, `${Math.round((after.now - before.now) / MIB)} MiB`);
    }
    await worksFor(good, "good");
    for (const conn of quiet) conn.close();
  });
});

/** A broker that may have so many files open. */
function withOpenFiles(limit: number): BrokerOptions {
  const program = new URL("../../src/main.ts", import.meta.url).pathname;
  const script = `ulimit -n ${limit} && exec "$0" "$@"`;
  return { command: ["sh", "-c", script, Deno.execPath(), "run", "-A", "--no-check", program] };
}

Deno.test("connections do not take the descriptors that the log needs", async () => {
  await withBroker({}, async (broker) => {
    await using good = await TestClient.to(broker);
    await good.createTopic("good");
    const many = await Promise.all(Array.from({ length: 150 }, () => connect(broker)));
    await broker.saying("the limit on open files leaves room for");
    // Sixty logs that are opened while there are as many connections as there may be.
    await good.createTopic("wide", 60);
    for (let partition = 0; partition < 60; partition++) {
      await good.append("wide", buildBatch([{ timestamp: 1, key: null, value: null }]), partition);
    }
    await worksFor(good, "good");
    for (const conn of many) conn.close();
    await until(() => (openDescriptors(broker.pid) ?? 0) < 150);
    await using another = await TestClient.to(broker);
    await worksFor(another, "good");
  }, withOpenFiles(200));
});

const hasPrlimit = await new Deno.Command("prlimit", { args: ["--version"], stdout: "null" }).output().then(
  ({ success }) => success,
  () => false,
);

Deno.test({
  name: "a broker that has no descriptor left to accept with goes on, at rest, and accepts again when it has",
  ignore: !hasPrlimit,
  fn: async () => {
    await withBroker({}, async (broker) => {
      await using good = await TestClient.to(broker);
      await good.createTopic("good");
      await worksFor(good, "good");
      const setLimit = async (limit: number) => {
        const args = [`--pid=${broker.pid}`, `--nofile=${limit}:`];
        assert((await new Deno.Command("prlimit", { args }).output()).success, "prlimit");
      };
      const before = openDescriptors(broker.pid)!;
      await setLimit(before);
      const waiting = await Promise.all(Array.from({ length: 5 }, () => connect(broker)));
      await broker.saying("os error 24");
      const ticks = cpuTicks(broker.pid)!, since = performance.now();
      while (performance.now() - since < 1000) await worksFor(good, "good");
      // Working for the one takes its part; an accept that fails at full speed would take all of it.
      const share = (cpuTicks(broker.pid)! - ticks) * 10 / (performance.now() - since);
      assert(share < 0.9, `${Math.round(100 * share)} % of a core`);
      await setLimit(before + 1000);
      for (const conn of waiting) {
        await using client = await TestClient.to(broker);
        await worksFor(client, "good");
        conn.close();
      }
    });
  },
});

Deno.test("batches that stand for gigabytes are refused or found out, and cost little time and memory", async () => {
  await withBroker({}, async (broker) => {
    await using client = await TestClient.to(broker);
    await client.createTopic("plain");
    await client.createTopic("opened", 1, { "compression.type": "uncompressed" });
    const template = buildBatch([{ timestamp: Date.now(), key: null, value: null }]);
    const slow: string[] = [];
    const timed = async <T>(what: string, work: Promise<T>): Promise<T> => {
      const since = performance.now();
      const result = await work;
      if (performance.now() - since > 3000) slow.push(`${what}: ${performance.now() - since} ms`);
      return result;
    };
    for (const [i, { compression, bytes }] of bombs.entries()) {
      const batch = withRecords(template, 1, compression, bytes);
      const squeezed = await timed(
        `produce ${i}`,
        client.send(produce, 9, produceTo("opened", batch.slice())),
      );
      const code = errorName(squeezed.responses[0].partitionResponses[0].errorCode);
      assert(["MESSAGE_TOO_LARGE", "INVALID_RECORD"].includes(code), `bomb ${i}: ${code}`);
      const offset = await client.append("plain", batch);
      const old = await timed(`fetch ${i}`, client.send(fetch, 3, fetchFrom("plain", [[0, offset]])));
      const oldCode = errorName(old.responses[0].partitions[0].errorCode);
      // Zstandard is not converted for clients of an age that did not know it.
      assert(["CORRUPT_MESSAGE", "UNSUPPORTED_COMPRESSION_TYPE"].includes(oldCode), `bomb ${i}: ${oldCode}`);
      const partitions = [{ partitionIndex: 0, timestamp: BigInt(Date.now() - 60_000) }];
      const asked = {
        replicaId: -1,
        isolationLevel: 0,
        timeoutMs: 0,
        topics: [{ name: "plain", partitions }],
      };
      const { topics } = await timed(`list ${i}`, client.send(listOffsets, 7, asked));
      assertEquals(errorName(topics[0].partitions[0].errorCode), "CORRUPT_MESSAGE", `bomb ${i}`);
    }
    assertEquals(slow, []);
    const rss = residentBytes(broker.pid);
    if (rss !== null) assert(rss.peak < MAX_RSS_MIB * MIB, `${Math.round(rss.peak / MIB)} MiB`);
  });
});

Deno.test("a frame that is announced as large as a frame may be costs nothing until its bytes come", async () => {
  await withBroker({}, async (broker) => {
    await using good = await TestClient.to(broker);
    await good.createTopic("good");
    const before = residentBytes(broker.pid);
    const announced = new Uint8Array(1000);
    new DataView(announced.buffer).setInt32(0, 104_857_600);
    const conns = await Promise.all(Array.from({ length: 200 }, () => connect(broker)));
    for (const conn of conns) await conn.write(announced);
    await worksFor(good, "good");
    const after = residentBytes(broker.pid);
    if (before !== null && after !== null) {
      assert(after.now - before.now < 40 * MIB, `${Math.round((after.now - before.now) / MIB)} MiB`);
    }
    for (const conn of conns) conn.close();
  });
});

Deno.test("clients whose large frames hardly come keep no request of ordinary size waiting", async () => {
  await withBroker({ "queued.max.request.bytes": `${16 * MIB}` }, async (broker) => {
    await using good = await TestClient.to(broker);
    await good.createTopic("good");
    const begun = new Uint8Array(3 * MIB);
    new DataView(begun.buffer).setInt32(0, 50 * MIB);
    const slow = await Promise.all(Array.from({ length: 10 }, () => connect(broker)));
    // Not all of it is taken: the broker has no memory for more than a few of them.
    for (const conn of slow) conn.write(begun).catch((error) => assert(isGone(error), String(error)));
    const before = residentBytes(broker.pid);
    for (let i = 0; i < 20; i++) {
      await good.append("good", buildBatch([{ timestamp: 1, key: null, value: new Uint8Array(900_000) }]));
    }
    const after = residentBytes(broker.pid);
    if (before !== null && after !== null) assert(after.peak < before.now + 150 * MIB, "memory is bounded");
    for (const conn of slow) conn.close();
  });
});

Deno.test("max.connections.per.ip and max.connections hold in a broker, for who is too many alone", async () => {
  await withBroker({ "max.connections.per.ip": "3" }, async (broker) => {
    const clients = await Promise.all([1, 2, 3].map(() => TestClient.to(broker)));
    await clients[0].createTopic("good");
    await closed(await connect(broker));
    await broker.saying("max.connections.per.ip (3 for 127.0.0.1) reached");
    for (const client of clients) {
      await worksFor(client, "good");
      await client.client.close();
    }
  });
});
