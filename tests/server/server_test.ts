import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { ManualClock, systemClock } from "../../src/base/clock.ts";
import { StartupError } from "../../src/base/startup_error.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { MemoryBudget } from "../../src/server/memory_budget.ts";
import { Server, type ServerOptions } from "../../src/server/server.ts";
import { FakeDispatcher, FakeSocket, frame, serveFake, turn } from "./fakes.ts";

const text = new TextDecoder();

/** Something that comes one after the other and can be waited for. */
class Events<T> {
  private readonly come: T[] = [];
  private wake: (() => void) | null = null;
  push = (event: T): void => {
    this.come.push(event);
    this.wake?.();
  };
  async next(): Promise<T> {
    while (this.come.length === 0) await new Promise<void>((resolve) => this.wake = resolve);
    return this.come.shift()!;
  }
}

/** A server on a free port of this machine, over a dispatcher that the test controls. */
class TestServer implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly dispatcher = new FakeDispatcher();
  /** Each frame as it is handled. */
  readonly handled = new Events<string>();
  /** What each request that failed threw. */
  readonly failed = new Events<unknown>();
  /** The reason of each refusal. */
  readonly refused = new Events<string>();
  readonly server: Server;
  readonly ports: number[];

  constructor(options: Partial<ServerOptions> = {}, listenerNames = ["PLAINTEXT"]) {
    const handle = this.dispatcher.handle.bind(this.dispatcher);
    this.dispatcher.handle = (bytes, peer) => {
      const dispatched = handle(bytes, peer);
      this.handled.push(this.dispatcher.handled.at(-1)!);
      return dispatched;
    };
    this.server = new Server({
      limits: { maxFrameBytes: 1000, maxUnsentBytes: 1000, maxPipelined: 4 },
      maxConnections: () => 100,
      maxIdleMs: 600_000,
      budget: new MemoryBudget(1e6),
      clock: this.clock,
      onRefused: (_remote, _listener, reason) => this.refused.push(reason),
      onFailed: (_remote, _listener, error) => this.failed.push(error),
      metrics: new Metrics(),
      ...options,
    });
    this.ports = listenerNames.map((listenerName) =>
      this.server.listen({ listenerName, host: "127.0.0.1", port: 0 })
    );
    this.server.start(this.dispatcher);
  }

  async connect(port = this.ports[0]): Promise<TestClient> {
    return new TestClient(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.stopAccepting();
    await this.server.closeConnections(0);
  }
}

class TestClient implements Disposable {
  constructor(readonly conn: Deno.TcpConn) {}
  async send(request: string): Promise<void> {
    await this.conn.write(frame(request));
  }
  /** The next bytes that come, or null when the server closed the connection. */
  async receive(): Promise<string | null> {
    const bytes = new Uint8Array(1000);
    const read = await this.conn.read(bytes).catch(() => null);
    return read === null ? null : text.decode(bytes.subarray(0, read));
  }
  [Symbol.dispose](): void {
    this.conn.close();
  }
}

/** Looks again and again, for what nobody tells of. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Puts something in place of Deno.listen, as long as `run` takes. */
async function withListen(listen: () => unknown, run: () => void | Promise<void>): Promise<void> {
  const real = Deno.listen;
  (Deno as { listen: unknown }).listen = listen;
  try {
    await run();
  } finally {
    (Deno as { listen: unknown }).listen = real;
  }
}

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
  assert(answered.toSorted((a, b) => a - b)[3] > 900, `answered after ${answered} ms`);
  assert(Math.max(...answered) > 1900, `answered after ${answered} ms`);
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
