/** `trackway start`: what its flags become, how it stops, and what it says when it cannot start. */
import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { StartupError } from "../../src/base/startup_error.ts";
import { start } from "../../src/cli/start.ts";
import { VERSION } from "../../src/cli/version.ts";
import { fakeBroker, FakeTerminal } from "./fakes.ts";

/** Starts, stops with one SIGTERM once the broker is up, and gives what could be seen. */
async function startAndStop(args: string[], terminal = new FakeTerminal()) {
  const broker = fakeBroker();
  const running = start(args, terminal, broker.startBroker);
  const config = await broker.started;
  terminal.signal("SIGTERM");
  return { code: await running, config, terminal, stops: broker.state.stops };
}

/** Runs a start that is refused before a broker is asked for. */
async function refusal(args: string[], terminal = new FakeTerminal()) {
  const code = await start(args, terminal, () => Promise.reject(new Error("no broker is wanted here")));
  return { code, out: terminal.outLines, err: terminal.errLines };
}

Deno.test("start without flags prints where the broker is, stops on a signal, and gives 0", async () => {
  const { code, terminal, stops } = await startAndStop([]);
  assertEquals([code, stops, terminal.listensForSignals], [0, 1, false]);
  assertEquals(terminal.outLines, [
    `Trackway ${VERSION} is up after 42 ms\n` +
    "  listening on  127.0.0.1:9092\n" +
    "  data in       ./data\n" +
    "  cluster       abc",
  ]);
});

Deno.test("start turns its flags into settings, above --set, the environment and the file", async () => {
  const terminal = new FakeTerminal(
    { "server.properties": "num.partitions=2\nmessage.max.bytes=5\ndefault.replication.factor=4" },
    { TRACKWAY_NUM_PARTITIONS: "3", TRACKWAY_MESSAGE_MAX_BYTES: "6" },
  );
  const { config } = await startAndStop([
    "--port",
    "19092",
    "--host=127.0.0.1",
    "--data",
    "/tmp/x",
    "--config",
    "server.properties",
    "--set",
    "num.partitions=4",
    "--set=log.cleaner.enable=false",
    "--log-level",
    "error",
  ], terminal);
  assertEquals(config.listeners.map(({ host, port }) => [host, port]), [["127.0.0.1", 19092]]);
  assertEquals(config.dataDirs, ["/tmp/x"]);
  assertEquals(
    (["num.partitions", "message.max.bytes", "default.replication.factor"] as const).map((name) =>
      config.config.get(name)
    ),
    [4, 6, 4],
  );
  assertEquals([config.config.get("log.cleaner.enable"), config.config.get("trackway.log.level")], [
    false,
    "error",
  ]);
});

Deno.test("start writes a warning for each setting that does nothing", async () => {
  const { terminal } = await startAndStop(["--set", "foo.bar=1"]);
  const [line] = terminal.errLines;
  assertEquals(line.replace(/^\S+ /, ""), "WARN  start  Unknown setting foo.bar (set by --set): ignored");
});

Deno.test("start exits with 130 at once on a second signal", async () => {
  const stopping = Promise.withResolvers<void>();
  const broker = fakeBroker(stopping.promise);
  const terminal = new FakeTerminal();
  const running = start([], terminal, broker.startBroker);
  await broker.started;
  terminal.signal("SIGINT");
  assertEquals(terminal.exits, []);
  terminal.uptime += 500;
  terminal.signal("SIGINT");
  assertEquals(terminal.exits, [130]);
  stopping.resolve();
  assertEquals(await running, 0);
});

Deno.test("start takes two signals at a time for one, as Ctrl-C under deno task sends them", async () => {
  const stopping = Promise.withResolvers<void>();
  const broker = fakeBroker(stopping.promise);
  const terminal = new FakeTerminal();
  const running = start([], terminal, broker.startBroker);
  await broker.started;
  terminal.signal("SIGINT");
  terminal.uptime += 499;
  terminal.signal("SIGINT");
  assertEquals(terminal.exits, []);
  stopping.resolve();
  assertEquals(await running, 0);
});

Deno.test("start stops a broker that was told to stop before it was up", async () => {
  const up = Promise.withResolvers<void>();
  let stops = 0;
  const terminal = new FakeTerminal();
  const running = start([], terminal, async () => {
    await up.promise;
    return { clusterId: "abc", addresses: [], stop: () => Promise.resolve(void stops++) };
  });
  await terminal.subscribed;
  terminal.signal("SIGTERM");
  up.resolve();
  assertEquals([await running, stops], [0, 1]);
});

Deno.test("start says in one line why a broker could not start, and gives 1", async () => {
  const terminal = new FakeTerminal();
  const taken = "Cannot listen on 127.0.0.1:9092: the port is taken; choose another with --port";
  const code = await start([], terminal, () => Promise.reject(new StartupError(taken)));
  assertEquals([code, terminal.errLines, terminal.outLines], [1, [`trackway: ${taken}`], []]);
  assertEquals(terminal.listensForSignals, false);
});

Deno.test("start lets a bug through with its stack trace", async () => {
  const bug = () => Promise.reject(new TypeError("undefined is not a broker"));
  await assertRejects(() => start([], new FakeTerminal(), bug), TypeError, "undefined is not a broker");
});

const refused: [claim: string, args: string[], line: string][] = [
  ["an unknown flag", ["--prot", "1"], "start does not know --prot: trackway start --help lists its flags"],
  ["a word that is no flag", ["now"], "start does not know now: trackway start --help lists its flags"],
  ["a flag without its value", ["--data"], "--data needs a value: trackway start --help says which"],
  ["a port that is no number", ["--port", "http"], "--port http: must be a number from 0 to 65535"],
  [
    "a file that is not there",
    ["--config", "no.properties"],
    "Cannot read --config no.properties: No such file or " +
    "directory: no.properties",
  ],
  [
    "a bad setting",
    ["--set", "num.partitions=none"],
    "Invalid value none for configuration num.partitions: Not a number of type INT (set by --set)",
  ],
];

for (const [claim, args, line] of refused) {
  Deno.test(`start refuses ${claim} with one line and exit code 1`, async () => {
    assertEquals(await refusal(args), { code: 1, out: [], err: [`trackway: ${line}`] });
  });
}
