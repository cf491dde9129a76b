/** A terminal that remembers and a broker that only pretends, so that commands run inside of a test. */
import type { StopSignal, Terminal } from "../../src/cli/terminal.ts";
import type { LoadedConfig } from "../../src/config/load.ts";

/** Remembers every line; files, variables and signals are what the test says. */
export class FakeTerminal implements Terminal {
  readonly outLines: string[] = [];
  readonly errLines: string[] = [];
  readonly exits: number[] = [];
  #handler: ((signal: StopSignal) => void) | null = null;
  readonly #subscribed = Promise.withResolvers<void>();

  constructor(
    private readonly files: Record<string, string> = {},
    private readonly variables: Record<string, string> = {},
  ) {}

  out(line: string): void {
    this.outLines.push(line);
  }
  err(line: string): void {
    this.errLines.push(line);
  }
  readonly progressTexts: string[] = [];
  progress(text: string): void {
    this.progressTexts.push(text);
  }
  readTextFile(path: string): string {
    if (!(path in this.files)) throw new Deno.errors.NotFound(`No such file or directory: ${path}`);
    return this.files[path];
  }
  environment(): Record<string, string> {
    return this.variables;
  }
  machine() {
    return { hostname: "laptop", addresses: [{ name: "lo", family: "IPv4", address: "127.0.0.1" }] as const };
  }
  /** What the clock shows; the test turns it. */
  uptime = 42.4;
  uptimeMs(): number {
    return this.uptime;
  }
  onStopSignal(handler: (signal: StopSignal) => void): () => void {
    this.#handler = handler;
    this.#subscribed.resolve();
    return () => this.#handler = null;
  }
  exit(code: number): void {
    this.exits.push(code);
  }

  /** Whether a command still wants to know of signals. */
  get listensForSignals(): boolean {
    return this.#handler !== null;
  }
  /** Resolves once a command wants to know of signals. */
  get subscribed(): Promise<void> {
    return this.#subscribed.promise;
  }
  signal(signal: StopSignal): void {
    this.#handler?.(signal);
  }
}

/** A broker that is up at once and remembers what it was given; `stopping` decides when it has stopped. */
export function fakeBroker(stopping: Promise<void> = Promise.resolve()) {
  const started = Promise.withResolvers<LoadedConfig>();
  const state = { stops: 0 };
  const startBroker = (config: LoadedConfig) => {
    started.resolve(config);
    return Promise.resolve({
      clusterId: "abc",
      addresses: config.listeners.map(({ host, port }) => `${host}:${port}`),
      stop() {
        state.stops++;
        return stopping;
      },
    });
  };
  return { startBroker, started: started.promise, state };
}
