/** A quota on a rate: bytes a second, or the part of a second that requests take. */
import type { ClientQuotas } from "../cluster/client_quotas.ts";
import { type Meter, Meters } from "./meters.ts";
import { type QuotaName, QuotaTable } from "./quota_table.ts";
import { Rate, throttleMs, type Windows } from "./rate.ts";

/** The rate of those who share a limit. */
export class RateMeter implements Meter {
  limit = Infinity;
  throttles = 0;
  throttledMs = 0;
  readonly #rate = new Rate();

  constructor(
    readonly user: string,
    readonly clientId: string,
    public usedAtMs: number,
    private readonly windows: Windows,
    private readonly maxThrottleMs: number,
  ) {}

  /** Counts `value` and gives for how long the client has to keep still, in whole milliseconds. */
  record(value: number, now: number): number {
    this.#rate.record(this.windows, value, now);
    const rate = this.#rate.measure(this.windows, now);
    if (rate <= this.limit) return 0;
    return Math.min(throttleMs(rate, this.limit, this.#rate.spanMs(this.windows, now)), this.maxThrottleMs);
  }

  /** Counts without looking whether it is too much; the next one that is judged feels it. Takes back what is negative. */
  note(value: number, now: number): void {
    this.#rate.record(this.windows, value, now);
  }

  /** What may come at once without being too much for certain, whatever came before. */
  get mostAtOnce(): number {
    return this.limit * (this.windows.samples - 1) * this.windows.sampleMs / 1000;
  }

  rate(now: number): number {
    return this.#rate.measure(this.windows, now);
  }
}

export class RateQuota {
  readonly #table: QuotaTable;
  readonly #meters: Meters<RateMeter>;

  constructor(
    readonly name: QuotaName,
    windows: Windows,
    /** No client is kept still for longer. */
    maxThrottleMs = Infinity,
  ) {
    this.#table = new QuotaTable([], name);
    this.#meters = new Meters((user, clientId, now) =>
      new RateMeter(user, clientId, now, windows, maxThrottleMs)
    );
  }

  /** Whether anybody has this quota. */
  get isSet(): boolean {
    return !this.#table.isEmpty;
  }

  /** Has these entities have what they have now; what was counted stays. */
  changeLimits(changed: Iterable<ClientQuotas>): void {
    this.#table.change(changed);
  }

  /** The meter of a client; null when it has no quota. */
  meter(user: string, clientId: string, now: number): RateMeter | null {
    const found = this.#table.find(user, clientId);
    return found === null ? null : this.#meters.of(found, now);
  }

  /** All meters that are in use. */
  meters(now: number): RateMeter[] {
    return this.#meters.all(now);
  }
}
