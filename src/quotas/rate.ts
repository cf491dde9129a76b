/**
 * The rate that a quota is compared with: what was counted in a number of samples, by the time that they cover. The
 * samples, and the time before the first of them, are taken as Kafka's `Rate` takes them, so that the same traffic is
 * throttled for the same time; tests/quotas/kafka_windows.txt holds what Kafka's own code computed.
 */

/** How far a quota looks back: `quota.window.num` samples of `quota.window.size.seconds` each. */
export interface Windows {
  readonly samples: number;
  readonly sampleMs: number;
}

interface Sample {
  startMs: number;
  lastEventMs: number;
  value: number;
}

/** A rate a second. All times are milliseconds of one clock, handed in. */
export class Rate {
  /** One more than the rate looks back over: the oldest counts as long as an event in it is recent enough. */
  readonly #samples: Sample[] = [];
  #current = 0;

  /** Counts `value` at `now`; a negative one takes back what was counted. */
  record({ samples, sampleMs }: Windows, value: number, now: number): void {
    let sample = this.#samples[this.#current];
    if (sample === undefined) this.#samples.push(sample = newSample(now));
    if (now - sample.startMs >= sampleMs) {
      this.#current = (this.#current + 1) % (samples + 1);
      if (this.#current >= this.#samples.length) this.#samples.push(sample = newSample(now));
      else reset(sample = this.#samples[this.#current], now);
    }
    sample.value += value;
    sample.lastEventMs = now;
  }

  /** What a second had on average up to `now`. */
  measure(windows: Windows, now: number): number {
    const spanMs = this.spanMs(windows, now);
    let sum = 0;
    for (const { value } of this.#samples) sum += value;
    return sum / (spanMs / 1000);
  }

  /**
   * The time that the rate is about. Samples that never were count as empty ones, so that a client that begins with a
   * burst has the whole window to make up for it.
   */
  spanMs({ samples, sampleMs }: Windows, now: number): number {
    this.#forgetOld(samples * sampleMs, now);
    let oldestMs = now;
    for (const { startMs } of this.#samples) oldestMs = Math.min(oldestMs, startMs);
    const elapsedMs = now - oldestMs;
    const missing = samples - 1 - Math.floor(elapsedMs / sampleMs);
    return Math.max(elapsedMs + Math.max(0, missing) * sampleMs, 1);
  }

  #forgetOld(ageMs: number, now: number): void {
    for (const sample of this.#samples) {
      if (now - sample.lastEventMs >= ageMs) reset(sample, now);
    }
  }
}

function newSample(now: number): Sample {
  return { startMs: now, lastEventMs: now, value: 0 };
}

function reset(sample: Sample, now: number): void {
  sample.startMs = sample.lastEventMs = now;
  sample.value = 0;
}

/** How long a client must keep still for its `rate` over `spanMs` to come down to `limit`; 0 when it is not above it. */
export function throttleMs(rate: number, limit: number, spanMs: number): number {
  return rate > limit ? Math.min(Math.round((rate - limit) / limit * spanMs), MAX_THROTTLE_MS) : 0;
}

/** What the field in an answer, and a timer, can hold. Kafka's number overflows there. */
export const MAX_THROTTLE_MS = 2 ** 31 - 1;
