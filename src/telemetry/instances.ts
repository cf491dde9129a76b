/**
 * Clients that send their metrics, and when each may. A client is known from its first question to the end of the
 * connection over which it came, and is forgotten after three push intervals without a word; the number of clients is
 * bounded. Times and rules are Kafka 4.4's (observed; tests/telemetry holds the transcript).
 */
import { ErrorCode } from "../codec/errors.ts";
import type { Subscriptions, TelemetryClient, Wanted } from "./subscriptions.ts";

/** A connection as far as what hangs on it goes. */
export interface Lifetime {
  readonly isOver: boolean;
}

export interface Instance {
  readonly id: string;
  readonly client: TelemetryClient;
  /** The connection that brought it. */
  readonly connection: Lifetime;
  wanted: Wanted;
  /** Which subscriptions `wanted` is from. */
  version: number;
  askedAtMs: number;
  pushedAtMs: number;
  seenAtMs: number;
  /** It said that its last push was the last. */
  terminating: boolean;
  lastErrorCode: number;
}

/** As many as Kafka's; about half a kilobyte each. */
const MAX_INSTANCES = 16_384;
/** See {@link quietMs}. */
const MIN_QUIET_MS = 60_000;

/** For how long an instance that says nothing is remembered. */
export function quietMs({ wanted }: Instance): number {
  return Math.max(MIN_QUIET_MS, 3 * wanted.pushIntervalMs);
}

export class Instances {
  /** Those that were heard last come last. */
  readonly #all = new Map<string, Instance>();
  #version = 0;

  constructor(private subscriptions: Subscriptions, private readonly max = MAX_INSTANCES) {}

  get count(): number {
    return this.#all.size;
  }

  /** Whether it is known at `now`. */
  has(id: string, now: number): boolean {
    return this.#find(id, now) !== undefined;
  }

  /** Asks for what these subscriptions say from now on: clients hear of it when they come next. */
  subscribe(subscriptions: Subscriptions): void {
    this.subscriptions = subscriptions;
    this.#version++;
  }

  /** The instance with this id, known or new, with what it is asked for at present. */
  heard(id: string, client: TelemetryClient, connection: Lifetime, now: number): Instance {
    const known = this.#find(id, now);
    const instance = known !== undefined && known.version === this.#version
      ? known
      : this.#fresh(id, known?.client ?? client, known === undefined ? connection : known.connection);
    instance.seenAtMs = now;
    this.#all.delete(id);
    if (known === undefined) this.#makeRoom(now);
    this.#all.set(id, instance);
    return instance;
  }

  /** New times, too: who is asked for something else may send at once. */
  #fresh(id: string, client: TelemetryClient, connection: Lifetime): Instance {
    return {
      id,
      client,
      connection,
      wanted: this.subscriptions.wanted(id, client),
      version: this.#version,
      askedAtMs: -Infinity,
      pushedAtMs: -Infinity,
      seenAtMs: 0,
      terminating: false,
      lastErrorCode: ErrorCode.NONE,
    };
  }

  #find(id: string, now: number): Instance | undefined {
    const instance = this.#all.get(id);
    if (instance === undefined || !isGone(instance, now)) return instance;
    this.#all.delete(id);
    return undefined;
  }

  #makeRoom(now: number): void {
    for (const [id, instance] of this.#all) {
      if (this.#all.size < this.max && !isGone(instance, now)) return;
      this.#all.delete(id);
    }
  }
}

function isGone(instance: Instance, now: number): boolean {
  return instance.connection.isOver || now - instance.seenAtMs > quietMs(instance);
}

/** Whether a client that asks what is wanted is answered; if so, that it asked is remembered. */
export function mayAsk(instance: Instance, now: number): boolean {
  const inTime = now - Math.max(instance.askedAtMs, instance.pushedAtMs) >= instance.wanted.pushIntervalMs;
  if (inTime) instance.askedAtMs = now;
  // These errors tell it to ask.
  return inTime || instance.lastErrorCode === ErrorCode.UNKNOWN_SUBSCRIPTION_ID ||
    instance.lastErrorCode === ErrorCode.UNSUPPORTED_COMPRESSION_TYPE;
}

/**
 * Whether a push comes in time; if so, that it came is remembered. The first one after asking may come at once, since
 * clients spread it over the time from half an interval to one and a half.
 */
export function mayPush(instance: Instance, now: number): boolean {
  const inTime = instance.askedAtMs > instance.pushedAtMs ||
    now - instance.pushedAtMs >= instance.wanted.pushIntervalMs;
  if (inTime) instance.pushedAtMs = now;
  return inTime;
}
