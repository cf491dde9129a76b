/**
 * Clients that send as fast as they may, under a clock that the test turns: what comes through is the quota, whatever the
 * size of a request, however many share it, and however it changes.
 */
import { assertEquals } from "@std/assert/equals";
import { assert } from "@std/assert/assert";
import { Prng } from "../../src/base/prng.ts";
import { quotasWith, setQuotas } from "./support.ts";

const MINUTE_MS = 60_000;

interface Sender {
  readonly clientId: string;
  /** When it may send next. */
  atMs: number;
  readonly bytes: () => number;
}

/** Has all of them send until `untilMs`, each as soon as it may; gives what came through from `fromMs` on, a second. */
function rateOf(
  senders: Sender[],
  record: (clientId: string, bytes: number, now: number) => number,
  fromMs: number,
  untilMs: number,
): number {
  let sum = 0;
  for (;;) {
    const next = senders.reduce((first, one) => one.atMs < first.atMs ? one : first);
    if (next.atMs >= untilMs) return sum / ((untilMs - fromMs) / 1000);
    const bytes = next.bytes(), now = next.atMs;
    if (now >= fromMs) sum += bytes;
    // A request takes its time too.
    next.atMs += record(next.clientId, bytes, now) + 1;
  }
}

function within(rate: number, limit: number, part: number, what: string): void {
  assert(Math.abs(rate / limit - 1) <= part, `${what}: ${rate} a second, the quota is ${limit}`);
}

for (const [what, bytes] of [["small", 200], ["middling", 20_000], ["large", 400_000]] as const) {
  Deno.test(`a producer gets its quota by ${what} requests`, () => {
    const { quotas, clock } = quotasWith([{ "client-id": "a" }, { producer_byte_rate: 100_000 }]);
    const start = clock.monotonic();
    const record = (clientId: string, size: number, now: number) =>
      quotas.produce.meter("ada", clientId, now)!.record(size, now);
    const sender = { clientId: "a", atMs: start, bytes: () => bytes };
    // The first window has a burst in it.
    within(rateOf([sender], record, start + MINUTE_MS, start + 6 * MINUTE_MS), 100_000, 0.1, what);
  });
}

Deno.test("clients of one user share its quota, and those of client ids have one each", () => {
  for (const [entity, limit] of [[{ user: "ada" }, 1], [{ "client-id": null }, 3]] as const) {
    const { quotas, clock } = quotasWith([entity, { producer_byte_rate: 100_000 }]);
    const start = clock.monotonic();
    const senders = ["a", "b", "c"].map((clientId) => ({ clientId, atMs: start, bytes: () => 5000 }));
    const record = (clientId: string, bytes: number, now: number) =>
      quotas.produce.meter("ada", clientId, now)!.record(bytes, now);
    within(
      rateOf(senders, record, start + MINUTE_MS, start + 6 * MINUTE_MS),
      limit * 100_000,
      0.1,
      JSON.stringify(entity),
    );
  }
});

Deno.test("a consumer whose answers are held back when they are too much gets its quota", () => {
  const { quotas, clock } = quotasWith([{ user: null }, { consumer_byte_rate: 100_000 }]);
  const start = clock.monotonic();
  let sent = 0;
  const record = (clientId: string, bytes: number, now: number) => {
    const meter = quotas.fetch.meter("ada", clientId, now)!;
    const throttleMs = meter.record(bytes, now);
    if (throttleMs > 0) meter.note(-bytes, now);
    else if (now >= start + MINUTE_MS) sent += bytes;
    return throttleMs;
  };
  rateOf([{ clientId: "a", atMs: start, bytes: () => 30_000 }], record, start, start + 6 * MINUTE_MS);
  within(sent / 300, 100_000, 0.1, "consumer");
});

Deno.test("a quota that changes is what comes through a window later", () => {
  const { quotas, clock } = quotasWith([{ user: "ada" }, { producer_byte_rate: 100_000 }]);
  const start = clock.monotonic();
  const sender = { clientId: "a", atMs: start, bytes: () => 5000 };
  const record = (clientId: string, bytes: number, now: number) =>
    quotas.produce.meter("ada", clientId, now)!.record(bytes, now);
  let from = start;
  for (const limit of [100_000, 20_000, 500_000, 50_000]) {
    setQuotas(quotas, [{ user: "ada" }, { producer_byte_rate: limit }]);
    // Down from a larger quota, all of the window is too much at first.
    within(rateOf([sender], record, from + 3 * MINUTE_MS, from + 8 * MINUTE_MS), limit, 0.1, `${limit}`);
    from += 8 * MINUTE_MS;
    sender.atMs = Math.max(sender.atMs, from);
  }
});

Deno.test("changes of topics come through at their rate, strict or not", () => {
  for (const isStrict of [true, false]) {
    const { quotas, clock } = quotasWith([{ user: "ada" }, { controller_mutation_rate: 2 }]);
    let made = 0;
    const random = new Prng(599);
    // The bucket's burst comes on top.
    for (let elapsed = 0; elapsed < 10 * MINUTE_MS;) {
      const allowance = quotas.mutations.allowance("ada", "app", isStrict);
      const partitions = 1 + random.int(30);
      if (allowance.take(partitions)) made += partitions;
      const waitMs = allowance.throttleMs() + 1;
      clock.advance(waitMs);
      elapsed += waitMs;
    }
    const burst = 22 + 30;
    assert(made >= 1200 * 0.95 && made <= 1200 * 1.05 + burst, `strict ${isStrict}: ${made} partitions`);
  }
});

Deno.test("what is counted is the same in any order of clients that do not share", () => {
  const random = new Prng(7);
  const events = Array.from(
    { length: 500 },
    (_, i) => ({ at: i * 37, client: "abc"[random.int(3)], bytes: random.int(9000) }),
  );
  const together = quotasWith([{ "client-id": null }, { producer_byte_rate: 10_000 }]).quotas;
  const throttles = events.map(({ at, client, bytes }) =>
    together.produce.meter("", client, at)!.record(bytes, at)
  );
  for (const alone of "abc") {
    const { quotas } = quotasWith([{ "client-id": null }, { producer_byte_rate: 10_000 }]);
    const own = events.flatMap((event, i) =>
      event.client === alone ? [{ ...event, throttle: throttles[i] }] : []
    );
    for (const { at, bytes, throttle } of own) {
      assertEquals(quotas.produce.meter("", alone, at)!.record(bytes, at), throttle);
    }
  }
});
