/**
 * All client quotas of the broker. Nothing here waits or looks at a clock but the one that it is given: a quota says for
 * how long a client has to keep still, and the connection then is not read for as long (KIP-219).
 *
 * Whoever serves requests asks `isActive` first, so that quotas cost nothing as long as nobody has one.
 */
import type { ClientQuotas } from "../cluster/client_quotas.ts";
import { ConnectionRates } from "./connection_rates.ts";
import type { Meter } from "./meters.ts";
import { MutationQuota } from "./mutation_quota.ts";
import type { Windows } from "./rate.ts";
import { type RateMeter, RateQuota } from "./rate_quota.ts";

export interface QuotasOptions {
  /** `quota.window.num` and `quota.window.size.seconds`. */
  readonly windows: Windows;
  /** The same for changes of topics, `controller.quota.window.…`. */
  readonly mutationWindows: Windows;
  /** Milliseconds that only go forward. */
  readonly clock: () => number;
}

/** What is known of a quota of one client, or of those that share it. */
export interface QuotaUse {
  readonly quota: string;
  readonly user: string;
  readonly clientId: string;
  readonly limit: number;
  /** What a second has at the moment; null where tokens are counted and not a rate. */
  readonly rate: number | null;
  readonly throttles: number;
  readonly throttledMs: number;
}

export class Quotas {
  /** Whether any user or client id has a quota. */
  isActive = false;
  /** Bytes of produce requests. */
  readonly produce: RateQuota;
  /** Bytes of fetch answers. */
  readonly fetch: RateQuota;
  /**
   * Time that requests take, in percent of one thread's: 100 is all that there is, since one event loop serves everybody.
   * Kafka counts its network and request threads together, and has as many hundreds.
   */
  readonly request: RateQuota;
  readonly mutations: MutationQuota;
  readonly connections: ConnectionRates;
  /** Time of requests that no quota on time counts, while there are quotas. */
  exemptMs = 0;

  constructor({ windows, mutationWindows, clock }: QuotasOptions) {
    this.produce = new RateQuota("producer_byte_rate", windows);
    this.fetch = new RateQuota("consumer_byte_rate", windows);
    this.request = new RateQuota("request_percentage", windows, windows.sampleMs);
    this.mutations = new MutationQuota(mutationWindows, clock);
    this.connections = new ConnectionRates(windows);
  }

  /**
   * Goes by what the entities in `changed` have from now on. `all` has every entity, with these: it is looked through only
   * when addresses are among those, of which several may have the same limit.
   */
  change(changed: readonly ClientQuotas[], all: Iterable<ClientQuotas>): void {
    const kinds = [this.produce, this.fetch, this.request, this.mutations];
    for (const kind of kinds) kind.changeLimits(changed);
    if (changed.some(({ entity: { ip } }) => ip !== undefined)) this.connections.setLimits(all);
    this.isActive = kinds.some((kind) => kind.isSet);
  }

  /** Everybody whom a quota counted in the last hour. */
  uses(now: number): QuotaUse[] {
    const use = (quota: string, meter: Meter, rate: number | null): QuotaUse => {
      const { user, clientId, limit, throttles, throttledMs } = meter;
      return { quota, user, clientId, limit, rate, throttles, throttledMs };
    };
    return [
      ...[this.produce, this.fetch, this.request].flatMap((quota) =>
        quota.meters(now).map((meter) => use(quota.name, meter, meter.rate(now)))
      ),
      ...this.mutations.meters(now).map((meter) => use(this.mutations.name, meter, null)),
    ];
  }
}

/** What a second's quota on request time counts: `timeMs` of it as hundredths. */
export function percentOfSecond(timeMs: number): number {
  return timeMs / 10;
}

/** Counts `value` for those who have the quota; for how long the client has to keep still. */
export function recorded(meter: RateMeter | null, value: number, now: number): number {
  return meter === null ? 0 : meter.record(value, now);
}

/** Notes that the meter's client was told to keep still. */
export function throttled(meter: Meter | null, throttleMs: number): void {
  if (meter === null || throttleMs === 0) return;
  meter.throttles++;
  meter.throttledMs += throttleMs;
}
