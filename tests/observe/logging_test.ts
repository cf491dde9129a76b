/** Log lines as an operator sees them, and what a hostile client can do to them. */
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import {
  configureLogging,
  getLogger,
  logCategories,
  logLevel,
  logLevels,
  setLogLevel,
  WarningLimiter,
} from "../../src/observe/logging.ts";

/** The lines written while `act` runs, without their times. */
function linesOf(level: "debug" | "info" | "error", act: () => void): string[] {
  const lines: string[] = [];
  configureLogging(level, (line) => lines.push(line));
  act();
  return lines.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /, ""));
}

Deno.test("a log line has time, level, category and text", () => {
  const lines: string[] = [];
  configureLogging("info", (line) => lines.push(line));
  getLogger("server").warn("Port {port} is taken", { port: 9092 });
  assertEquals(lines.length, 1);
  assertEquals(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z WARN {2}server {2}Port 9092 is taken$/.test(lines[0]),
    true,
    lines[0],
  );
});

Deno.test("configureLogging() lets its level and above through", () => {
  const log = getLogger("storage");
  const lines = linesOf("info", () => {
    log.debug("no");
    log.info("yes");
    log.error("also");
  });
  assertEquals(lines, ["INFO  storage  yes", "ERROR storage  also"]);
});

Deno.test("logCategories() has what there are loggers for, each once", () => {
  for (const category of ["test.b", "test.a", "test.b", ""]) getLogger(category);
  assertEquals(logCategories().filter((category) => /^(test\..)?$/.test(category)), ["test.a", "test.b"]);
});

Deno.test("setLogLevel() makes one category say more, and what is below it, while the broker runs", () => {
  const lines = linesOf("info", () => {
    const [recovery, server] = [getLogger("storage.recovery"), getLogger("server")];
    setLogLevel("storage", "debug");
    recovery.debug("one");
    server.debug("two");
    setLogLevel("storage", null);
    recovery.debug("three");
    setLogLevel("", "debug");
    server.debug("four");
  });
  assertEquals(lines, ["DEBUG storage.recovery  one", "DEBUG server  four"]);
});

Deno.test("setLogLevel() makes one category say less than its parent", () => {
  const lines = linesOf("info", () => {
    setLogLevel("server", "error");
    getLogger("server").info("no");
    getLogger("server.http").info("no");
    getLogger("cluster").info("yes");
  });
  assertEquals(lines, ["INFO  cluster  yes"]);
});

Deno.test("logLevel() gives a category its nearest parent's level", () => {
  configureLogging("error", () => {});
  setLogLevel("storage", "debug");
  assertEquals([logLevel("storage.log"), logLevel("server"), logLevel("")], ["debug", "error", "error"]);
  assertEquals([...logLevels()], [["", "error"], ["storage", "debug"]]);
});

Deno.test("an error is written with its stack, indented below its line", () => {
  const [line] = linesOf("info", () => {
    getLogger("cluster").error("Cannot write: {error}", { error: new TypeError("no such thing") });
  });
  const [first, second] = line.split("\n");
  assertEquals(first, "ERROR cluster  Cannot write: TypeError: no such thing");
  assertEquals(second.startsWith("        at "), true, second);
});

Deno.test("a client's text can neither begin a log line nor control a terminal", () => {
  const [line] = linesOf("info", () => {
    getLogger("server").info("client {id}", {
      id: "a\n2026-01-01T00:00:00.000Z ERROR server  forged\x1b[31m\r",
    });
  });
  assertEquals(line, "INFO  server  client a\\n2026-01-01T00:00:00.000Z ERROR server  forged?[31m?");
});

Deno.test("a client's text can neither turn the direction of a line, nor break it, nor hide in it", () => {
  const misleading = [
    "\u202e",
    "\u2066",
    "\u200b",
    "\u2028",
    "\u2029",
    "\u0085",
    "\ufeff",
    "\u00ad",
    "\u{e0041}",
  ];
  for (const character of misleading) {
    const [line] = linesOf("info", () => getLogger("server").info("{id}", { id: `a${character}b` }));
    assertEquals(line, "INFO  server  a?b", `U+${character.codePointAt(0)!.toString(16)}`);
  }
  const [line] = linesOf("info", () => getLogger("server").info("{id}", { id: "größe 大小 🙂" }));
  assertEquals(line, "INFO  server  größe 大小 🙂", "what people write stays");
});

Deno.test("a value of more than 500 characters is cut in its middle, and its length told", () => {
  const [whole, cut] = linesOf("info", () => {
    getLogger("server").info("{id}!", { id: "A".repeat(500) });
    getLogger("server").info("{id}!", { id: "A".repeat(20_000) + "the end" });
  });
  assertEquals(whole, `INFO  server  ${"A".repeat(500)}!`);
  assertEquals(cut, `INFO  server  ${"A".repeat(400)}… (20007 characters) …${"A".repeat(93)}the end!`);
});

Deno.test("an error's message is as harmless as any value, and its stack stays", () => {
  const error = new Error(`from a client: \n    at x\u202e${"A".repeat(20_000)}`, {
    cause: new Error("a\nb"),
  });
  const [text] = linesOf("info", () => getLogger("server").error("{error}", { error }));
  const lines = text.split("\n");
  assertEquals(lines[0].startsWith("ERROR server  Error: from a client: \\n    at x?AAAA"), true, lines[0]);
  assertEquals(lines[0].length < 600, true);
  assertEquals(lines[1].startsWith("        at file:"), true, lines[1]);
  assertEquals(lines.at(-1), "    Caused by Error: a\\nb");
});

Deno.test("WarningLimiter passes errors on at their level with what was thrown, and bounds them like warnings", () => {
  const clock = new ManualClock();
  const error = new Error("a bug");
  error.stack = "Error: a bug\n    at here";
  const lines = linesOf("info", () => {
    const limiter = new WarningLimiter(getLogger("server"), clock, 1, 1000);
    for (let i = 0; i < 3; i++) limiter.error("failed", "It failed", error);
    limiter.warn("refused", "another kind");
    clock.advance(1000);
    limiter.error("failed", "It failed", "no error");
  });
  assertEquals(lines, [
    "ERROR server  It failed: Error: a bug\n        at here",
    "WARN  server  another kind",
    "ERROR server  It failed (2 more like this were not shown): no error",
  ]);
});

Deno.test("WarningLimiter passes a burst of each kind, then says how many it held back", () => {
  const clock = new ManualClock();
  const lines = linesOf("info", () => {
    const limiter = new WarningLimiter(getLogger("server"), clock, 2, 1000);
    for (let i = 0; i < 5; i++) limiter.warn("malformed", `frame ${i} of {x}`);
    limiter.warn("idle", "other kind");
    clock.advance(1000);
    limiter.warn("malformed", "later");
    limiter.warn("malformed", "again");
  });
  assertEquals(lines, [
    "WARN  server  frame 0 of {x}",
    "WARN  server  frame 1 of {x}",
    "WARN  server  other kind",
    "WARN  server  later (3 more like this were not shown)",
    "WARN  server  again",
  ]);
});
