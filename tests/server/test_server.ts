/** A server with real sockets over a dispatcher that the test controls, and a client of it. */
import { ManualClock } from "../../src/base/clock.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { MemoryBudget } from "../../src/server/memory_budget.ts";
import { Server, type ServerOptions } from "../../src/server/server.ts";
import { FakeDispatcher, frame } from "./fakes.ts";

const text = new TextDecoder();

/** Something that comes one after the other and can be waited for. */
export class Events<T> {
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
export class TestServer implements AsyncDisposable {
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
      answers: new MemoryBudget(1e6),
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

export class TestClient implements Disposable {
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

/** Puts something in place of Deno.listen, as long as `run` takes. */
export async function withListen(listen: () => unknown, run: () => void | Promise<void>): Promise<void> {
  const real = Deno.listen;
  (Deno as { listen: unknown }).listen = listen;
  try {
    await run();
  } finally {
    (Deno as { listen: unknown }).listen = real;
  }
}
