/** Log lines as an operator sees them, and what a hostile client can do to them. */
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import {
  configureLogging,
  getLogger,
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
  assertEquals(line, "INFO  server  client a\n    2026-01-01T00:00:00.000Z ERROR server  forged?[31m?");
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
