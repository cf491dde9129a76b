/** The listeners and their connections: accepts, bounds, sweeps out idle connections, and stops in order. */
import { StartupError } from "../base/startup_error.ts";
import type { Clock } from "../base/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import {
  Connection,
  type ConnectionLimits,
  type Dispatcher,
  type SharedMemory,
  type UnsentAnswers,
} from "./connection.ts";
import { DelayedCloses } from "./delayed_close.ts";
import { KeptChunks } from "./frames.ts";
import type { SystemSockets } from "./sendfile.ts";

/** An address to bind, by the name of its listener. */
export interface Bind {
  readonly listenerName: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface ServerOptions extends SharedMemory {
  readonly limits: ConnectionLimits;
  /** Asked anew for each connection: the setting may change. */
  readonly maxConnections: () => number;
  /** How many connections are accepted in a second; asked anew as well. No bound when left out. */
  readonly maxAcceptedPerSecond?: () => number;
  /** How many the limit on open files leaves room for. No bound when left out. */
  readonly maxByDescriptors?: number;
  /** Through which files are sent to clients; they are read and written when left out. */
  readonly sockets?: SystemSockets;
  /** How many connections one address may have ("127.0.0.1"); asked anew as well. No bound when left out. */
  readonly maxConnectionsOf?: (address: string) => number;
  readonly maxIdleMs: number;
  /** When a frame has waited so long for memory, those that have had some for as long are cut off; 30 s if left out. */
  readonly maxMemoryWaitMs?: number;
  /** Answers that clients have not taken, of all connections; beyond it they are cut off. No bound when left out. */
  readonly maxUnsentBytes?: number;
  /** What connections may keep for reading while they are quiet, all of them together. No bound when left out. */
  readonly maxKeptBytes?: number;
  readonly clock: Clock;
  /** Told of each connection that was not let in, or had to end because of what its client did. */
  readonly onRefused: (remote: string, listenerName: string, reason: string) => void;
  /** Told of each connection that ended because a request threw: a bug. */
  readonly onFailed: (remote: string, listenerName: string, error: unknown) => void;
  readonly metrics: Metrics;
}

/** How often idle and stalled connections are looked for, at least. */
const SWEEP_EVERY_MS = 5_000;
/** How long a client has to close its side at a stop: a few round trips on any network. */
const HANG_UP_MS = 300;
/** See {@link ServerOptions.maxMemoryWaitMs}. */
const MAX_MEMORY_WAIT_MS = 30_000;

export class Server {
  private readonly listeners: { bind: Bind; listener: Deno.TcpListener }[] = [];
  private readonly connections = new Set<Connection>();
  /** How many of them each address has. */
  private readonly connectionsOf = new Map<string, number>();
  private readonly unsent: UnsentAnswers;
  private readonly kept: KeptChunks;
  private readonly serving = new Set<Promise<void>>();
  /** Connections that are one too many for a quota. */
  private readonly throttled = new DelayedCloses();
  private sweep: ReturnType<typeof setInterval> | undefined;
  /** The second in which connections were accepted last, and how many. */
  private accepted = { sinceMs: -Infinity, count: 0 };
  private stopping = false;

  constructor(private readonly options: ServerOptions) {
    this.kept = new KeptChunks(options.maxKeptBytes);
    this.unsent = { bytes: 0, maxBytes: options.maxUnsentBytes };
  }

  get metrics(): Metrics {
    return this.options.metrics;
  }

  get connectionCount(): number {
    return this.connections.size;
  }

  /** Of answers that clients have not taken yet: memory that they hold. */
  get unsentBytes(): number {
    return this.unsent.bytes;
  }

  /**
   * Binds an address and gives the port, which is the system's choice where 0 was asked for.
   * Throws {@link StartupError} when it cannot be had.
   */
  listen(bind: Bind): number {
    try {
      const listener = Deno.listen({ hostname: bind.host, port: bind.port, transport: "tcp" });
      this.listeners.push({ bind, listener });
      return listener.addr.port;
    } catch (error) {
      throw new StartupError(bindProblem(bind, error));
    }
  }

  /** Starts to accept on every address bound so far. */
  start(dispatcher: Dispatcher): void {
    for (const { bind, listener } of this.listeners) void this.accept(bind, listener, dispatcher);
    const every = Math.min(SWEEP_EVERY_MS, Math.max(100, this.maxIdleMs / 4));
    this.sweep = setInterval(() => this.sweepConnections(), every);
  }

  private async accept(bind: Bind, listener: Deno.TcpListener, dispatcher: Dispatcher): Promise<void> {
    while (!this.stopping) {
      let conn: Deno.TcpConn;
      try {
        conn = await listener.accept();
      } catch (error) {
        if (this.stopping) return;
        // Out of descriptors, or reset before it was accepted: the next one may do better. Not at full speed.
        this.options.onRefused("(not accepted)", bind.listenerName, String(error));
        await new Promise((resolve) => setTimeout(resolve, 100));
        continue;
      }
      try {
        this.admit(conn, bind, dispatcher);
      } catch (error) {
        // A client that is gone already; whatever it is, the next one must be accepted.
        this.options.onRefused("(not admitted)", bind.listenerName, String(error));
        conn.close();
      }
      const waitMs = this.acceptWaitMs();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  /** How long to wait before the next connection is accepted; those that come meanwhile wait in the system's queue. */
  private acceptWaitMs(): number {
    const { clock, maxAcceptedPerSecond } = this.options;
    const max = maxAcceptedPerSecond?.() ?? Infinity, now = clock.monotonic();
    if (now - this.accepted.sinceMs >= 1000) this.accepted = { sinceMs: now, count: 0 };
    // Without a connection a second nobody could ever change the setting back.
    if (++this.accepted.count < Math.max(1, max)) return 0;
    // The next one is the next second's, even if the timer is a little early.
    this.accepted = { sinceMs: this.accepted.sinceMs + 1000, count: 0 };
    return this.accepted.sinceMs - now;
  }

  private admit(conn: Deno.TcpConn, bind: Bind, dispatcher: Dispatcher): void {
    const { options } = this;
    const { hostname, port } = conn.remoteAddr;
    const address = plainAddress(hostname);
    const throttleMs = dispatcher.throttleConnectionMs?.(address) ?? 0;
    if (throttleMs > 0) return this.hasDescriptors ? this.throttled.closeIn(conn, throttleMs) : conn.close();
    const refusal = this.whyNotAdmitted(address);
    if (refusal !== null) {
      options.onRefused(`${hostname}:${port}`, bind.listenerName, refusal);
      conn.close();
      return;
    }
    // A client whose machine is gone says nothing; the system asks it now and then.
    conn.setKeepAlive(true);
    // Answers are written whole; waiting for more to send would only delay them.
    conn.setNoDelay(true);
    const connection = new Connection(
      conn,
      bind.listenerName,
      dispatcher,
      options.limits,
      options,
      () => options.clock.monotonic(),
      this.unsent,
      this.kept,
      options.sockets ?? null,
    );
    this.connections.add(connection);
    this.connectionsOf.set(address, (this.connectionsOf.get(address) ?? 0) + 1);
    options.metrics.connectionsOpened++;
    const served = connection.serve().then(
      (reason) => {
        if (reason === null) return;
        options.metrics.malformedFrames++;
        options.onRefused(connection.remote, bind.listenerName, reason);
      },
      (error) => options.onFailed(connection.remote, bind.listenerName, error),
    ).finally(() => {
      this.connections.delete(connection);
      const left = this.connectionsOf.get(address)! - 1;
      if (left > 0) this.connectionsOf.set(address, left);
      else this.connectionsOf.delete(address);
      this.serving.delete(served);
      options.metrics.connectionsClosed++;
    });
    this.serving.add(served);
  }

  /** Whether one more connection leaves the log the files that it needs. */
  private get hasDescriptors(): boolean {
    const { maxByDescriptors = Infinity } = this.options;
    return this.connections.size + this.throttled.size < maxByDescriptors;
  }

  private whyNotAdmitted(address: string): string | null {
    const max = this.options.maxConnections();
    if (this.connections.size >= max) return `max.connections (${max}) reached`;
    if (!this.hasDescriptors) {
      return `the limit on open files leaves room for ${this.options.maxByDescriptors} connections`;
    }
    const maxOfAddress = this.options.maxConnectionsOf?.(address) ?? Infinity;
    if ((this.connectionsOf.get(address) ?? 0) < maxOfAddress) return null;
    return `max.connections.per.ip (${maxOfAddress} for ${address}) reached`;
  }

  /** A negative one is Kafka's way to let connections stay for ever. */
  private get maxIdleMs(): number {
    const { maxIdleMs } = this.options;
    return maxIdleMs < 0 ? Infinity : maxIdleMs;
  }

  private sweepConnections(): void {
    const now = this.options.clock.monotonic();
    const { budget, answers } = this.options;
    for (const connection of this.connections) {
      if (connection.isIdle(now, this.maxIdleMs)) connection.close();
      // A few clients that begin large frames and then hang must not take all memory from the others.
      else if (budget.isShort && connection.isStalled(now)) {
        connection.disconnect("a frame does not come, while others wait for the memory that it was given");
      }
    }
    if (budget.isShort) this.freeMemory(now);
    if (answers.isShort) this.freeAnswers(now);
    if (this.unsent.bytes > (this.unsent.maxBytes ?? Infinity)) {
      for (const connection of this.connections) {
        if (connection.isNotReading(now)) connection.disconnect("a client does not take its answers");
      }
    }
  }

  /**
   * When nobody is stalled and somebody waits all the same: those that had memory for long have had their turn. Frames
   * that are still coming go first, all of them, since one at a time would be taken by the next as slow; requests that
   * came whole are somebody's work, and go when nothing else can.
   */
  private freeMemory(now: number): void {
    const { maxMemoryWaitMs = MAX_MEMORY_WAIT_MS } = this.options;
    let waitMs = 0;
    const coming: Connection[] = [], handled: Connection[] = [];
    for (const connection of this.connections) {
      waitMs = Math.max(waitMs, connection.memoryWaitMs(now));
      if (connection.memoryHeldMs(now) <= maxMemoryWaitMs) continue;
      (connection.handling ? handled : coming).push(connection);
    }
    if (waitMs <= maxMemoryWaitMs) return;
    for (const connection of coming.length > 0 ? coming : handled) {
      const heldS = Math.round(connection.memoryHeldMs(now) / 1000);
      connection.disconnect(`a request has had memory for ${heldS} s that others wait for`);
    }
  }

  /** The same for large answers: who takes one slowly has had its memory for long enough. */
  private freeAnswers(now: number): void {
    const { maxMemoryWaitMs = MAX_MEMORY_WAIT_MS } = this.options;
    let waitMs = 0;
    const holders: Connection[] = [];
    for (const connection of this.connections) {
      waitMs = Math.max(waitMs, connection.answerWaitMs(now));
      if (connection.answerHeldMs(now) > maxMemoryWaitMs) holders.push(connection);
    }
    if (waitMs <= maxMemoryWaitMs) return;
    for (const connection of holders) {
      const heldS = Math.round(connection.answerHeldMs(now) / 1000);
      connection.disconnect(`an answer has had memory for ${heldS} s that others wait for`);
    }
  }

  /** No more connections from here on; those that are open go on. Safe to call twice. */
  stopAccepting(): void {
    if (this.stopping) return;
    this.stopping = true;
    clearInterval(this.sweep);
    this.throttled.closeAll();
    for (const { listener } of this.listeners) listener.close();
  }

  /** Lets go of everything at once, for a start that failed. */
  close(): void {
    this.stopAccepting();
    for (const connection of this.connections) connection.close();
  }

  /**
   * Lets requests be answered and answers be sent, waiting no longer than `waitMs`, and closes every connection. Clients
   * that are there close their side as soon as they see that; the others are not waited for.
   */
  async closeConnections(waitMs: number, hangUpMs = HANG_UP_MS): Promise<void> {
    await within(waitMs, Promise.all([...this.connections].map((c) => c.flushed())));
    for (const connection of this.connections) connection.hangUp();
    await within(Math.min(waitMs, hangUpMs), Promise.all(this.serving));
    for (const connection of this.connections) connection.close();
    await Promise.all(this.serving);
  }
}

/** Resolves with `done`, or when the time is over. */
async function within(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
  await Promise.race([done, patience]).finally(() => clearTimeout(timer));
}

/** An IPv4 address as such, though a listener for both families writes it as IPv6. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}

function bindProblem(bind: Bind, error: unknown): string {
  const address = bind.host.includes(":") ? `[${bind.host}]:${bind.port}` : `${bind.host}:${bind.port}`;
  if (error instanceof Deno.errors.AddrInUse) {
    return `Cannot listen on ${address}: the port is taken. Stop what uses it, or choose another with --port.`;
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return `Cannot listen on ${address}: not allowed. Ports below 1024 need privileges; choose another with --port.`;
  }
  if (error instanceof Deno.errors.AddrNotAvailable) {
    return `Cannot listen on ${address}: this machine has no such address. Name one that it has with --host or listeners.`;
  }
  return `Cannot listen on ${address}: ${error instanceof Error ? error.message : error}`;
}
