/** A muted connection: what is answered, what is not read, and that its client is seen to leave. */
import { assertEquals } from "@std/assert/equals";
import { frame, serveFake, turn } from "../server/fakes.ts";
import { FakeTime } from "./fake_time.ts";

Deno.test("a muted connection sends its answer at once and handles nothing more until the time is over", async () => {
  using time = new FakeTime();
  const { socket, dispatcher, connection } = serveFake({ now: time.now });
  mutes(dispatcher, "now a", 1000);
  socket.feed(frame("now a"), frame("now b"));
  await turn();
  assertEquals([socket.sent, dispatcher.handled], ["a", ["now a"]]);
  await time.pass(999);
  assertEquals(dispatcher.handled, ["now a"]);
  await time.pass(1);
  assertEquals([socket.sent, dispatcher.handled], ["ab", ["now a", "now b"]]);
  connection.close();
});

Deno.test("a connection that is muted for longer meanwhile stays so", async () => {
  using time = new FakeTime();
  const { socket, dispatcher, connection } = serveFake({ now: time.now });
  mutes(dispatcher, "now a", 1000);
  socket.feed(frame("now a"), frame("now b"));
  await turn();
  connection.mute(3000);
  connection.mute(10);
  await time.pass(1000);
  assertEquals(dispatcher.handled, ["now a"]);
  await time.pass(2000);
  assertEquals(dispatcher.handled, ["now a", "now b"]);
  connection.close();
});

Deno.test("an answer that comes late mutes what is already waiting behind it", async () => {
  using time = new FakeTime();
  const { socket, dispatcher, connection } = serveFake({ now: time.now });
  socket.feed(frame("produce a"));
  await turn();
  connection.mute(500);
  dispatcher.answer("a");
  socket.feed(frame("now b"));
  await turn();
  assertEquals([socket.sent, dispatcher.handled], ["a", ["produce a"]]);
  await time.pass(500);
  assertEquals([socket.sent, dispatcher.handled], ["ab", ["produce a", "now b"]]);
  connection.close();
});

Deno.test("a muted connection notices that its client has left, and handles what it sent before that", async () => {
  using time = new FakeTime();
  const { socket, dispatcher, ended } = serveFake({ now: time.now });
  mutes(dispatcher, "now a", 100_000);
  socket.feed(frame("now a"), frame("none b"));
  await turn();
  assertEquals(dispatcher.handled, ["now a"]);
  socket.end();
  assertEquals(await ended, null);
  assertEquals([dispatcher.handled, time.timers], [["now a", "none b"], 0]);
});

Deno.test("a muted connection whose client resets it ends at once", async () => {
  using time = new FakeTime();
  const { socket, dispatcher, ended } = serveFake({ now: time.now });
  mutes(dispatcher, "now a", 100_000);
  socket.feed(frame("now a"));
  await turn();
  socket.breakReading(new Deno.errors.ConnectionReset("reset"));
  assertEquals([await ended, time.timers], [null, 0]);
});

Deno.test("a muted connection that the server closes ends at once", async () => {
  using time = new FakeTime();
  const { socket, dispatcher, connection, ended } = serveFake({ now: time.now });
  mutes(dispatcher, "now a", 100_000);
  socket.feed(frame("now a"), frame("now b"));
  await turn();
  connection.close();
  assertEquals([await ended, dispatcher.handled, time.timers], [null, ["now a"], 0]);
});

Deno.test("a muted connection that the server hangs up handles nothing more, and ends with its client", async () => {
  using time = new FakeTime();
  const { socket, dispatcher, connection, ended } = serveFake({ now: time.now });
  mutes(dispatcher, "now a", 100_000);
  socket.feed(frame("now a"), frame("now b"));
  await turn();
  connection.hangUp();
  socket.feed(frame("now c"));
  await turn();
  socket.end();
  assertEquals([await ended, dispatcher.handled, time.timers], [null, ["now a"], 0]);
});

Deno.test("a muted connection is not read beyond what one read holds", async () => {
  using time = new FakeTime();
  const { socket, dispatcher, connection } = serveFake({ now: time.now });
  mutes(dispatcher, "now a", 1000);
  socket.feed(frame("now a"));
  await turn();
  for (let i = 0; i < 100; i++) socket.feed(frame(`none ${".".repeat(10_000)}`));
  for (let i = 0; i < 10; i++) await turn();
  assertEquals([dispatcher.handled, socket.isRead], [["now a"], false]);
  await time.pass(1000);
  for (let i = 0; i < 300; i++) await turn();
  assertEquals([dispatcher.handled.length, socket.isRead], [101, true]);
  connection.close();
});

/** Has the request `content` mute its connection. */
function mutes(dispatcher: ReturnType<typeof serveFake>["dispatcher"], content: string, ms: number): void {
  const handle = dispatcher.handle.bind(dispatcher);
  dispatcher.handle = (bytes, peer) => {
    const dispatched = handle(bytes, peer);
    if (dispatcher.handled.at(-1) === content) peer.mute(ms);
    return dispatched;
  };
}
