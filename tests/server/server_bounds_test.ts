/** Connections that a server ends: idle ones, slow ones, and those that hold memory that others wait for. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { MemoryBudget } from "../../src/server/memory_budget.ts";
import { frame, serveFake, turn } from "./fakes.ts";
import { until } from "../lib/waiting.ts";
import { type TestClient, TestServer } from "./test_server.ts";

// ---- Idle connections

Deno.test("Server closes connections that were quiet for connections.max.idle.ms, and no others", async () => {
  await using server = new TestServer({ maxIdleMs: 400 });
  using held = await server.connect();
  await held.send("later a");
  await server.handled.next();
  using quiet = await server.connect();
  await quiet.send("now b");
  assertEquals(await quiet.receive(), "b");
  server.clock.advance(401);
  using fresh = await server.connect();
  await fresh.send("now c");
  assertEquals(await fresh.receive(), "c");

  assertEquals(await quiet.receive(), null);
  // The same sweep went past the connection that waits for its answer and past the one that is fresh.
  server.dispatcher.answer("a");
  assertEquals(await held.receive(), "a");
  await fresh.send("now d");
  assertEquals(await fresh.receive(), "d");
});

Deno.test("Server closes a connection whose client takes no answers for connections.max.idle.ms", async () => {
  const limits = { maxFrameBytes: 1000, maxUnsentBytes: 1e9, maxPipelined: 4 };
  await using server = new TestServer({ maxIdleMs: 400, limits });
  using client = await server.connect();
  await client.send("later a");
  await server.handled.next();
  // More than the sockets of both sides hold.
  server.dispatcher.answer("a", [new Uint8Array(64 * 1024 * 1024)]);
  await client.send("none b");
  await server.handled.next();
  // Bytes move until the sockets are full; then the clock goes on and nothing does.
  // A little at a time: a server that stood still judges nobody.
  const turning = setInterval(() => server.clock.advance(80), 50);
  try {
    await until(() => server.server.connectionCount === 0);
  } finally {
    clearInterval(turning);
  }
  let received = 0;
  for (let part = await client.receive(); part !== null; part = await client.receive()) {
    received += part.length;
  }
  assert(received < 64 * 1024 * 1024, "the client got all of it");
});

Deno.test("Server lets connections stay for ever when connections.max.idle.ms is negative", async () => {
  await using server = new TestServer({ maxIdleMs: -1 });
  using client = await server.connect();
  await client.send("now a");
  assertEquals(await client.receive(), "a");
  server.clock.advance(1e12);
  // There is no timer whose next turn could close it: the event loop has nothing else to wait for.
  await client.send("now b");
  assertEquals(await client.receive(), "b");
});

Deno.test("Server cuts off a client whose large frame does not come while others wait for memory, and only then", async () => {
  const limits = { maxFrameBytes: 1e6, maxUnsentBytes: 1e6, maxPipelined: 4 };
  const budget = new MemoryBudget(150_000);
  await using server = new TestServer({ limits, budget });
  const sweep = () => server.server["sweepConnections"]();
  using stalled = await server.connect();
  await stalled.conn.write(frame("now b".padEnd(100_000, ".")).subarray(0, 70_000));
  await until(() => budget.usedBytes > 0);
  server.clock.advance(10_001);
  sweep();
  assertEquals(server.server.connectionCount, 1, "nobody else needs the memory");
  using other = await server.connect();
  await other.send("now a".padEnd(100_000, "."));
  await until(() => budget.isShort);
  sweep();
  assertEquals(await other.receive(), "a");
  assertEquals(await stalled.receive(), null);
  assertEquals(
    await server.refused.next(),
    "a frame does not come, while others wait for the memory that it was given",
  );
});

Deno.test("Server takes memory from who has had it longest when nobody is stalled and somebody waits too long", async () => {
  const limits = { maxFrameBytes: 1e6, maxUnsentBytes: 1e6, maxPipelined: 4 };
  const budget = new MemoryBudget(150_000);
  await using server = new TestServer({ limits, budget });
  const sweep = () => server.server["sweepConnections"]();
  using held = await server.connect();
  await held.send("later a".padEnd(100_000, "."));
  await server.handled.next();
  using other = await server.connect();
  await other.send("now b".padEnd(100_000, "."));
  await until(() => budget.isShort);
  server.clock.advance(30_000);
  sweep();
  assertEquals(server.server.connectionCount, 2);
  server.clock.advance(1);
  sweep();
  assertEquals(await other.receive(), "b");
  assertEquals(await held.receive(), null);
  assertEquals(
    await server.refused.next(),
    "a request has had memory for 30 s that others wait for",
  );
});

Deno.test("Server cuts off all frames that have been coming for too long at once, and no request that came whole beside them", async () => {
  const limits = { maxFrameBytes: 1e6, maxUnsentBytes: 1e6, maxPipelined: 4 };
  const budget = new MemoryBudget(300_000);
  await using server = new TestServer({ limits, budget, maxMemoryWaitMs: 1000 });
  const sweep = () => server.server["sweepConnections"]();
  using handled = await server.connect();
  await handled.send("later a".padEnd(100_000, "."));
  await server.handled.next();
  const slow = [await server.connect(), await server.connect()];
  for (const client of slow) {
    const used = budget.usedBytes;
    await client.conn.write(frame("now b".padEnd(90_000, ".")).subarray(0, 70_000));
    await until(() => budget.usedBytes > used);
  }
  using other = await server.connect();
  await other.send("now c".padEnd(100_000, "."));
  await until(() => budget.isShort);
  server.clock.advance(1001);
  sweep();
  assertEquals([await slow[0].receive(), await slow[1].receive()], [null, null]);
  assertEquals(await other.receive(), "c");
  server.dispatcher.answer("a");
  assertEquals(await handled.receive(), "a");
  for (const client of slow) client.conn.close();
});

Deno.test("Server cuts off who does not take a large answer, when others have waited for its memory for as long", async () => {
  const limits = { maxFrameBytes: 1000, maxUnsentBytes: 1e9, maxPipelined: 4 };
  const answers = new MemoryBudget(1e6);
  await using server = new TestServer({ limits, answers, maxMemoryWaitMs: 1000 });
  const sweep = () => server.server["sweepConnections"]();
  const size = 30_000_000;
  server.dispatcher.handle = (_frame, peer) => {
    const make = async () => {
      await peer.growAnswer(size);
      return [new Uint8Array(size)];
    };
    return { answer: make() };
  };
  using deaf = await server.connect();
  await deaf.send("a");
  await until(() => server.server.unsentBytes > 0);
  using other = await server.connect();
  await other.send("b");
  await until(() => answers.isShort);
  sweep();
  server.clock.advance(1001);
  sweep();
  assertEquals(
    await server.refused.next(),
    "an answer has had memory for 1 s that others wait for",
  );
  const piece = new Uint8Array(1 << 20);
  let got = 0;
  while (got < size) got += (await other.conn.read(piece)) ?? Infinity;
  assertEquals(got, size);
  await until(() => answers.usedBytes === 0);
});

Deno.test("clients that trickle large frames at any speed do not keep an ordinary request waiting", async () => {
  const clock = new ManualClock();
  const budget = new MemoryBudget(1_000_000);
  const limits = { maxFrameBytes: 100_000_000, maxUnsentBytes: 1e6, maxPipelined: 4 };
  const now = () => clock.monotonic();
  const tricklers = Array.from({ length: 20 }, () => serveFake({ ...limits, budget, now }));
  const piece = frame(new Uint8Array(10_000_000)).subarray(0, 200_000);
  for (const { socket } of tricklers) socket.feed(piece);
  await turn();
  assert(budget.isShort, "they have all that large frames may have");
  const ordinary = serveFake({ ...limits, budget, now });
  ordinary.socket.feed(frame("now a".padEnd(200_000, ".")));
  await turn();
  assertEquals(ordinary.socket.sent, "a");
  // 11 KB a second was above what counted as stalled once; it must not be now that others wait.
  for (let second = 0; second < 12; second++) {
    clock.advance(1000);
    for (const { socket, result } of tricklers) {
      if (result() === "still open") socket.feed(new Uint8Array(11_000));
    }
    await turn();
  }
  const stalled = tricklers.filter(({ connection }) => connection.isStalled(now()));
  assert(stalled.length > 0, "those that have memory are stalled");
  for (const { connection } of tricklers) connection.close();
});

Deno.test("Server cuts off clients that take no answers when all together have too much, and not before", async () => {
  const limits = { maxFrameBytes: 1e6, maxUnsentBytes: 1e9, maxPipelined: 4 };
  const size = 40 * 1024 * 1024;
  await using server = new TestServer({ limits, maxUnsentBytes: 50 * 1024 * 1024 });
  const sweep = () => server.server["sweepConnections"]();
  const clients = [await server.connect(), await server.connect()];
  const take = async (client: TestClient, name: string) => {
    await client.send(`later ${name}`);
    await server.handled.next();
    server.dispatcher.answer(name, [new Uint8Array(size)]);
    await until(() => server.server.unsentBytes > size / 2);
  };
  await take(clients[0], "a");
  server.clock.advance(9_000);
  server.clock.advance(2_000);
  sweep();
  sweep();
  assertEquals(server.server.connectionCount, 2, "there is room");
  await take(clients[1], "b");
  await until(() => server.server.unsentBytes > 50 * 1024 * 1024);
  sweep();
  assertEquals(await server.refused.next(), "a client does not take its answers");
  await until(() => server.server.connectionCount === 1);
  for (const client of clients) client.conn.close();
});

Deno.test("Server closes an idle connection that holds a request and is not read any more", async () => {
  const limits = { maxFrameBytes: 1e6, maxUnsentBytes: 1e6, maxPipelined: 4 };
  await using server = new TestServer({ limits });
  using client = await server.connect();
  await client.send("later a");
  await server.handled.next();
  await client.send("now b".padEnd(60_000, "."));
  await client.send("now c".padEnd(60_000, "."));
  const sweep = setInterval(() => {
    server.clock.advance(600_001);
    server.server["sweepConnections"]();
  }, 5);
  try {
    assertEquals(await client.receive(), null);
  } finally {
    clearInterval(sweep);
  }
});

Deno.test("Server frees the place of a client that left while its request is held", async () => {
  await using server = new TestServer();
  server.dispatcher.onDisconnect = () => server.dispatcher.answer("a");
  const client = await server.connect();
  await client.send("later a");
  await server.handled.next();
  client.conn.close();
  await until(() => server.server.connectionCount === 0);
  assertEquals(server.dispatcher.isWaiting("a"), false);
});
