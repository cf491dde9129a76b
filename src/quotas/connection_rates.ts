/**
 * How often an address may connect: `connection_creation_rate` of an address, or the default one. A connection too many
 * is not served, and closed only after the time in which the rate comes down: a client that is refused at once would be
 * back at once.
 */
import type { ClientQuotas } from "../cluster/client_quotas.ts";
import { addressesOf } from "../cluster/ip_addresses.ts";
import { Meters } from "./meters.ts";
import { RateMeter } from "./rate_quota.ts";
import type { Windows } from "./rate.ts";

const NAME = "connection_creation_rate";

export class ConnectionRates {
  readonly #limits = new Map<string, number>();
  #default: number | null = null;
  readonly #meters: Meters<RateMeter>;

  constructor(windows: Windows) {
    this.#meters = new Meters((user, address, now) =>
      new RateMeter(user, address, now, windows, windows.sampleMs)
    );
  }

  /** Goes by these limits from now on; what was counted stays. */
  setLimits(all: Iterable<ClientQuotas>): void {
    this.#limits.clear();
    this.#default = null;
    for (const { entity: { ip }, quotas } of all) {
      const limit = quotas.get(NAME);
      if (limit === undefined || ip === undefined) continue;
      if (ip === null) this.#default = limit;
      else for (const address of addressesOf(ip) ?? []) this.#limits.set(address, limit);
    }
  }

  /** Counts a connection from `address`; for how long it is to be kept waiting before it is closed, 0 to let it in. */
  connectionMs(address: string, now: number): number {
    const limit = this.#limits.get(address) ?? this.#default;
    if (limit === null) return 0;
    const meter = this.#meters.of({ limit, user: "", clientId: address }, now);
    const throttleMs = meter.record(1, now);
    // It is not let in, so it does not count.
    if (throttleMs > 0) meter.note(-1, now);
    return throttleMs;
  }
}
