/** What a connection owes its client when it has to cut it off. */
import { assertEquals } from "@std/assert/equals";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { frame, joined, serveFake, sizePrefix, turn } from "./fakes.ts";

Deno.test("Connection answers what was asked before a malformed frame in the same read", async () => {
  const { socket, dispatcher, ended } = serveFake();
  dispatcher.error = new MalformedFrame("what a frame");
  socket.feed(joined([frame("now a"), frame("produce b"), frame("bad")]));
  await turn();
  assertEquals(socket.sent, "a");
  assertEquals(socket.isClosed, false);
  dispatcher.answer("b");
  assertEquals(await ended, "what a frame");
  assertEquals([socket.sent, socket.isClosed], ["ab", true]);
});

Deno.test("Connection answers what was asked before a frame size that cannot be", async () => {
  const { socket, ended } = serveFake({ maxFrameBytes: 1000 });
  socket.feed(joined([frame("now a"), sizePrefix(1001)]));
  await ended;
  assertEquals(socket.sent, "a");
});

Deno.test("Connection answers what was asked before a request that cuts it off", async () => {
  const { socket, dispatcher, ended } = serveFake();
  const handle = dispatcher.handle.bind(dispatcher);
  dispatcher.handle = (bytes, peer) => {
    const dispatched = handle(bytes, peer);
    if (dispatched.answer === null) peer.disconnect("enough");
    return dispatched;
  };
  socket.feed(joined([frame("now a"), frame("produce b"), frame("none c"), frame("now d")]));
  await turn();
  dispatcher.answer("b");
  assertEquals(await ended, "enough");
  assertEquals([socket.sent, socket.isClosed], ["ab", true]);
  assertEquals(dispatcher.handled, ["now a", "produce b", "none c"]);
});

Deno.test("Connection that waits for a client to take its last answers can be closed", async () => {
  const { socket, dispatcher, ended, connection } = serveFake();
  dispatcher.error = new MalformedFrame("what a frame");
  socket.holdsWrites = true;
  socket.feed(joined([frame("now a"), frame("bad")]));
  await turn();
  assertEquals([connection.handling, socket.isClosed], [false, false]);
  connection.close();
  assertEquals(await ended, "what a frame");
});

Deno.test("Connection ends at once when a request that waits fails as malformed", async () => {
  const { socket, dispatcher, ended } = serveFake();
  socket.feed(frame("later a"));
  await turn();
  dispatcher.fail("a", new MalformedFrame("in the log"));
  assertEquals(await ended, "in the log");
});

Deno.test("Connection is active when the answer of a long wait goes out", async () => {
  let now = 1;
  const { socket, dispatcher, connection } = serveFake({ now: () => now });
  socket.holdsWrites = true;
  socket.feed(frame("later a"));
  await turn();
  now = 1_000_000;
  dispatcher.answer("a");
  await turn();
  assertEquals([connection.handling, connection.lastActiveMs], [false, 1_000_000]);
  socket.takeWrite();
});

Deno.test("Connection counts its unsent answers into the sum of all, until they are sent or it ends", async () => {
  const sum = { bytes: 0 };
  const one = serveFake({ unsent: sum }), two = serveFake({ unsent: sum });
  for (const { socket, dispatcher } of [one, two]) {
    socket.holdsWrites = true;
    dispatcher.pipelines = () => true;
    socket.feed(joined([frame("now abcd"), frame("produce a"), frame("now efg")]));
  }
  await turn();
  assertEquals(sum.bytes, 14, "what waits behind another request is memory too");
  one.dispatcher.answer("a");
  await turn();
  one.socket.takeWrite();
  await turn();
  assertEquals(sum.bytes, 11);
  one.socket.takeWrite();
  await turn();
  assertEquals(sum.bytes, 7);
  two.connection.close();
  assertEquals(sum.bytes, 0);
  two.dispatcher.answer("a");
  await two.ended;
  assertEquals(sum.bytes, 0);
});
