/**
 * The numbers that clients sent, the last of each. There is a bound on how many are kept, of one client and of all: what
 * is beyond it is counted and not kept. Those of a client that has not been heard of for three intervals are forgotten.
 */
import { shortCopy } from "../base/short_copy.ts";
import type { Point } from "./otlp.ts";

/** A number that a client sent, with what tells it apart. */
export interface ReceivedMetric {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Series {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  value: number;
}

interface ClientSeries {
  readonly clientId: string;
  forgetAtMs: number;
  readonly series: Map<string, Series>;
}

export interface ReceivedLimits {
  /** Of all clients together. */
  readonly maxSeries: number;
  readonly maxSeriesOfClient: number;
  /** Of names, and of attributes and their values; longer ones are not kept. */
  readonly maxTextLength: number;
  readonly maxAttributes: number;
}

const LIMITS: ReceivedLimits = {
  maxSeries: 20_000,
  maxSeriesOfClient: 500,
  maxTextLength: 255,
  maxAttributes: 10,
};

/** All clients are looked through for it, and there may be one for each series. */
const FORGET_EVERY_MS = 1000;

export class ReceivedMetrics {
  readonly #clients = new Map<string, ClientSeries>();
  #seriesCount = 0;
  /** Numbers that there was no room for, or that were too long. */
  dropped = 0;
  #forgottenAtMs = -Infinity;

  constructor(private readonly limits: ReceivedLimits = LIMITS) {}

  get seriesCount(): number {
    return this.#seriesCount;
  }

  /** How many clients something is kept of. */
  get clientCount(): number {
    return this.#clients.size;
  }

  /** Takes what a client pushed. It is kept until `forgetAtMs` unless more comes. */
  take(
    instanceId: string,
    clientId: string,
    points: readonly Point[],
    now: number,
    forgetAtMs: number,
  ): void {
    if (now - this.#forgottenAtMs >= FORGET_EVERY_MS) this.#forget(now);
    const name = shortCopy(clientId, this.limits.maxTextLength);
    const client = this.#clients.get(instanceId) ?? { clientId: name, forgetAtMs, series: new Map() };
    client.forgetAtMs = forgetAtMs;
    for (const point of points) this.#put(client, point);
    // Ids are free: those of which nothing is kept must not be kept either.
    if (client.series.size > 0) this.#clients.set(instanceId, client);
  }

  #put({ series }: ClientSeries, { name, attributes, value, isDelta }: Point): void {
    if (!this.#isSmall(name, attributes)) {
      this.dropped++;
      return;
    }
    const key = JSON.stringify([name, ...Object.entries(attributes).sort(([a], [b]) => a < b ? -1 : 1)]);
    const known = series.get(key);
    if (known !== undefined) known.value = isDelta ? known.value + value : value;
    else if (series.size >= this.limits.maxSeriesOfClient || this.#seriesCount >= this.limits.maxSeries) {
      this.dropped++;
    } else {
      series.set(key, { name, attributes, value });
      this.#seriesCount++;
    }
  }

  #isSmall(name: string, attributes: Readonly<Record<string, string>>): boolean {
    const { maxTextLength, maxAttributes } = this.limits;
    const pairs = Object.entries(attributes);
    return name.length <= maxTextLength && pairs.length <= maxAttributes &&
      pairs.every(([key, value]) => key.length <= maxTextLength && value.length <= maxTextLength);
  }

  #forget(now: number): void {
    this.#forgottenAtMs = now;
    for (const [id, { forgetAtMs, series }] of this.#clients) {
      if (forgetAtMs > now) continue;
      this.#clients.delete(id);
      this.#seriesCount -= series.size;
    }
  }

  /** Everything that is kept at `now`. The client's own labels do not go before those that name it. */
  all(now: number): ReceivedMetric[] {
    this.#forget(now);
    return [...this.#clients].flatMap(([id, { clientId, series }]) =>
      [...series.values()].map(({ name, attributes, value }) => ({
        name,
        labels: { ...attributes, client_instance_id: id, client_id: clientId },
        value,
      }))
    );
  }
}
