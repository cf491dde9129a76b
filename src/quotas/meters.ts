/**
 * What has been counted for each client that a quota holds for. A meter that nobody used for an hour is forgotten, as in
 * Kafka, and there is a bound on their number, since clients choose their ids: the one that was quiet for longest goes.
 */
import { shortCopy } from "../base/short_copy.ts";
import type { FoundQuota } from "./quota_table.ts";

/** What a meter is of, and what its client was told. */
export interface Meter {
  readonly user: string;
  readonly clientId: string;
  limit: number;
  usedAtMs: number;
  /** How often the client was told to keep still, and for how long in all. */
  throttles: number;
  throttledMs: number;
}

/** Kafka's sensors live as long. */
const QUIET_MS = 3_600_000;
/** Enough for every client of a large broker; about 1 KB each. */
const MAX_METERS = 10_000;
/** Client ids may have 32 KB; those that begin alike for so long share a meter. */
const MAX_NAME_LENGTH = 255;

export class Meters<M extends Meter> {
  /** Those that were used last come last. */
  readonly #meters = new Map<string, M>();

  constructor(
    private readonly create: (user: string, clientId: string, now: number) => M,
    private readonly max = MAX_METERS,
  ) {}

  /** The meter for those that share `found`, with its limit. */
  of({ user, clientId, limit }: FoundQuota, now: number): M {
    const [userName, clientName] = [shortCopy(user, MAX_NAME_LENGTH), shortCopy(clientId, MAX_NAME_LENGTH)];
    const key = `${userName.length} ${userName}${clientName}`;
    let meter = this.#meters.get(key);
    if (meter === undefined) {
      this.#forgetQuiet(now);
      meter = this.create(userName, clientName, now);
    } else this.#meters.delete(key);
    this.#meters.set(key, meter);
    meter.limit = limit;
    meter.usedAtMs = now;
    return meter;
  }

  /** All that are not forgotten at `now`. */
  all(now: number): M[] {
    return [...this.#meters.values()].filter(({ usedAtMs }) => now - usedAtMs < QUIET_MS);
  }

  #forgetQuiet(now: number): void {
    for (const [key, { usedAtMs }] of this.#meters) {
      if (now - usedAtMs < QUIET_MS && this.#meters.size < this.max) return;
      this.#meters.delete(key);
    }
  }
}
