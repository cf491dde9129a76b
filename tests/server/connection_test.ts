import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Later } from "../../src/base/later.ts";
import { MalformedFrame, Unwritable } from "../../src/codec/malformed.ts";
import type { Answer } from "../../src/server/connection.ts";
import { MemoryBudget } from "../../src/server/memory_budget.ts";
import { frame, joined, serveFake, sizePrefix, turn } from "./fakes.ts";

/** A frame whose text is padded with dots to `bytes`. */
function largeFrame(text: string, bytes: number): Uint8Array {
  return frame(text.padEnd(bytes, "."));
}

const LARGE = 100_000;

// ---- Order

Deno.test("Connection has those answered who wait for what one read brought, once, before it sends its own answers", async () => {
  const { socket, dispatcher } = serveFake();
  const ends: { handled: number; written: number }[] = [];
  dispatcher.answerWoken = () => {
    ends.push({ handled: dispatcher.handled.length, written: socket.writes.length });
  };
  socket.feed(joined([frame("now a"), frame("now b"), frame("now c")]));
  await turn();
  assertEquals(ends, [{ handled: 3, written: 0 }]);
  assertEquals(socket.sent, "abc");
  socket.feed(joined([frame("now d"), frame("produce e")]));
  await turn();
  assertEquals(ends[1], { handled: 5, written: 1 }, "before a wait as well");
});

Deno.test("Connection sends the answer of a request that waits in the very call that brings it", async () => {
  const { socket, dispatcher } = serveFake();
  const later = new Later<Answer>();
  dispatcher.handle = () => ({ answer: later });
  socket.feed(frame("fetch"));
  await turn();
  assertEquals(socket.sent, "");
  later.settle([new TextEncoder().encode("a")]);
  assertEquals(socket.sent, "a");
});

Deno.test("Connection ends when a request that waits fails in the turn of another", async () => {
  const { socket, dispatcher, ended } = serveFake();
  const later = new Later<Answer>();
  dispatcher.handle = () => ({ answer: later });
  socket.feed(frame("fetch"));
  await turn();
  later.fail(new Error("a bug"));
  assertEquals((await ended as Error).message, "a bug");
  assert(socket.isClosed);
});

Deno.test("Connection answers what can be answered at once in order, in one write", async () => {
  const { socket, dispatcher } = serveFake();
  socket.feed(joined([frame("now a"), frame("now b"), frame("now c")]));
  await turn();
  assertEquals(dispatcher.handled, ["now a", "now b", "now c"]);
  assertEquals(socket.sent, "abc");
  assertEquals(socket.writes, [3]);
});

Deno.test("Connection answers pipelined requests in the order in which they came, whichever is ready first", async () => {
  const { socket, dispatcher } = serveFake();
  socket.feed(joined([frame("produce a"), frame("produce b"), frame("produce c")]));
  await turn();
  assertEquals(dispatcher.handled.length, 3, "all three are in work at once");
  dispatcher.answer("c");
  dispatcher.answer("b");
  await turn();
  assertEquals(socket.sent, "");
  dispatcher.answer("a");
  await turn();
  assertEquals(socket.sent, "abc");
});

Deno.test("Connection sends each answer as soon as those before it are sent", async () => {
  const { socket, dispatcher } = serveFake();
  socket.feed(joined([frame("produce a"), frame("produce b")]));
  await turn();
  dispatcher.answer("a");
  await turn();
  assertEquals(socket.sent, "a");
  dispatcher.answer("b");
  await turn();
  assertEquals(socket.sent, "ab");
});

Deno.test("Connection handles nothing behind a request that waits, until that has its answer", async () => {
  const { socket, dispatcher } = serveFake();
  socket.feed(joined([frame("later a"), frame("now b"), frame("later c"), frame("now d")]));
  await turn();
  assertEquals(dispatcher.handled, ["later a"]);
  dispatcher.answer("a");
  await turn();
  assertEquals(dispatcher.handled, ["later a", "now b", "later c"]);
  assertEquals(socket.sent, "ab", "what is ready is not kept waiting for what is not");
  dispatcher.answer("c");
  await turn();
  assertEquals(socket.sent, "abcd");
});

Deno.test("Connection keeps the order of every mixture of requests and readiness", async () => {
  // All words over the three kinds of requests, answered from the last to the first and the other way round.
  const verbs = ["now", "later", "produce"];
  for (let word = 0; word < verbs.length ** 4; word++) {
    for (const fromLast of [false, true]) {
      const { socket, dispatcher } = serveFake({ maxPipelined: 10 });
      const requests = [0, 1, 2, 3].map((i) => ({
        verb: verbs[Math.floor(word / verbs.length ** i) % verbs.length],
        name: "abcd"[i],
      }));
      socket.feed(joined(requests.map(({ verb, name }) => frame(`${verb} ${name}`))));
      await turn();
      for (let answered = 0; answered < 4;) {
        const open = requests.filter(({ verb, name }) => verb !== "now" && dispatcher.isWaiting(name)).map((
          { name },
        ) => name);
        if (open.length === 0) break;
        dispatcher.answer(fromLast ? open.at(-1)! : open[0]);
        answered++;
        await turn();
      }
      assertEquals(socket.sent, "abcd", requests.map(({ verb }) => verb).join(" "));
    }
  }
});

Deno.test("Connection handles what does not pipeline when all before it are answered", async () => {
  const { socket, dispatcher } = serveFake();
  socket.feed(joined([frame("produce a"), frame("produce b"), frame("now c"), frame("produce d")]));
  await turn();
  assertEquals([dispatcher.handled, socket.sent], [["produce a", "produce b"], ""]);
  dispatcher.answer("b");
  await turn();
  assertEquals(dispatcher.handled.length, 2);
  dispatcher.answer("a");
  await turn();
  assertEquals([dispatcher.handled.slice(2), socket.sent], [["now c", "produce d"], "abc"]);
});

Deno.test("Connection handles what waited behind a pipelined request also when the client has left", async () => {
  const { socket, dispatcher, ended } = serveFake();
  socket.feed(joined([frame("produce a"), frame("now b")]));
  socket.end();
  await turn();
  dispatcher.answer("a");
  await ended;
  assertEquals([dispatcher.handled, socket.sent], [["produce a", "now b"], "ab"]);
});

Deno.test("Connection counts a large request that waits as held, not as stalled: it is all there", async () => {
  const { socket, dispatcher, connection, budget } = serveFake();
  socket.feed(joined([frame("produce a"), largeFrame("now b", LARGE)]));
  await turn();
  const judged = () => [connection.isStalled(60_000), connection.memoryHeldMs(60_000), budget.usedBytes];
  assertEquals(judged(), [false, 60_000, LARGE + 4], "behind another one");
  dispatcher.peer!.mute(1e9);
  dispatcher.answer("a");
  await turn();
  assertEquals([dispatcher.handled, judged()], [["produce a"], [false, 60_000, LARGE + 4]], "muted");
  connection.close();
  assertEquals(budget.usedBytes, 0);
});

Deno.test("Connection gives the memory back of a request that waited behind another when it was closed", async () => {
  for (const end of ["close", "answer", "fail"]) {
    const { socket, dispatcher, connection, budget, ended } = serveFake();
    socket.feed(joined([largeFrame("produce a", LARGE), largeFrame("now b", LARGE)]));
    await turn();
    assertEquals(budget.usedBytes, 2 * (LARGE + 4));
    if (end === "close") connection.close();
    else if (end === "fail") dispatcher.fail("a", new Error("a bug"));
    else dispatcher.answer("a");
    if (end === "answer") await turn();
    else await ended;
    // What a handler still works at is its own until it is done.
    assertEquals(budget.usedBytes, end === "close" ? LARGE + 4 : 0, end);
  }
});

Deno.test("Connection sends nothing for requests without an answer, and keeps the order around them", async () => {
  const { socket, dispatcher } = serveFake();
  socket.feed(
    joined([frame("none x"), frame("produce a"), frame("none y"), frame("produce z"), frame("now b")]),
  );
  await turn();
  dispatcher.answer("z", null);
  dispatcher.answer("a");
  await turn();
  assertEquals(socket.sent, "ab");
});

// ---- Bounds

Deno.test("Connection has no more than maxPipelined requests in work", async () => {
  const { socket, dispatcher } = serveFake({ maxPipelined: 2 });
  socket.feed(joined(["a", "b", "c", "d"].map((name) => frame(`produce ${name}`))));
  await turn();
  assertEquals(dispatcher.handled, ["produce a", "produce b"]);
  dispatcher.answer("b");
  await turn();
  assertEquals(dispatcher.handled.length, 2, "the oldest still has no answer");
  dispatcher.answer("a");
  await turn();
  assertEquals(dispatcher.handled.length, 4);
  dispatcher.answer("c");
  dispatcher.answer("d");
  await turn();
  assertEquals(socket.sent, "abcd");
});

Deno.test("Connection counts answers that wait behind a pipelined request towards maxPipelined", async () => {
  const { socket, dispatcher } = serveFake({ maxPipelined: 3 });
  dispatcher.pipelines = () => true;
  socket.feed(joined([frame("produce a"), ..."bcdefgh".split("").map((name) => frame(`now ${name}`))]));
  await turn();
  assertEquals(dispatcher.handled.length, 3);
  dispatcher.answer("a");
  await turn();
  assertEquals(socket.sent, "abcdefgh");
});

Deno.test("Connection counts answers that wait behind a pipelined request towards maxUnsentBytes", async () => {
  const { socket, dispatcher } = serveFake({ maxPipelined: 100, maxUnsentBytes: 10 });
  dispatcher.pipelines = () => true;
  socket.feed(
    joined([
      frame("produce a"),
      ...["12345678", "12345678", "12345678", "12345678"].map((name) => frame(`now ${name}`)),
    ]),
  );
  await turn();
  assertEquals(dispatcher.handled.length, 3, "two answers are more than 10 bytes");
  dispatcher.answer("a");
  await turn();
  assertEquals(socket.sentBytes, 33);
});

Deno.test("Connection does not read a client that does not read its answers", async () => {
  const { socket, dispatcher } = serveFake({ maxUnsentBytes: 10 });
  socket.holdsWrites = true;
  socket.feed(frame("now 0123456789"));
  await turn();
  assertEquals(socket.isRead, true, "10 bytes are allowed");
  socket.feed(frame("now x"), frame("now y"));
  await turn();
  assertEquals(dispatcher.handled.length, 2);
  assertEquals(socket.isRead, false, "11 are not");
  socket.takeWrite();
  await turn();
  assertEquals(socket.isRead, false, "the second answer is not sent either");
  socket.takeWrite();
  await turn();
  assertEquals(dispatcher.handled.length, 3);
  assertEquals(socket.isRead, true);
});

Deno.test("Connection stops within one read when answers pile up, not at its end", async () => {
  const { socket, dispatcher } = serveFake({ maxUnsentBytes: 10 });
  socket.holdsWrites = true;
  socket.feed(joined(Array.from({ length: 20 }, () => frame("now 12345678"))));
  await turn();
  assertEquals(dispatcher.handled.length, 2);
  socket.holdsWrites = false;
  socket.takeWrite();
  await turn();
  assertEquals(socket.sentBytes, 160);
});

// ---- Writing

Deno.test("Connection sends the rest of a write that the socket took in part", async () => {
  const { socket } = serveFake();
  socket.holdsWrites = true;
  socket.feed(frame("now abcdef"));
  await turn();
  socket.takeWrite(1);
  await turn();
  socket.takeWrite(3);
  await turn();
  socket.takeWrite();
  await turn();
  assertEquals(socket.sent, "abcdef");
  assertEquals(socket.writes, [6, 5, 2]);
});

Deno.test("Connection puts small answers that wait for the socket into one write", async () => {
  const { socket, dispatcher } = serveFake({ maxUnsentBytes: 1_000_000 });
  socket.holdsWrites = true;
  socket.feed(frame("now a"));
  await turn();
  for (const name of ["b", "c", "d"]) socket.feed(frame(`now ${name}`));
  await turn();
  assertEquals(dispatcher.handled.length, 4);
  assertEquals(socket.writes, [1]);
  socket.takeWrite();
  await turn();
  assertEquals(socket.writes, [1, 3]);
  socket.takeWrite();
  assertEquals(socket.sent, "abcd");
});

Deno.test("Connection does not copy large chunks together", async () => {
  const { socket, dispatcher } = serveFake({ maxUnsentBytes: 10_000_000 });
  socket.feed(frame("later a"));
  await turn();
  const large = new Uint8Array(64 * 1024 + 1), small = new Uint8Array(10);
  dispatcher.answer("a", [small, small, large, small, large, small, small]);
  await turn();
  assertEquals(socket.writes, [20, large.length, 10, large.length, 20]);
});

Deno.test("Connection sends an answer that becomes ready while the write before it ends", async () => {
  // However many turns of the microtask queue lie between the end of a write and the answer: it is sent.
  for (let microtasks = 0; microtasks < 20; microtasks++) {
    const { socket, dispatcher } = serveFake();
    socket.holdsWrites = true;
    socket.feed(joined([frame("now a"), frame("produce b")]));
    await turn();
    assertEquals(socket.writes, [1]);
    socket.takeWrite();
    for (let i = 0; i < microtasks; i++) await Promise.resolve();
    dispatcher.answer("b");
    await turn();
    assertEquals(socket.writes, [1, 1], `${microtasks} microtasks later`);
  }
});

Deno.test("Connection sends an answer that is ready before the write in front of it ends", async () => {
  for (let microtasks = 0; microtasks < 20; microtasks++) {
    const { socket, dispatcher } = serveFake();
    socket.holdsWrites = true;
    socket.feed(joined([frame("now a"), frame("produce b")]));
    await turn();
    dispatcher.answer("b");
    for (let i = 0; i < microtasks; i++) await Promise.resolve();
    socket.takeWrite();
    await turn();
    assertEquals(socket.writes, [1, 1], `${microtasks} microtasks before`);
  }
});

Deno.test("Connection.flushed() resolves when all is sent, and not before", async () => {
  const { socket, connection } = serveFake();
  let isFlushed = false;
  socket.holdsWrites = true;
  socket.feed(frame("now a"));
  await turn();
  void connection.flushed().then(() => isFlushed = true);
  socket.feed(frame("now b"));
  await turn();
  socket.takeWrite();
  await turn();
  assertEquals([isFlushed, socket.sent], [false, "a"]);
  socket.takeWrite();
  await turn();
  assertEquals([isFlushed, socket.sent], [true, "ab"]);
});

Deno.test("Connection.flushed() waits for requests that have no answer yet", async () => {
  const { socket, dispatcher, connection } = serveFake();
  let isFlushed = false;
  socket.feed(frame("later a"));
  await turn();
  void connection.flushed().then(() => isFlushed = true);
  await turn();
  assertEquals(isFlushed, false);
  dispatcher.answer("a");
  await turn();
  assertEquals([isFlushed, socket.sent], [true, "a"]);
});

Deno.test("Connection.flushed() resolves when the connection breaks while it waits", async () => {
  for (const request of ["later a", "now a", "produce a"]) {
    const { socket, connection } = serveFake();
    socket.holdsWrites = true;
    socket.feed(frame(request));
    await turn();
    let isFlushed = false;
    void connection.flushed().then(() => isFlushed = true);
    connection.close();
    await turn();
    assertEquals(isFlushed, true, request);
  }
});

// ---- Ends

Deno.test("Connection ends without a reason when the client closes it", async () => {
  const { socket, ended } = serveFake();
  socket.feed(frame("now a"));
  socket.end();
  assertEquals(await ended, null);
  assertEquals(socket.isClosed, true);
});

Deno.test("Connection ends without a reason when the client is gone", async () => {
  for (
    const error of [
      new Deno.errors.ConnectionReset("reset"),
      new Deno.errors.BrokenPipe("pipe"),
      new Deno.errors.TimedOut("time"),
      new Deno.errors.BadResource("bad"),
    ]
  ) {
    const { socket, ended } = serveFake();
    socket.breakReading(error);
    assertEquals(await ended, null, error.name);
    assertEquals(socket.isClosed, true);
  }
});

Deno.test("Connection gives an error of the socket that it does not know to its owner", async () => {
  const { socket, ended } = serveFake();
  socket.breakReading(new Error("no such thing"));
  assertEquals((await ended as Error).message, "no such thing");
  assertEquals(socket.isClosed, true);
});

Deno.test("Connection ends when a write says that the client is gone", async () => {
  const { socket, ended, connection } = serveFake();
  socket.holdsWrites = true;
  socket.feed(frame("now a"));
  await turn();
  socket.held.shift()!.fail(new Deno.errors.BrokenPipe("gone"));
  assertEquals(await ended, null);
  await connection.flushed();
});

Deno.test("Connection tells why a write failed when it was not the client's doing", async () => {
  const { socket, ended } = serveFake();
  socket.holdsWrites = true;
  socket.feed(frame("now a"));
  await turn();
  socket.held.shift()!.fail(new Error("out of buffers"));
  assertEquals(await ended, "cannot write to the client: Error: out of buffers");
});

Deno.test("Connection ends when a write fails while it holds a reader back", async () => {
  const { socket, ended } = serveFake({ maxUnsentBytes: 1 });
  socket.holdsWrites = true;
  socket.feed(frame("now abc"));
  await turn();
  socket.held.shift()!.fail(new Deno.errors.ConnectionReset("gone"));
  assertEquals(await ended, null);
});

Deno.test("Connection names a frame size that cannot be", async () => {
  const { socket, ended } = serveFake({ maxFrameBytes: 1000 });
  socket.feed(sizePrefix(1001));
  assertEquals(await ended, "frame size 1001 is not between 0 and socket.request.max.bytes (1000)");
  assertEquals(socket.isClosed, true);
});

Deno.test("Connection names what is malformed in a frame, and handles nothing behind it", async () => {
  const { socket, ended, dispatcher } = serveFake();
  dispatcher.error = new MalformedFrame("what a frame");
  socket.feed(joined([frame("bad"), frame("now a")]));
  assertEquals(await ended, "what a frame");
  assertEquals(dispatcher.handled, ["bad"]);
});

Deno.test("Connection tells its owner of a handler that throws", async () => {
  const { socket, ended, dispatcher } = serveFake();
  dispatcher.error = new Error("a bug");
  socket.feed(frame("bad"));
  assertEquals((await ended as Error).message, "a bug");
  assertEquals(socket.isClosed, true);
});

Deno.test("Connection tells its owner of a handler that fails later", async () => {
  const { socket, ended, dispatcher } = serveFake();
  socket.feed(frame("later a"));
  await turn();
  dispatcher.fail("a", new Error("a bug"));
  assertEquals((await ended as Error).message, "a bug");
});

Deno.test("Connection closes when a pipelined request fails, and says so", async () => {
  const { socket, ended, dispatcher } = serveFake();
  socket.feed(frame("produce a"));
  await turn();
  dispatcher.fail("a", new Error("a bug"));
  assertEquals((await ended as Error).message, "a bug");
  assertEquals(socket.isClosed, true);
});

Deno.test("Connection ends when a pipelined request fails while another one waits behind it", async () => {
  const { socket, ended, dispatcher } = serveFake();
  dispatcher.onDisconnect = () => dispatcher.answer("b");
  socket.feed(joined([frame("produce a"), frame("produce b")]));
  await turn();
  dispatcher.fail("a", new Error("a bug"));
  assertEquals((await ended as Error).message, "a bug");
});

Deno.test("Connection ends when one of several pipelined requests fails and others are answered", async () => {
  const { socket, ended, dispatcher, budget } = serveFake({ maxPipelined: 3 });
  socket.feed(joined([largeFrame("produce a", LARGE), frame("produce b"), frame("produce c")]));
  await turn();
  dispatcher.fail("b", new Error("a bug"));
  dispatcher.answer("a");
  dispatcher.answer("c");
  assertEquals((await ended as Error).message, "a bug");
  assertEquals(budget.usedBytes, 0);
});

Deno.test("Connection.disconnect() cuts the client off with its reason", async () => {
  const { socket, ended, dispatcher } = serveFake();
  socket.feed(joined([frame("none a"), frame("now b")]));
  await turn();
  dispatcher.peer!.disconnect("produce failed");
  assertEquals(await ended, "produce failed");
  assertEquals(socket.isClosed, true);
});

Deno.test("Connection handles nothing that came in the same read as what cut it off", async () => {
  const { socket, ended, dispatcher } = serveFake();
  const handle = dispatcher.handle.bind(dispatcher);
  dispatcher.handle = (bytes, peer) => {
    const dispatched = handle(bytes, peer);
    peer.disconnect("enough");
    return dispatched;
  };
  socket.feed(joined([frame("none a"), frame("now b")]));
  assertEquals(await ended, "enough");
  assertEquals(dispatcher.handled, ["none a"]);
});

Deno.test("Connection.close() may come twice and from anywhere", async () => {
  const { connection, ended, socket } = serveFake();
  connection.close();
  connection.close();
  connection.disconnect("late");
  await ended;
  assertEquals(socket.isClosed, true);
});

// ---- A request that waits when the connection ends

for (
  const [how, end] of [
    ["it is closed", (s: ReturnType<typeof serveFake>) => s.connection.close()],
    ["it is cut off", (s: ReturnType<typeof serveFake>) => s.connection.disconnect("why")],
    [
      "a write fails",
      (s: ReturnType<typeof serveFake>) => s.socket.held.shift()!.fail(new Deno.errors.BrokenPipe("gone")),
    ],
  ] as const
) {
  for (const verb of ["later", "produce"]) {
    Deno.test(`Connection tells a request (${verb}) that waits once when ${how}, and gives its memory back`, async () => {
      const served = serveFake();
      const { socket, dispatcher, budget, ended } = served;
      let told = 0;
      dispatcher.onDisconnect = () => {
        told++;
        dispatcher.answer("b");
      };
      socket.holdsWrites = true;
      socket.feed(joined([frame("now a"), largeFrame(`${verb} b`, LARGE)]));
      await turn();
      assertEquals([told, budget.usedBytes], [0, LARGE + 4]);
      end(served);
      served.connection.close();
      await ended;
      assertEquals(told, 1);
      await turn();
      assertEquals(budget.usedBytes, 0);
    });
  }
}

Deno.test("Connection answers what was asked before the client closed its side, then closes", async () => {
  const { socket, dispatcher, ended, result } = serveFake();
  socket.holdsWrites = true;
  socket.feed(joined([frame("now a"), frame("produce b")]));
  socket.end();
  await turn();
  socket.takeWrite();
  await turn();
  assertEquals(result(), "still open");
  dispatcher.answer("b");
  await turn();
  socket.takeWrite();
  assertEquals([await ended, socket.sent], [null, "ab"]);
});

// ---- A client that leaves while its request waits

for (
  const [how, leave] of [
    ["closes", (s: ReturnType<typeof serveFake>) => s.socket.end()],
    [
      "resets",
      (s: ReturnType<typeof serveFake>) => s.socket.breakReading(new Deno.errors.ConnectionReset("gone")),
    ],
  ] as const
) {
  for (const verb of ["later", "produce"]) {
    Deno.test(`Connection ends the wait of a request (${verb}) at once when its client ${how}`, async () => {
      const served = serveFake({ goodbyeMs: 60_000 });
      let told = 0;
      served.dispatcher.onDisconnect = () => {
        told++;
        served.dispatcher.answer("a");
      };
      served.socket.feed(frame(`${verb} a`));
      await turn();
      leave(served);
      assertEquals([await served.ended, told, served.socket.isClosed], [null, 1, true]);
    });
  }
  Deno.test(`Connection whose client ${how} does not wait for a request that cannot be ended`, async () => {
    const served = serveFake({ goodbyeMs: 1 });
    served.socket.feed(largeFrame("later a", LARGE));
    await turn();
    assertEquals(served.budget.usedBytes, LARGE + 4);
    leave(served);
    assertEquals([await served.ended, served.socket.isClosed, served.budget.usedBytes], [null, true, 0]);
    served.dispatcher.answer("a");
    await turn();
    assertEquals([served.socket.sentBytes, served.budget.usedBytes], [0, 0]);
  });
}

Deno.test("Connection ends when it is closed, whether a request that waits in it is answered or not", async () => {
  const { socket, connection, ended } = serveFake();
  socket.feed(joined([frame("later a"), frame("now b")]));
  await turn();
  connection.close();
  assertEquals([await ended, socket.sent], [null, ""]);
});

Deno.test("Connection that is half closed answers the request that it holds, and those behind it", async () => {
  const { socket, dispatcher, ended } = serveFake({ goodbyeMs: 60_000 });
  dispatcher.onDisconnect = () => {
    if (dispatcher.isWaiting("a")) dispatcher.answer("a");
  };
  socket.feed(joined([frame("later a"), frame("now b"), frame("produce c"), frame("later d")]));
  await turn();
  socket.end();
  await turn();
  assertEquals(dispatcher.handled, ["later a", "now b", "produce c"]);
  dispatcher.answer("c");
  await turn();
  assertEquals(dispatcher.handled.at(-1), "later d");
  dispatcher.answer("d");
  assertEquals([await ended, socket.sent], [null, "abcd"]);
});

Deno.test("Connection reads ahead of a request that waits no more than 64 KiB and the read that passes them", async () => {
  const { socket, dispatcher, connection, budget } = serveFake({ maxFrameBytes: 10_000_000 });
  socket.feed(frame("later a"));
  await turn();
  const behind = joined([largeFrame("now b", 3000), largeFrame("now c", 2_000_000)]);
  let fed = 0;
  while (socket.isRead && fed < behind.length) {
    socket.feed(behind.subarray(fed, fed += 1000));
    await turn();
  }
  assertEquals([fed >= 64 * 1024, fed <= 128 * 1024, budget.usedBytes], [true, true, 0]);
  assertEquals(dispatcher.handled, ["later a"]);
  socket.feed(behind.subarray(fed));
  dispatcher.answer("a");
  await turn();
  assertEquals([dispatcher.handled, socket.sent], [["later a", "now b", "now c"], "abc"]);
  assertEquals(connection.handling, false);
});

Deno.test("Connection tells of a malformed frame that came ahead only when it is its turn", async () => {
  const { socket, dispatcher, ended, result } = serveFake({ maxFrameBytes: 1000 });
  socket.feed(frame("later a"));
  await turn();
  socket.feed(sizePrefix(1001));
  await turn();
  assertEquals(result(), "still open");
  dispatcher.answer("a");
  assertEquals(await ended, "frame size 1001 is not between 0 and socket.request.max.bytes (1000)");
  assertEquals(socket.sent, "a");
});

Deno.test("Connection tells of an answer that cannot be written as of something that the client did", async () => {
  for (const [request, fails] of [["later a", true], ["produce a", true], ["bad", false]] as const) {
    const { socket, dispatcher, ended } = serveFake();
    dispatcher.error = new Unwritable("too long");
    socket.feed(frame(request));
    await turn();
    if (fails) dispatcher.fail("a", dispatcher.error);
    assertEquals(await ended, "too long", request);
  }
});

// ---- Memory

Deno.test("Connection has memory for a large answer from before it is made until it is sent, or nobody wants it any more", async () => {
  for (const end of ["sent", "closed while it waits", "closed while it is made"]) {
    const answers = new MemoryBudget(1_000_000);
    const { socket, dispatcher, connection } = serveFake({ answers });
    socket.feed(frame("later a"));
    await turn();
    assertEquals([dispatcher.peer!.growAnswer(60_000), answers.usedBytes], [null, 0], "a small one has none");
    const other = answers.claim();
    if (end === "closed while it waits") other.grow(900_000);
    const waits = dispatcher.peer!.growAnswer(500_000);
    assertEquals([waits !== null, answers.usedBytes >= 560_000], [end === "closed while it waits", true]);
    if (end === "sent") {
      dispatcher.answer("a");
      await turn();
      assertEquals([socket.sent, answers.usedBytes], ["a", 0]);
      socket.feed(frame("later b"));
      await turn();
      assertEquals(
        [dispatcher.peer!.growAnswer(60_000), answers.usedBytes],
        [null, 0],
        "the next begins anew",
      );
    } else {
      connection.close();
      await waits;
      assertEquals(dispatcher.peer!.growAnswer(500_000), null, end);
      other.release();
    }
    assertEquals(answers.usedBytes, 0, end);
  }
});

Deno.test("Connection takes no memory of the budget for small frames", async () => {
  const { socket, budget, dispatcher } = serveFake();
  socket.feed(largeFrame("later a", 60_000));
  await turn();
  assertEquals([dispatcher.handled.length, budget.usedBytes], [1, 0]);
});

Deno.test("Connection takes memory for a large frame as its bytes come, and gives it back with the answer", async () => {
  const { socket, budget, dispatcher } = serveFake();
  const size = 900_000, bytes = largeFrame("later a", size);
  const used: number[] = [];
  let sent = 0;
  for (const upTo of [4, 65_535, 65_536, 262_143, 262_144, size + 3]) {
    socket.feed(bytes.subarray(sent, upTo));
    sent = upTo;
    await turn();
    used.push(budget.usedBytes);
  }
  assertEquals(used, [0, 0, 262_144, 262_144, size + 4, size + 4]);
  socket.feed(bytes.subarray(sent));
  await turn();
  assertEquals(dispatcher.handled, ["later a"]);
  assertEquals(budget.usedBytes, size + 4, "the request still uses its bytes");
  dispatcher.answer("a");
  await turn();
  assertEquals(budget.usedBytes, 0);
});

Deno.test("Connection that announced a large frame takes no memory from others", async () => {
  const budget = new MemoryBudget(150_000);
  for (let i = 0; i < 10; i++) serveFake({ budget }).socket.feed(sizePrefix(1_000_000));
  const other = serveFake({ budget });
  other.socket.feed(largeFrame("now b", LARGE));
  await turn();
  assertEquals([other.socket.sent, budget.usedBytes], ["b", 0]);
});

Deno.test("Connections whose frames are half here and fill the budget all get through, one after the other", async () => {
  const budget = new MemoryBudget(600_000);
  const all = ["a", "b", "c", "d"].map((name) => ({ name, ...serveFake({ budget }) }));
  for (const { name, socket } of all) socket.feed(largeFrame(`now ${name}`, 900_000));
  await turn();
  await turn();
  assertEquals(all.map(({ socket }) => socket.sent), ["a", "b", "c", "d"]);
  assertEquals(budget.usedBytes, 0);
});

Deno.test("Connection does not read on while the budget has no room for its frame", async () => {
  const one = serveFake({ budgetBytes: 150_000 });
  const other = serveFake({ budget: one.budget });
  one.socket.feed(largeFrame("later a", LARGE));
  await turn();
  other.socket.feed(largeFrame("now b", LARGE));
  await turn();
  assertEquals([other.socket.isRead, other.dispatcher.handled.length], [false, 0]);
  one.dispatcher.answer("a");
  await turn();
  assertEquals(other.socket.sent, "b");
  assertEquals(one.budget.usedBytes, 0);
});

Deno.test("Connection gives its memory back in every way in which a large frame can end", async () => {
  const ways: [string, string, (s: ReturnType<typeof serveFake>) => void][] = [
    ["is answered at once", "now a", () => {}],
    ["has no answer", "none a", () => {}],
    ["is answered later", "later a", (s) => s.dispatcher.answer("a")],
    ["is answered later, pipelined", "produce a", (s) => s.dispatcher.answer("a")],
    ["fails later", "later a", (s) => s.dispatcher.fail("a", new Error("bug"))],
    ["fails later, pipelined", "produce a", (s) => s.dispatcher.fail("a", new Error("bug"))],
    ["makes its handler throw", "bad", () => {}],
  ];
  for (const [how, request, end] of ways) {
    const served = serveFake();
    served.socket.feed(largeFrame(request, LARGE));
    await turn();
    end(served);
    await turn();
    assertEquals(served.budget.usedBytes, 0, `a frame that ${how}`);
  }
  const malformed = serveFake();
  malformed.dispatcher.error = new MalformedFrame("malformed");
  malformed.socket.feed(largeFrame("bad", LARGE));
  assertEquals(await malformed.ended, "malformed");
  assertEquals(malformed.budget.usedBytes, 0, "a malformed frame");
});

Deno.test("Connection gives its memory back when it ends in the middle of a large frame", async () => {
  const ends: ((s: ReturnType<typeof serveFake>) => void)[] = [
    (s) => s.socket.end(),
    (s) => s.socket.breakReading(new Deno.errors.ConnectionReset("reset")),
    (s) => s.socket.breakReading(new Error("strange")),
    (s) => s.connection.close(),
  ];
  for (const [i, end] of ends.entries()) {
    const served = serveFake();
    served.socket.feed(largeFrame("now a", LARGE).subarray(0, 70_000));
    await turn();
    assertEquals(served.budget.usedBytes, LARGE + 4);
    end(served);
    await served.ended;
    assertEquals(served.budget.usedBytes, 0, `way ${i}`);
  }
});

Deno.test("Connection that is closed while it waits for memory leaves the budget as it was", async () => {
  const one = serveFake({ budgetBytes: 150_000 });
  const other = serveFake({ budget: one.budget });
  one.socket.feed(largeFrame("later a", LARGE));
  other.socket.feed(largeFrame("now b", LARGE));
  await turn();
  other.connection.close();
  one.dispatcher.answer("a");
  await other.ended;
  assertEquals(one.budget.usedBytes, 0);
  assertEquals(other.dispatcher.handled, []);
});

// ---- What the server looks at

Deno.test("Connection is handling from a request's arrival to its answer, and busy until that is sent", async () => {
  const { socket, dispatcher, connection } = serveFake();
  const state = () => [connection.handling, connection.busy];
  assertEquals(state(), [false, false]);
  socket.holdsWrites = true;
  socket.feed(frame("later a"));
  await turn();
  assertEquals(state(), [true, true]);
  dispatcher.answer("a");
  await turn();
  assertEquals(state(), [false, true]);
  socket.takeWrite();
  await turn();
  assertEquals(state(), [false, false]);
});

Deno.test("Connection.lastActiveMs moves with every byte that is read or taken", async () => {
  let now = 1;
  const { socket, connection } = serveFake({ now: () => now });
  assertEquals(connection.lastActiveMs, 1);
  socket.holdsWrites = true;
  now = 2;
  socket.feed(frame("now abc").subarray(0, 3));
  await turn();
  assertEquals(connection.lastActiveMs, 2);
  socket.feed(frame("now abc").subarray(3));
  await turn();
  now = 3;
  socket.takeWrite(1);
  await turn();
  assertEquals(connection.lastActiveMs, 3, "a slow client is not an idle one");
  now = 4;
  socket.takeWrite();
  await turn();
  assertEquals(connection.lastActiveMs, 4);
});

Deno.test("Connection is stalled when a frame that it took memory for does not come at 100 KB a second", async () => {
  let now = 0;
  const { socket, connection, dispatcher } = serveFake({ now: () => now });
  const bytes = largeFrame("now a", 900_000);
  const stalledAt = (...times: number[]) => times.map((ms) => connection.isStalled(ms));
  let sent = 0;
  const send = async (upTo: number) => {
    socket.feed(bytes.subarray(sent, upTo));
    sent = upTo;
    await turn();
  };
  await send(60_000);
  assertEquals(connection.isStalled(1e9), false, "no memory was taken yet");
  await send(70_000);
  assertEquals(stalledAt(10_000, 10_001), [false, true], "any network may stand still");
  now = 5000;
  await send(270_000);
  assertEquals(stalledAt(12_000, 12_001), [false, true], "200 KB are worth two seconds");
  await send(800_000);
  assertEquals(stalledAt(15_000, 15_001), [false, true], "much at once buys no more than the ten seconds");
  now = 50_000;
  await send(bytes.length);
  assertEquals([dispatcher.handled.length, connection.isStalled(1e9)], [1, false]);
});

Deno.test("Connection that stops within a small frame is not stalled: it takes nothing from others", async () => {
  const { socket, connection } = serveFake();
  socket.feed(largeFrame("now a", 60_000).subarray(0, 30_000));
  await turn();
  assertEquals(connection.isStalled(1e9), false);
});

Deno.test("Connection is not idle while it waits for memory, and has been active when it gets it", async () => {
  let now = 0;
  const one = serveFake({ budgetBytes: 150_000 });
  const other = serveFake({ budget: one.budget, now: () => now });
  one.socket.feed(largeFrame("later a", LARGE));
  other.socket.feed(largeFrame("now b", LARGE).subarray(0, 70_000));
  await turn();
  const { connection } = other;
  assertEquals([connection.handling, connection.isIdle(1e9, 10), connection.memoryWaitMs(70)], [
    true,
    false,
    70,
  ]);
  now = 5000;
  one.dispatcher.answer("a");
  await turn();
  assertEquals([connection.handling, connection.lastActiveMs, connection.memoryWaitMs(9e9)], [
    false,
    5000,
    0,
  ]);
  assertEquals([connection.isIdle(5010, 10), connection.isIdle(5011, 10)], [false, true]);
});

Deno.test("Connection is idle when a frame that it reads comes so slowly that it might as well not", async () => {
  let now = 0;
  const { socket, connection, dispatcher } = serveFake({ now: () => now, minFrameBytesPerMs: 1 });
  const bytes = largeFrame("now a", 60_000);
  let sent = 0;
  const send = async (upTo: number) => {
    socket.feed(bytes.subarray(sent, upTo));
    sent = upTo;
    await turn();
  };
  for (let i = 1; i <= 10; i++) {
    now = i * 100;
    await send(i);
  }
  assertEquals([connection.isIdle(1000, 1000), connection.isIdle(1101, 1000)], [false, true]);
  await send(3000);
  assertEquals(connection.isIdle(1101, 1000), false, "on the whole it is fast enough");
  await send(bytes.length);
  assertEquals([dispatcher.handled.length, connection.isIdle(2000, 1000)], [1, false], "and now it is here");
  now = 2000;
  await send(bytes.length);
  socket.feed(bytes.subarray(0, 10));
  await turn();
  assertEquals(connection.isIdle(2999, 1000), false, "the next frame's time is its own");
});

Deno.test("Connection handles no more behind much that is unsent, when all together have too much", async () => {
  const unsent = { bytes: 0, maxBytes: 300_000 };
  const served = Array.from({ length: 4 }, () => serveFake({ unsent, maxUnsentBytes: 1_000_000 }));
  const handled = [0, 0, 0, 0];
  for (const [i, { socket, dispatcher }] of served.entries()) {
    dispatcher.handle = () => {
      handled[i]++;
      return { answer: [new Uint8Array(99_000)] };
    };
    socket.holdsWrites = true;
    socket.feed(frame("1"), frame("2"), frame("3"));
    await turn();
  }
  assertEquals(handled, [3, 1, 1, 1]);
  assert(unsent.bytes < 600_000, `${unsent.bytes} bytes`);
});

Deno.test("Connection tells whether a client takes its answers", async () => {
  let now = 0;
  const { socket, connection } = serveFake({ now: () => now, maxUnsentBytes: 10 });
  socket.holdsWrites = true;
  socket.feed(frame("now abcdefghijklmnop"), frame("now b"));
  await turn();
  assertEquals([connection.isNotReading(10_000), connection.isNotReading(10_001)], [false, true]);
  now = 5000;
  socket.takeWrite(1);
  await turn();
  assertEquals([connection.isNotReading(15_000), connection.isNotReading(15_001)], [false, true]);
});

Deno.test("Connection is not idle while a request is held and the client is watched", async () => {
  const { socket, connection } = serveFake();
  socket.feed(frame("later a"));
  await turn();
  assertEquals([socket.isRead, connection.isIdle(1e9, 10)], [true, false]);
  socket.feed(joined([largeFrame("now b", 60_000), largeFrame("now c", 60_000)]));
  await turn();
  assertEquals(
    [socket.isRead, connection.isIdle(1e9, 10)],
    [false, true],
    "nobody would see the client leave",
  );
});

Deno.test("Connection has held memory from the first step of a frame to its answer, and not while it waits for more", async () => {
  let now = 100;
  const { socket, connection, dispatcher } = serveFake({ now: () => now });
  const bytes = largeFrame("later a", LARGE);
  socket.feed(bytes.subarray(0, 70_000));
  await turn();
  now = 200;
  assertEquals(connection.memoryHeldMs(now), 100);
  socket.feed(bytes.subarray(70_000));
  await turn();
  now = 300;
  assertEquals(connection.memoryHeldMs(now), 200);
  dispatcher.answer("a");
  await turn();
  assertEquals(connection.memoryHeldMs(now), 0);
});

Deno.test("Connection writes addresses as Kafka does", () => {
  const { connection } = serveFake();
  assertEquals([connection.clientHost, connection.remote], ["/127.0.0.1", "127.0.0.1:50312"]);
});
