/** Rates and token buckets against what Kafka 4.4's own classes computed for the same events (KafkaWindows.java). */
import { assertEquals } from "@std/assert/equals";
import { Rate, throttleMs } from "../../src/quotas/rate.ts";
import { TokenBucket } from "../../src/quotas/token_bucket.ts";

interface Course {
  readonly kind: string;
  readonly windows: { samples: number; sampleMs: number };
  readonly limit: number;
  /** Lines of numbers: the time, the value, and what Kafka made of it. */
  readonly events: number[][];
}

function courses(): Course[] {
  const all: Course[] = [];
  for (
    const line of Deno.readTextFileSync(new URL("kafka_windows.txt", import.meta.url)).trim().split("\n")
  ) {
    const [first, ...rest] = line.split(" ");
    const numbers = rest.map(Number);
    if (/^\d/.test(first)) all.at(-1)!.events.push([Number(first), ...numbers]);
    else {
      const [samples, seconds, limit] = numbers;
      all.push({ kind: first, windows: { samples, sampleMs: seconds * 1000 }, limit, events: [] });
    }
  }
  return all;
}

Deno.test("Rate gives the rates, spans and throttle times of Kafka's", () => {
  for (const { kind, windows, limit, events } of courses()) {
    if (kind !== "rate") continue;
    const rate = new Rate();
    for (const [now, value, ...kafka] of events) {
      rate.record(windows, value, now);
      const measured = rate.measure(windows, now), spanMs = rate.spanMs(windows, now);
      assertEquals(
        [measured, spanMs, throttleMs(measured, limit, spanMs)],
        kafka,
        `${JSON.stringify(windows)} ${now}`,
      );
    }
  }
});

Deno.test("TokenBucket has as many tokens as Kafka's, before and after", () => {
  for (const { kind, windows, limit, events } of courses()) {
    if (kind !== "bucket") continue;
    const bucket = new TokenBucket();
    for (const [now, count, ...kafka] of events) {
      const before = bucket.tokens(windows, limit, now);
      bucket.take(windows, limit, count, now);
      const rounded = (numbers: number[]) => numbers.map((n) => n.toFixed(9));
      assertEquals(rounded([before, bucket.tokens(windows, limit, now)]), rounded(kafka), `${limit} ${now}`);
    }
  }
});

Deno.test("the courses hold traffic above and below its quota, and debts", () => {
  const all = courses();
  const rates = all.filter(({ kind }) => kind === "rate").flatMap(({ events }) => events);
  const buckets = all.filter(({ kind }) => kind === "bucket").flatMap(({ events }) => events);
  assertEquals(
    rates.some(([, , , , throttle]) => throttle > 0) && rates.some(([, , , , t]) => t === 0),
    true,
  );
  assertEquals(
    buckets.some(([, , , after]) => after < 0) && buckets.some(([, , , after]) => after > 0),
    true,
  );
});

Deno.test("throttleMs() has a bound that an answer can carry", () => {
  assertEquals(throttleMs(1e12, 1, 11_000), 2 ** 31 - 1);
});
