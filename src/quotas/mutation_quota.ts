/**
 * The quota on changes of topics (KIP-599), in partitions made or deleted. What a request finds in its bucket when it
 * begins decides: newer versions are refused when that is a debt, older ones, which do not know the error, go through
 * and are throttled for what they owe afterwards.
 */
import type { ClientQuotas } from "../cluster/client_quotas.ts";
import { type Meter, Meters } from "./meters.ts";
import { QuotaTable } from "./quota_table.ts";
import { MAX_THROTTLE_MS, type Windows } from "./rate.ts";
import { TokenBucket } from "./token_bucket.ts";

const NAME = "controller_mutation_rate";

/** The bucket of those who share a limit. */
class BucketMeter implements Meter {
  limit = Infinity;
  throttles = 0;
  throttledMs = 0;
  readonly #bucket = new TokenBucket();

  constructor(
    readonly user: string,
    readonly clientId: string,
    public usedAtMs: number,
    private readonly windows: Windows,
  ) {}

  /** For how long the client has to keep still until its debt is paid. */
  debtMs(now: number): number {
    const tokens = this.#bucket.tokens(this.windows, this.limit, now);
    return tokens < 0 ? Math.min(Math.round(-tokens / this.limit * 1000), MAX_THROTTLE_MS) : 0;
  }

  take(count: number, now: number): void {
    this.#bucket.take(this.windows, this.limit, count, now);
  }
}

/** What one request may change. */
export class MutationAllowance {
  #throttleMs = 0;
  #judgedAtMs = 0;

  constructor(
    private readonly meter: BucketMeter | null,
    private readonly isStrict: boolean,
    private readonly clock: () => number,
  ) {}

  /** Counts that `partitions` are to be made or deleted; false when they must not be. */
  take(partitions: number): boolean {
    const { meter } = this;
    if (meter === null) return true;
    const now = this.clock();
    if (this.isStrict && this.#judge(meter, now) > 0) return false;
    meter.take(partitions, now);
    if (!this.isStrict) this.#judge(meter, now);
    return true;
  }

  #judge(meter: BucketMeter, now: number): number {
    const debtMs = meter.debtMs(now);
    if (debtMs > 0) {
      this.#throttleMs = debtMs;
      this.#judgedAtMs = now;
    }
    return debtMs;
  }

  /** For how long the client has to keep still from now on; time that has passed since is taken off. */
  throttleMs(): number {
    if (this.#throttleMs === 0) return 0;
    const left = Math.round(this.#throttleMs - (this.clock() - this.#judgedAtMs));
    if (left <= 0) return 0;
    this.meter!.throttles++;
    this.meter!.throttledMs += left;
    return left;
  }
}

export class MutationQuota {
  readonly name = NAME;
  readonly #table = new QuotaTable([], NAME);
  readonly #meters: Meters<BucketMeter>;

  constructor(windows: Windows, private readonly clock: () => number) {
    this.#meters = new Meters((user, clientId, now) => new BucketMeter(user, clientId, now, windows));
  }

  get isSet(): boolean {
    return !this.#table.isEmpty;
  }

  /** Has these entities have what they have now; debts stay. */
  changeLimits(changed: Iterable<ClientQuotas>): void {
    this.#table.change(changed);
  }

  /** What a request of this client may change; `isStrict` for versions that know THROTTLING_QUOTA_EXCEEDED. */
  allowance(user: string, clientId: string, isStrict: boolean): MutationAllowance {
    const found = this.#table.find(user, clientId);
    const meter = found === null ? null : this.#meters.of(found, this.clock());
    return new MutationAllowance(meter, isStrict, this.clock);
  }

  /** All meters that are in use. */
  meters(now: number): Meter[] {
    return this.#meters.all(now);
  }
}
