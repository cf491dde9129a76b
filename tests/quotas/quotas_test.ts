/** What quotas count and for how long they have clients keep still; no network, and a clock that the test turns. */
import { assertEquals } from "@std/assert/equals";
import { MAX_THROTTLE_MS } from "../../src/quotas/rate.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { percentOfSecond, throttled } from "../../src/quotas/quotas.ts";
import { quotaSamples } from "../../src/quotas/samples.ts";
import { Meters } from "../../src/quotas/meters.ts";
import { noQuotas, quotasOf, quotasWith, setQuotas } from "./support.ts";

const HOUR_MS = 3_600_000;

Deno.test("Quotas are not active until a user or a client id has one", () => {
  const quotas = noQuotas();
  setQuotas(quotas, [{ ip: null }, { connection_creation_rate: 5 }]);
  assertEquals(quotas.isActive, false);
  setQuotas(quotas, [{ user: "ada" }, { producer_byte_rate: 5 }]);
  assertEquals(quotas.isActive, true);
  setQuotas(quotas, [{ user: "ada" }, {}]);
  assertEquals(quotas.isActive, false);
});

Deno.test("Quotas look at what has changed alone, but where addresses are among it", () => {
  const quotas = noQuotas();
  let looks = 0;
  const all = {
    *[Symbol.iterator]() {
      looks++;
      yield* quotasOf([{ ip: "10.0.0.1" }, { connection_creation_rate: 1 }]);
    },
  };
  quotas.change(quotasOf([{ user: "ada" }, { producer_byte_rate: 5 }]), all);
  assertEquals([looks, quotas.isActive], [0, true]);
  quotas.change(quotasOf([{ ip: "10.0.0.1" }, { connection_creation_rate: 1 }]), all);
  assertEquals([looks, quotas.connections.connectionMs("10.0.0.1", 0)], [1, 0]);
});

Deno.test("a quota lets a burst pass that its whole window has room for, and then throttles by the excess", () => {
  const { quotas, clock } = quotasWith([{ "client-id": "app" }, { producer_byte_rate: 1000 }]);
  const record = (bytes: number) =>
    quotas.produce.meter("ada", "app", clock.monotonic())!.record(bytes, clock.monotonic());
  // Ten samples that never were, and the one that has just begun.
  assertEquals(record(10_000), 0);
  assertEquals(record(1000), 1000);
  clock.advance(11_000);
  assertEquals(record(0), 0);
});

Deno.test("all clients of a user share the user's quota, each client id one for client ids", () => {
  const { quotas, clock } = quotasWith([{ user: "ada" }, { producer_byte_rate: 1000 }], [{
    "client-id": null,
  }, {
    producer_byte_rate: 1000,
  }]);
  const now = clock.monotonic();
  const throttle = (user: string, client: string) =>
    quotas.produce.meter(user, client, now)!.record(8000, now);
  assertEquals(throttle("ada", "a"), 0);
  assertEquals(throttle("ada", "b"), 6000);
  assertEquals(throttle("bob", "a"), 0);
  assertEquals(throttle("bob", "b"), 0);
  assertEquals(throttle("eve", "a"), 6000);
});

Deno.test("a quota that is changed holds for what was counted before", () => {
  const { quotas, clock } = quotasWith([{ user: "ada" }, { producer_byte_rate: 1000 }]);
  const now = clock.monotonic();
  assertEquals(quotas.produce.meter("ada", "", now)!.record(9000, now), 0);
  setQuotas(quotas, [{ user: "ada" }, { producer_byte_rate: 100 }]);
  assertEquals(quotas.produce.meter("ada", "", now)!.record(0, now), 80_000);
});

Deno.test("request time above its percentage throttles for one sample at most", () => {
  const { quotas, clock } = quotasWith([{ user: "ada" }, { request_percentage: 1 }]);
  const now = clock.monotonic();
  const meter = quotas.request.meter("ada", "app", now)!;
  // A percent of the ten seconds of the window is 100 ms.
  assertEquals(meter.record(percentOfSecond(100), now), 0);
  assertEquals(meter.record(percentOfSecond(1), now), 100);
  assertEquals(meter.record(percentOfSecond(10_000), now), 1000);
});

Deno.test("no throttle time is longer than an answer can tell", () => {
  const { quotas, clock } = quotasWith([{ user: "ada" }, {
    producer_byte_rate: 1,
    controller_mutation_rate: 1e-9,
  }]);
  const now = clock.monotonic();
  assertEquals(quotas.produce.meter("ada", "", now)!.record(1e15, now), MAX_THROTTLE_MS);
  const allowance = quotas.mutations.allowance("ada", "", false);
  allowance.take(5);
  assertEquals(allowance.throttleMs(), MAX_THROTTLE_MS);
});

// ---- Changes of topics

Deno.test("a strict allowance refuses once the bucket is in debt, and takes nothing then", () => {
  const { quotas, clock } = quotasWith([{ user: "ada" }, { controller_mutation_rate: 2 }]);
  const strict = () => quotas.mutations.allowance("ada", "app", true);
  const first = strict();
  // 22 tokens are in the bucket; the request that empties it still passes.
  assertEquals([first.take(20), first.take(6), first.take(1), first.throttleMs()], [true, true, false, 2000]);
  clock.advance(1000);
  const second = strict();
  assertEquals([second.take(1), second.throttleMs()], [false, 1000]);
  clock.advance(1000);
  const third = strict();
  assertEquals([third.take(1), third.throttleMs()], [true, 0]);
});

Deno.test("a permissive allowance lets everything pass and throttles by the debt", () => {
  const { quotas, clock } = quotasWith([{ user: "ada" }, { controller_mutation_rate: 2 }]);
  const allowance = quotas.mutations.allowance("ada", "app", false);
  assertEquals([allowance.take(22), allowance.throttleMs()], [true, 0]);
  assertEquals([allowance.take(10), allowance.take(10)], [true, true]);
  clock.advance(500);
  // The time that the request took is taken off.
  assertEquals(allowance.throttleMs(), 9500);
});

Deno.test("who has no quota on changes is never throttled for them", () => {
  const { quotas } = quotasWith([{ user: "ada" }, { controller_mutation_rate: 2 }]);
  const allowance = quotas.mutations.allowance("bob", "app", true);
  assertEquals([allowance.take(1e6), allowance.take(1e6), allowance.throttleMs()], [true, true, 0]);
});

// ---- Connections

Deno.test("connections beyond an address's rate wait for a sample at most and do not count", () => {
  const { quotas, clock } = quotasWith([{ ip: "10.0.0.1" }, { connection_creation_rate: 2 }]);
  const connect = (address = "10.0.0.1") => quotas.connections.connectionMs(address, clock.monotonic());
  for (let i = 0; i < 20; i++) assertEquals(connect(), 0);
  for (let i = 0; i < 5; i++) assertEquals(connect(), 500);
  assertEquals(connect("10.0.0.2"), 0);
  clock.advance(500);
  assertEquals(connect(), 0);
});

Deno.test("an address's own rate goes before the default one, in whatever form it is written", () => {
  const { quotas, clock } = quotasWith(
    [{ ip: null }, { connection_creation_rate: 1 }],
    [{ ip: "::FFFF:10.0.0.1" }, { connection_creation_rate: 1000 }],
    [{ ip: "2001:DB8:0::7" }, { connection_creation_rate: 1000 }],
  );
  const burst = (address: string) => {
    let throttled = 0;
    for (let i = 0; i < 11; i++) {
      throttled += quotas.connections.connectionMs(address, clock.monotonic()) > 0 ? 1 : 0;
    }
    return throttled;
  };
  assertEquals(burst("10.0.0.1"), 0);
  assertEquals(burst("2001:db8::7"), 0);
  assertEquals(burst("10.0.0.2"), 1);
  assertEquals(burst("10.0.0.3"), 1);
});

// ---- Bounds

Deno.test("Meters forget who was quiet for an hour", () => {
  const meters = new Meters(meterOf);
  meters.of({ user: "ada", clientId: "", limit: 1 }, 0);
  meters.of({ user: "bob", clientId: "", limit: 1 }, 1000);
  assertEquals(meters.all(HOUR_MS - 1).map(({ user }) => user), ["ada", "bob"]);
  assertEquals(meters.all(HOUR_MS).map(({ user }) => user), ["bob"]);
  meters.of({ user: "eve", clientId: "", limit: 1 }, HOUR_MS);
  assertEquals(meters.all(0).map(({ user }) => user), ["bob", "eve"]);
});

Deno.test("Meters have a bound, at which the one that was quiet for longest goes", () => {
  const meters = new Meters(meterOf, 2);
  const of = (clientId: string) => meters.of({ user: "", clientId, limit: 1 }, 0);
  const a = of("a");
  of("b");
  assertEquals(of("a") === a, true);
  of("c");
  assertEquals(meters.all(0).map(({ clientId }) => clientId), ["a", "c"]);
});

Deno.test("Meters tell clients apart by 255 characters of their names, and users from client ids", () => {
  const meters = new Meters(meterOf);
  const long = "x".repeat(255);
  const one = meters.of({ user: "", clientId: `${long}1`, limit: 1 }, 0);
  assertEquals(meters.of({ user: "", clientId: `${long}2`, limit: 1 }, 0) === one, true);
  assertEquals(
    meters.of({ user: "ab", clientId: "c", limit: 1 }, 0) ===
      meters.of({ user: "a", clientId: "bc", limit: 1 }, 0),
    false,
  );
});

function meterOf(user: string, clientId: string, now: number) {
  return { user, clientId, limit: 0, usedAtMs: now, throttles: 0, throttledMs: 0 };
}

// ---- What is told

Deno.test("Quotas.uses() tells rate, limit and throttling of everybody who was counted", () => {
  const { quotas, clock } = quotasWith(
    [{ user: "ada" }, { producer_byte_rate: 1000, controller_mutation_rate: 1 }],
    [{ "client-id": null }, { request_percentage: 50 }],
  );
  const now = clock.monotonic();
  quotas.produce.meter("ada", "app", now)!.record(5000, now);
  quotas.request.meter("bob", "app", now)!.record(1, now);
  const allowance = quotas.mutations.allowance("ada", "app", false);
  allowance.take(13);
  allowance.throttleMs();
  assertEquals(quotas.uses(now), [
    {
      quota: "producer_byte_rate",
      user: "ada",
      clientId: "",
      limit: 1000,
      rate: 500,
      throttles: 0,
      throttledMs: 0,
    },
    {
      quota: "request_percentage",
      user: "",
      clientId: "app",
      limit: 50,
      rate: 0.1,
      throttles: 0,
      throttledMs: 0,
    },
    {
      quota: "controller_mutation_rate",
      user: "ada",
      clientId: "",
      limit: 1,
      rate: null,
      throttles: 1,
      throttledMs: 2000,
    },
  ]);
});

Deno.test("the use of quotas is among the broker's metrics", () => {
  const { quotas, clock } = quotasWith([{ user: "ada" }, { producer_byte_rate: 1000 }]);
  const metrics = new Metrics();
  metrics.addSource(() => quotaSamples(quotas, clock.monotonic()));
  const meter = quotas.produce.meter("ada", "app", clock.monotonic())!;
  throttled(meter, meter.record(12_000, clock.monotonic()));
  const labels = { quota: "producer_byte_rate", user: "ada", client_id: "" };
  assertEquals(metrics.snapshot().samples, [
    { name: "client_quota_limit", labels, value: 1000 },
    { name: "client_quota_rate", labels, value: 1200 },
    { name: "client_quota_throttles_total", labels, value: 1 },
    { name: "client_quota_throttled_ms_total", labels, value: 2000 },
    { name: "client_quota_exempt_ms_total", labels: {}, value: 0 },
  ]);
});
