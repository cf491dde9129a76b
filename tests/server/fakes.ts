/**
 * A connection without a network: the socket, whose reads and writes the test decides, and the layer above, whose
 * answers it gives. Nothing here waits for time, so one turn of the event loop is enough for all that can happen.
 */
import {
  type Answer,
  Connection,
  type ConnectionLimits,
  type Dispatched,
  type Dispatcher,
  type Peer,
  type UnsentAnswers,
} from "../../src/server/connection.ts";
import { MemoryBudget } from "../../src/server/memory_budget.ts";

const utf8 = new TextEncoder();
const text = new TextDecoder();

/** Lets everything happen that does not wait for the outside. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** A frame as it goes over the wire: its size and its text. */
export function frame(content: string | Uint8Array): Uint8Array {
  const body = typeof content === "string" ? utf8.encode(content) : content;
  const bytes = new Uint8Array(4 + body.length);
  new DataView(bytes.buffer).setInt32(0, body.length);
  bytes.set(body, 4);
  return bytes;
}

/** The size of a frame, alone. */
export function sizePrefix(size: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, size);
  return bytes;
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** One write that the socket has not taken yet. */
interface HeldWrite {
  readonly bytes: Uint8Array;
  take(bytes: number): void;
  fail(error: Error): void;
}

/** The socket's side that the broker does not see. */
export class FakeSocket {
  readonly remoteAddr: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 50312 };
  /** Sizes of the writes that were made, the ones that were not taken yet too. */
  readonly writes: number[] = [];
  /** Writes wait until the test takes them. */
  holdsWrites = false;
  readonly held: HeldWrite[] = [];
  isClosed = false;
  private readonly taken: Uint8Array[] = [];
  private incoming: Uint8Array[] = [];
  private ended = false;
  private readError: Error | null = null;
  private reader:
    | { space: Uint8Array; resolve(bytes: number | null): void; reject(error: Error): void }
    | null = null;

  /** What the client got, as text. */
  get sent(): string {
    return text.decode(joined(this.taken));
  }
  get sentBytes(): number {
    return this.taken.reduce((sum, bytes) => sum + bytes.length, 0);
  }
  /** Whether the broker wants to read. */
  get isRead(): boolean {
    return this.reader !== null;
  }
  /** How much the broker made room for in the read that waits. */
  get offeredBytes(): number {
    return this.reader?.space.length ?? 0;
  }
  /** The memory behind that room. */
  get chunkBytes(): number {
    return this.reader?.space.buffer.byteLength ?? 0;
  }

  /** The client sends. */
  feed(...parts: Uint8Array[]): void {
    this.incoming.push(...parts);
    this.deliver();
  }
  /** The client closes. */
  end(): void {
    this.ended = true;
    this.deliver();
  }
  /** The connection breaks. */
  breakReading(error: Error): void {
    this.readError = error;
    this.deliver();
  }
  /** Takes the oldest held write, whole or in part. */
  takeWrite(bytes = this.held[0].bytes.length): void {
    this.held.shift()!.take(bytes);
  }

  private deliver(): void {
    if (this.reader === null) return;
    const { space, resolve, reject } = this.reader;
    if (this.incoming.length > 0) {
      const next = this.incoming[0];
      const bytes = Math.min(next.length, space.length);
      space.set(next.subarray(0, bytes));
      if (bytes === next.length) this.incoming.shift();
      else this.incoming[0] = next.subarray(bytes);
      this.reader = null;
      resolve(bytes);
    } else if (this.readError !== null) {
      this.reader = null;
      reject(this.readError);
    } else if (this.ended) {
      this.reader = null;
      resolve(null);
    }
  }

  /** The side that the broker sees. */
  readonly conn = {
    remoteAddr: this.remoteAddr,
    read: (space: Uint8Array): Promise<number | null> => {
      if (this.isClosed) return Promise.reject(new Deno.errors.BadResource("closed"));
      return new Promise((resolve, reject) => {
        this.reader = { space, resolve, reject };
        this.deliver();
      });
    },
    write: (bytes: Uint8Array): Promise<number> => {
      if (this.isClosed) return Promise.reject(new Deno.errors.BadResource("closed"));
      this.writes.push(bytes.length);
      if (!this.holdsWrites) {
        this.taken.push(bytes.slice());
        return Promise.resolve(bytes.length);
      }
      return new Promise((resolve, reject) => {
        this.held.push({
          bytes,
          take: (count) => {
            this.taken.push(bytes.slice(0, count));
            resolve(count);
          },
          fail: reject,
        });
      });
    },
    closeWrite: (): Promise<void> =>
      this.isClosed ? Promise.reject(new Deno.errors.BadResource("closed")) : Promise.resolve(),
    close: (): void => {
      if (this.isClosed) throw new Deno.errors.BadResource("closed twice");
      this.isClosed = true;
      this.reader?.reject(new Deno.errors.BadResource("closed"));
      this.reader = null;
      for (const write of this.held.splice(0)) write.fail(new Deno.errors.Interrupted("closed"));
    },
  } as unknown as Deno.TcpConn;
}

/**
 * Answers by the first word of a frame: `now x` is answered with x at once, `later x` and `produce x` when the test
 * says so, `none x` never, `bad x` is malformed. Only `produce` and `none` pipeline.
 */
export class FakeDispatcher implements Dispatcher {
  /** The frames that were handled, as text. */
  readonly handled: string[] = [];
  peer: Peer | null = null;
  onDisconnect: (() => void) | null = null;
  /** Thrown at frames that begin with "bad". */
  error: Error = new Error("a bug");
  private readonly waiting = new Map<string, { resolve(answer: Answer): void; reject(error: Error): void }>();

  pipelines = (bytes: Uint8Array): boolean => /^(produce|none) /.test(text.decode(bytes.subarray(0, 10)));

  handle(bytes: Uint8Array, peer: Peer): Dispatched {
    const content = text.decode(bytes.subarray(0, 100)).replace(/\.+$/, "");
    const [verb, name = ""] = content.split(" ");
    this.handled.push(content);
    this.peer = peer;
    switch (verb) {
      case "now":
        return { answer: [utf8.encode(name)] };
      case "none":
        return { answer: null };
      case "bad":
        throw this.error;
      default: {
        const answer = new Promise<Answer>((resolve, reject) => this.waiting.set(name, { resolve, reject }));
        if (this.onDisconnect !== null) peer.onDisconnect = this.onDisconnect;
        return { answer };
      }
    }
  }

  /** Called when a turn ends; as if nobody waited for what came. */
  answerWoken: () => void = () => {};

  /** Answers a request that waits, with its own name unless another answer is given. */
  answer(name: string, answer: Answer = [utf8.encode(name)]): void {
    this.waiting.get(name)!.resolve(answer);
    this.waiting.delete(name);
  }
  isWaiting(name: string): boolean {
    return this.waiting.has(name);
  }
  fail(name: string, error: Error): void {
    this.waiting.get(name)!.reject(error);
    this.waiting.delete(name);
  }
}

export interface Served {
  readonly socket: FakeSocket;
  readonly dispatcher: FakeDispatcher;
  readonly connection: Connection;
  readonly budget: MemoryBudget;
  /** How the connection ended: null, a text, or what it threw. */
  readonly ended: Promise<string | null | Error>;
  /** The same, once it has. */
  result(): string | null | Error | "still open";
}

/** A connection that is served, and all that is around it. */
export function serveFake(
  options:
    & Partial<ConnectionLimits>
    & {
      budgetBytes?: number;
      budget?: MemoryBudget;
      answers?: MemoryBudget;
      now?: () => number;
      unsent?: UnsentAnswers;
    } = {},
): Served {
  const { budgetBytes = 10_000_000, now = () => 0, ...limits } = options;
  const budget = options.budget ?? new MemoryBudget(budgetBytes);
  const socket = new FakeSocket(), dispatcher = new FakeDispatcher();
  const connection = new Connection(
    socket.conn,
    "PLAINTEXT",
    dispatcher,
    { maxFrameBytes: 1_000_000, maxUnsentBytes: 1000, maxPipelined: 4, ...limits },
    { budget, answers: options.answers ?? new MemoryBudget(budgetBytes) },
    now,
    options.unsent,
  );
  let result: string | null | Error | "still open" = "still open";
  const ended = connection.serve().catch((error) => error as Error);
  void ended.then((how) => result = how);
  return { socket, dispatcher, connection, budget, ended, result: () => result };
}
