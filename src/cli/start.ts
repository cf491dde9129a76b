/**
 * `trackway start`: flags and files to settings, a broker from them, and a clean stop. The broker itself is handed in as
 * a function, because it is built above this folder. Everything that goes wrong before it is up is one line and exit
 * code 1.
 */
import { parseArgs } from "@std/cli/parse-args";
import { StartupError } from "../base/startup_error.ts";
import { type ConfigInputs, loadConfig, type LoadedConfig } from "../config/load.ts";
import { configureLogging, getLogger, type Logger } from "../observe/logging.ts";
import { helpText } from "./help.ts";
import type { Terminal } from "./terminal.ts";
import { VERSION } from "./version.ts";

/** A broker that answers requests. */
export interface RunningBroker {
  readonly clusterId: string;
  /** Every bound `host:port`. */
  readonly addresses: readonly string[];
  /** Answers what is under way, closes the log cleanly; resolves when nothing is left open. */
  stop(): Promise<void>;
}

/** Starts a broker; resolves when it answers. Rejects with {@link StartupError} when something outside is in the way. */
export type StartBroker = (config: LoadedConfig, log: Logger) => Promise<RunningBroker>;

/**
 * Signals closer together than this are one wish to stop: on Ctrl-C a terminal signals the whole group of processes, and
 * `deno task` passes its own on, so that the broker under it gets two.
 */
const SAME_STOP_MS = 500;

/** Exit code after a second signal: 128 and SIGINT's number, as shells have it. */
const interrupted = 130;

/** Runs a broker until a signal stops it. Gives the exit code. */
export async function start(
  args: readonly string[],
  terminal: Terminal,
  startBroker: StartBroker,
): Promise<number> {
  const flags = readFlags(args);
  if ("error" in flags) return failed(terminal, [flags.error]);
  if (flags.help) {
    terminal.out(helpText("start")!);
    return 0;
  }
  const inputs = gatherInputs(flags, terminal);
  if ("error" in inputs) return failed(terminal, [inputs.error]);
  const result = loadConfig(inputs);
  if ("errors" in result) return failed(terminal, result.errors);
  return await run(result.loaded, terminal, startBroker);
}

async function run(loaded: LoadedConfig, terminal: Terminal, startBroker: StartBroker): Promise<number> {
  configureLogging(loaded.config.get("trackway.log.level"), (line) => terminal.err(line));
  const log = getLogger("start");
  for (const text of loaded.warnings) log.warn("{text}", { text });

  // From here on, so that a signal during a long recovery stops the broker cleanly once it is up.
  const stopAsked = Promise.withResolvers<string>();
  let firstSignalAt: number | null = null;
  const unsubscribe = terminal.onStopSignal((signal) => {
    if (firstSignalAt === null) {
      firstSignalAt = terminal.uptimeMs();
      return stopAsked.resolve(signal);
    }
    if (terminal.uptimeMs() - firstSignalAt >= SAME_STOP_MS) terminal.exit(interrupted);
  });
  try {
    const broker = await startBroker(loaded, getLogger("broker"));
    printBanner(broker, loaded, terminal);
    const signal = await stopAsked.promise;
    log.info("Stopping on {signal}; once more stops at once", { signal });
    await broker.stop();
    log.info("Stopped");
    return 0;
  } catch (error) {
    // Anything else is a bug and keeps its stack trace.
    if (!(error instanceof StartupError)) throw error;
    return failed(terminal, [error.message]);
  } finally {
    unsubscribe();
  }
}

interface Flags {
  readonly help: boolean;
  readonly config?: string;
  readonly set: readonly string[];
  readonly port?: number;
  readonly host?: string;
  readonly data?: string;
  readonly logLevel?: string;
}

function readFlags(args: readonly string[]): Flags | { readonly error: string } {
  let unknown: string | undefined;
  const valued = ["port", "host", "data", "config", "log-level"] as const;
  const parsed = parseArgs([...args], {
    string: [...valued, "set"],
    boolean: ["help"],
    collect: ["set"],
    alias: { help: "h" },
    unknown(arg: string) {
      unknown ??= arg;
      return false;
    },
  });
  if (unknown !== undefined) {
    return { error: `start does not know ${unknown}: trackway start --help lists its flags` };
  }
  for (const name of valued) {
    if (parsed[name] === "") return { error: `--${name} needs a value: trackway start --help says which` };
  }
  const port = parsed.port;
  if (port !== undefined && !/^\d{1,5}$/.test(port)) {
    return { error: `--port ${port}: must be a number from 0 to 65535` };
  }
  return {
    help: parsed.help,
    config: parsed.config,
    set: parsed.set,
    port: port === undefined ? undefined : Number(port),
    host: parsed.host,
    data: parsed.data,
    logLevel: parsed["log-level"],
  };
}

function gatherInputs(flags: Flags, terminal: Terminal): ConfigInputs | { readonly error: string } {
  let file: ConfigInputs["file"];
  if (flags.config !== undefined) {
    try {
      file = { name: flags.config, text: terminal.readTextFile(flags.config) };
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return { error: `Cannot read --config ${flags.config}: ${error.message}` };
    }
  }
  return {
    file,
    environment: terminal.environment(),
    set: flags.set,
    port: flags.port,
    host: flags.host,
    dataDir: flags.data,
    logLevel: flags.logLevel,
    machine: terminal.machine(),
  };
}

function printBanner(broker: RunningBroker, loaded: LoadedConfig, terminal: Terminal): void {
  terminal.out(
    [
      `Trackway ${VERSION} is up after ${Math.round(terminal.uptimeMs())} ms`,
      `  listening on  ${broker.addresses.join(", ")}`,
      `  data in       ${loaded.dataDirs.join(", ")}`,
      `  cluster       ${broker.clusterId}`,
    ].join("\n"),
  );
}

function failed(terminal: Terminal, errors: readonly string[]): number {
  for (const error of errors) terminal.err(`trackway: ${error}`);
  return 1;
}
