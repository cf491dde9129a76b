import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { systemClock } from "../../src/base/clock.ts";
import { StartupError } from "../../src/base/startup_error.ts";
import { MemoryBudget } from "../../src/server/memory_budget.ts";
import { Server, type ServerOptions } from "../../src/server/server.ts";
import { FakeSocket, frame } from "./fakes.ts";
import { Events, TestServer, withListen } from "./test_server.ts";

// ---- Addresses

Deno.test("Server.listen() gives the port that the system chose for port 0", async () => {
  await using server = new TestServer();
  assert(server.ports[0] > 1024);
});

Deno.test("Server.listen() says what to do when the port is taken", async () => {
  await using one = new TestServer();
  const other = new Server({} as ServerOptions);
  const error = assertThrows(
    () => other.listen({ listenerName: "PLAINTEXT", host: "127.0.0.1", port: one.ports[0] }),
    StartupError,
  );
  assertEquals(
    error.message,
    `Cannot listen on 127.0.0.1:${
      one.ports[0]
    }: the port is taken. Stop what uses it, or choose another with --port.`,
  );
});

Deno.test("Server.listen() says what to do when the machine has no such address", () => {
  // 192.0.2.0/24 is kept for documentation: no machine has it.
  const error = assertThrows(
    () => new Server({} as ServerOptions).listen({ listenerName: "A", host: "192.0.2.1", port: 21450 }),
    StartupError,
  );
  assertEquals(
    error.message,
    "Cannot listen on 192.0.2.1:21450: this machine has no such address. Name one that it has with --host or listeners.",
  );
});

Deno.test("Server.listen() says what to do when the port needs privileges", async () => {
  await withListen(() => {
    throw new Deno.errors.PermissionDenied("no");
  }, () => {
    const error = assertThrows(
      () => new Server({} as ServerOptions).listen({ listenerName: "A", host: "::1", port: 92 }),
      StartupError,
    );
    assertEquals(
      error.message,
      "Cannot listen on [::1]:92: not allowed. Ports below 1024 need privileges; choose another with --port.",
    );
  });
});

Deno.test("Server.listen() passes on any other reason", () => {
  const error = assertThrows(
    () => new Server({} as ServerOptions).listen({ listenerName: "A", host: "no.such.invalid", port: 21450 }),
    StartupError,
  );
  assert(error.message.startsWith("Cannot listen on no.such.invalid:21450: "), error.message);
});

Deno.test("Server serves every address that it was bound to, each by its listener's name", async () => {
  await using server = new TestServer({}, ["A", "B", "A"]);
  const names: string[] = [];
  for (const port of server.ports) {
    using client = await server.connect(port);
    await client.send("now a");
    assertEquals(await client.receive(), "a");
    names.push(server.dispatcher.peer!.listenerName);
  }
  assertEquals(names, ["A", "B", "A"]);
  assertEquals(new Set(server.ports).size, 3);
});

// ---- Admission

Deno.test("Server closes connections above max.connections and takes new ones when others have left", async () => {
  await using server = new TestServer({ maxConnections: () => 2 });
  using first = await server.connect();
  using second = await server.connect();
  for (const client of [first, second]) {
    await client.send("now a");
    assertEquals(await client.receive(), "a");
  }
  using third = await server.connect();
  assertEquals(await third.receive(), null);
  assertEquals(await server.refused.next(), "max.connections (2) reached");

  await first.conn.closeWrite();
  assertEquals(await first.receive(), null, "the server closes it too");
  using fourth = await server.connect();
  await fourth.send("now b");
  assertEquals(await fourth.receive(), "b");
});

Deno.test("Server closes connections of an address above its limit, and takes new ones when others have left", async () => {
  const asked: string[] = [];
  await using server = new TestServer({
    maxConnectionsOf: (address) => {
      asked.push(address);
      return 1;
    },
  });
  using first = await server.connect();
  await first.send("now a");
  assertEquals(await first.receive(), "a");
  using second = await server.connect();
  assertEquals(await second.receive(), null);
  assertEquals(await server.refused.next(), "max.connections.per.ip (1 for 127.0.0.1) reached");
  assertEquals(asked, ["127.0.0.1", "127.0.0.1"]);

  await first.conn.closeWrite();
  assertEquals(await first.receive(), null);
  using third = await server.connect();
  await third.send("now b");
  assertEquals(await third.receive(), "b");
});

Deno.test("Server counts an address that came as IPv6 with an IPv4 address in it as the latter", async () => {
  const socket = new FakeSocket();
  Object.assign(socket.remoteAddr, { hostname: "::ffff:10.0.0.1" });
  let closed = () => {};
  Object.assign(socket.conn, { close: () => closed() });
  await using server = new TestServer({ maxConnectionsOf: (address) => address === "10.0.0.1" ? 0 : 9 });
  const isClosed = new Promise<void>((resolve) => closed = resolve);
  server.server["admit"](
    socket.conn,
    { listenerName: "PLAINTEXT", host: "::", port: 1 },
    server.dispatcher,
  );
  await isClosed;
  assertEquals(await server.refused.next(), "max.connections.per.ip (0 for 10.0.0.1) reached");
});

Deno.test("Server tells who was cut off and why, and goes on with the others", async () => {
  const refusals = new Events<string[]>();
  await using server = new TestServer({ onRefused: (...all) => refusals.push(all) });
  using good = await server.connect();
  using bad = await server.connect();
  const { port } = bad.conn.localAddr as Deno.NetAddr;
  await bad.conn.write(new Uint8Array([0x7f, 0xff, 0xff, 0xff]));
  assertEquals(await bad.receive(), null);
  assertEquals(await refusals.next(), [
    `127.0.0.1:${port}`,
    "PLAINTEXT",
    "frame size 2147483647 is not between 0 and socket.request.max.bytes (1000)",
  ]);
  assertEquals(server.server.metrics.malformedFrames, 1);
  await good.send("now a");
  assertEquals(await good.receive(), "a");
});

Deno.test("Server survives a handler that throws: the connection ends, the error is told, others go on", async () => {
  await using server = new TestServer();
  using bad = await server.connect();
  using good = await server.connect();
  await bad.send("bad");
  assertEquals(await bad.receive(), null);
  assertEquals(await server.failed.next(), server.dispatcher.error);
  await good.send("now a");
  assertEquals(await good.receive(), "a");
});

Deno.test("Server counts its connections", async () => {
  await using server = new TestServer();
  const { metrics } = server.server;
  using client = await server.connect();
  await client.send("now a");
  await client.receive();
  assertEquals([metrics.connectionsOpened, metrics.connectionsClosed, server.server.connectionCount], [
    1,
    0,
    1,
  ]);
  await client.conn.closeWrite();
  assertEquals(await client.receive(), null);
  // The next connection is admitted after the first one's end was noted: both are of the same event loop.
  using next = await server.connect();
  await next.send("now a");
  await next.receive();
  assertEquals([metrics.connectionsOpened, metrics.connectionsClosed, server.server.connectionCount], [
    2,
    1,
    1,
  ]);
});

Deno.test("Server accepts no more than max.connection.creation.rate in a second, and lets the others wait", async () => {
  await using server = new TestServer({ maxAcceptedPerSecond: () => 3, clock: systemClock });
  const since = performance.now();
  const answered: number[] = [];
  const clients = await Promise.all([1, 2, 3, 4, 5, 6, 7].map(() => server.connect()));
  await Promise.all(clients.map(async (client) => {
    await client.send("now a");
    assertEquals(await client.receive(), "a");
    answered.push(performance.now() - since);
    client.conn.close();
  }));
  // Timers may be a little early, and on a busy machine late.
  const [, , , fourth, , , seventh] = answered.toSorted((a, b) => a - b);
  assert(fourth > 950 && seventh > 1950, `answered after ${answered} ms`);
});

Deno.test("Server goes on after accept() failed, and tells of it", async () => {
  const socket = new FakeSocket();
  Object.assign(socket.conn, { setNoDelay() {}, setKeepAlive() {} });
  const closed = Promise.withResolvers<never>();
  closed.promise.catch(() => {});
  let calls = 0;
  const listener = {
    addr: { transport: "tcp", hostname: "127.0.0.1", port: 1 },
    accept: (): Promise<unknown> => {
      calls++;
      if (calls === 1) return Promise.reject(new Error("too many open files"));
      return calls === 2 ? Promise.resolve(socket.conn) : closed.promise;
    },
    close: () => closed.reject(new Deno.errors.BadResource("closed")),
  };
  await withListen(() => listener, async () => {
    await using server = new TestServer();
    assertEquals(await server.refused.next(), "Error: too many open files");
    socket.feed(frame("now a"));
    assertEquals(await server.handled.next(), "now a");
  });
});

Deno.test("Server goes on when a connection breaks while it is being admitted", async () => {
  const broken = new FakeSocket(), good = new FakeSocket();
  Object.assign(broken.conn, {
    setKeepAlive() {},
    setNoDelay() {
      throw new Deno.errors.BadResource("gone");
    },
  });
  Object.assign(good.conn, { setNoDelay() {}, setKeepAlive() {} });
  const closed = Promise.withResolvers<never>();
  closed.promise.catch(() => {});
  const conns = [broken.conn, good.conn];
  const listener = {
    addr: { transport: "tcp", hostname: "127.0.0.1", port: 1 },
    accept: (): Promise<unknown> => conns.length > 0 ? Promise.resolve(conns.shift()) : closed.promise,
    close: () => closed.reject(new Deno.errors.BadResource("closed")),
  };
  await withListen(() => listener, async () => {
    await using server = new TestServer();
    good.feed(frame("now a"));
    assertEquals(await server.handled.next(), "now a");
    assertEquals(broken.isClosed, true);
  });
});

// ---- The end

Deno.test("Server.stopAccepting() refuses new connections, those that are open go on", async () => {
  await using server = new TestServer();
  using client = await server.connect();
  await client.send("now a");
  assertEquals(await client.receive(), "a");
  server.server.stopAccepting();
  assertEquals(await server.connect().then(() => "accepted", () => "refused"), "refused");
  await client.send("now b");
  assertEquals(await client.receive(), "b");
});

Deno.test("Server.closeConnections() sends the answers that become ready at its beginning, then closes", async () => {
  await using server = new TestServer();
  using waiting = await server.connect();
  using idle = await server.connect();
  await waiting.send("later a");
  await server.handled.next();
  await idle.send("now b");
  await server.handled.next();
  server.server.stopAccepting();
  server.dispatcher.answer("a");
  await server.server.closeConnections(60_000);
  assertEquals([await waiting.receive(), await waiting.receive()], ["a", null]);
  assertEquals([await idle.receive(), await idle.receive()], ["b", null]);
  assertEquals(server.server.connectionCount, 0);
});

Deno.test("Server.closeConnections() ends connections in order, though requests were sent that nobody reads", async () => {
  const limits = { maxFrameBytes: 1e6, maxUnsentBytes: 1e6, maxPipelined: 4 };
  await using server = new TestServer({ limits, budget: new MemoryBudget(300_000) });
  using client = await server.connect();
  await client.send("later a");
  await server.handled.next();
  // So much is not read ahead of the answer: it stays in the socket.
  const behind = client.send("now b".padEnd(900_000, "."));
  server.server.stopAccepting();
  const closed = server.server.closeConnections(60_000, 60_000);
  server.dispatcher.answer("a");
  const bytes = new Uint8Array(1000);
  assertEquals(await client.conn.read(bytes), 1);
  assertEquals(await client.conn.read(bytes), null);
  await behind;
  // A connection that was reset would not take this.
  await client.send("now c");
  await client.conn.closeWrite();
  await closed;
  assertEquals(server.dispatcher.handled, ["later a"], "what comes behind the end is thrown away");
});

Deno.test("Server.closeConnections() does not wait for clients that leave their side open", async () => {
  await using server = new TestServer();
  using client = await server.connect();
  await client.send("now a");
  assertEquals(await client.receive(), "a");
  server.server.stopAccepting();
  await server.server.closeConnections(60_000);
  assertEquals([await client.receive(), server.server.connectionCount], [null, 0]);
});

Deno.test("Server.closeConnections() waits no longer than it may for an answer, and ends the wait then", async () => {
  await using server = new TestServer();
  using waiting = await server.connect();
  let disconnects = 0;
  server.dispatcher.onDisconnect = () => {
    disconnects++;
    server.dispatcher.answer("a");
  };
  await waiting.send("later a");
  await server.handled.next();
  server.server.stopAccepting();
  await server.server.closeConnections(1);
  assertEquals(await waiting.receive(), null);
  assertEquals([disconnects, server.server.connectionCount], [1, 0]);
});

Deno.test("Server.close() lets go of everything at once", async () => {
  await using server = new TestServer();
  using client = await server.connect();
  await client.send("now a");
  assertEquals(await client.receive(), "a");
  server.server.close();
  assertEquals(await client.receive(), null);
  assertEquals(await server.connect().then(() => "accepted", () => "refused"), "refused");
});
