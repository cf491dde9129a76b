/** A broker inside the test process, on any free port, with a data directory of its own that goes when it does. */
import { startBroker } from "../../src/broker.ts";
import { type ConfigInputs, loadConfig } from "../../src/config/load.ts";
import { configureLogging, getLogger } from "../../src/observe/logging.ts";

export interface TestBroker extends AsyncDisposable {
  readonly port: number;
  readonly dataDir: string;
  /** What the broker logged so far, a line each. */
  readonly log: readonly string[];
  /** Stops it and starts it again on the same data and the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a broker with these settings, in which "<dir>" stands for a directory of its own. */
export async function freePortBroker(
  set: Record<string, string> = {},
  dataDir?: string,
): Promise<TestBroker> {
  const directory = dataDir ?? await Deno.makeTempDir({ prefix: "trackway-test-" });
  const log: string[] = [];
  configureLogging("warning", (line) => log.push(line));
  let port = 0;
  const start = async () => {
    const inputs: ConfigInputs = {
      set: Object.entries({ ...set, listeners: `PLAINTEXT://127.0.0.1:${port}` }).map(([name, value]) =>
        `${name}=${value.replaceAll("<dir>", directory)}`
      ),
      dataDir: "log.dirs" in set ? undefined : directory,
      machine: { hostname: "test", addresses: [] },
    };
    const result = loadConfig(inputs);
    if ("errors" in result) throw new Error(result.errors.join("\n"));
    const broker = await startBroker(result.loaded, getLogger("broker"));
    port = Number(broker.addresses[0].split(":").at(-1));
    return broker;
  };
  let running: Awaited<ReturnType<typeof start>> | null = await start();
  const stop = async () => {
    await running?.stop();
    running = null;
  };
  return {
    get port() {
      return port;
    },
    dataDir: directory,
    log,
    async restart() {
      await stop();
      running = await start();
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      if (dataDir === undefined) await Deno.remove(directory, { recursive: true });
    },
  };
}
