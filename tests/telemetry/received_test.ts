/** What is kept of clients' metrics, and no more. */
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { Instances } from "../../src/telemetry/instances.ts";
import { ReceivedMetrics } from "../../src/telemetry/received.ts";
import { telemetrySamples } from "../../src/telemetry/samples.ts";
import { Subscriptions } from "../../src/telemetry/subscriptions.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { gauge, metricsData, sum } from "./otlp_writer.ts";

const point = (name: string, value: number, isDelta = false, attributes: Record<string, string> = {}) => ({
  name,
  value,
  isDelta,
  attributes,
});
const client = { clientId: "app", softwareName: "s", softwareVersion: "1", address: "10.0.0.1", port: "5" };
const limits = { maxSeries: 3, maxSeriesOfClient: 2, maxTextLength: 5, maxAttributes: 1 };

Deno.test("ReceivedMetrics adds up what comes in parts and replaces what comes whole", () => {
  const received = new ReceivedMetrics();
  received.take("i", "app", [point("d", 2, true), point("g", 2)], 0, 100);
  received.take("i", "app", [point("d", 3, true), point("g", 3)], 1, 101);
  assertEquals(received.all(2), [
    { name: "d", labels: { client_instance_id: "i", client_id: "app" }, value: 5 },
    { name: "g", labels: { client_instance_id: "i", client_id: "app" }, value: 3 },
  ]);
});

Deno.test("ReceivedMetrics tells numbers apart by attributes in any order, and lets none pose as another client's", () => {
  const received = new ReceivedMetrics();
  received.take(
    "i",
    "app",
    [
      point("m", 1, false, { a: "1", b: "2" }),
      point("m", 2, false, { b: "2", a: "1" }),
      point("m", 3, false, { a: "2", client_id: "somebody" }),
    ],
    0,
    100,
  );
  assertEquals(received.all(0).map(({ labels, value }) => [labels.client_id, labels.a, value]), [[
    "app",
    "1",
    2,
  ], ["app", "2", 3]]);
});

Deno.test("ReceivedMetrics keeps so many numbers of a client, and of all", () => {
  const received = new ReceivedMetrics(limits);
  received.take("i", "app", [point("a", 1), point("b", 1), point("c", 1), point("a", 2)], 0, 100);
  assertEquals([received.seriesCount, received.dropped], [2, 1]);
  received.take("j", "app", [point("a", 1), point("b", 1)], 0, 100);
  assertEquals([received.seriesCount, received.dropped], [3, 2]);
});

Deno.test("ReceivedMetrics keeps no long names and not many attributes", () => {
  const received = new ReceivedMetrics(limits);
  received.take(
    "i",
    "application",
    [
      point("toolong", 1),
      point("a", 1, false, { k: "toolong" }),
      point("a", 1, false, { toolong: "v" }),
      point("a", 1, false, { k: "v", l: "v" }),
      point("a", 1, false, { k: "v" }),
    ],
    0,
    100,
  );
  assertEquals(received.all(0).map(({ labels }) => [labels.client_id, labels.k]), [["appli", "v"]]);
  assertEquals(received.dropped, 4);
});

Deno.test("ReceivedMetrics forgets a client after its time, and has room for others then", () => {
  const received = new ReceivedMetrics(limits);
  received.take("i", "app", [point("a", 1), point("b", 1)], 0, 100);
  received.take("j", "app", [point("a", 1)], 50, 150);
  assertEquals(received.all(99).length, 3);
  assertEquals(received.all(100).length, 1);
  received.take("k", "app", [point("a", 1), point("b", 1)], 120, 220);
  assertEquals([received.seriesCount, received.dropped], [3, 0]);
});

Deno.test("ReceivedMetrics keeps no client of which it keeps no number, however many ids push", () => {
  const received = new ReceivedMetrics(limits);
  for (let i = 0; i < 100; i++) received.take(`${i}`, "app", [point("toolong", 1)], 0, 1e9);
  assertEquals([received.clientCount, received.dropped], [0, 100]);
  for (let i = 0; i < 100; i++) received.take(`${i}`, "app", [point("a", 1)], 0, 1e9);
  assertEquals([received.clientCount, received.seriesCount], [3, 3]);
});

Deno.test("Instances have a bound, at which the one that was quiet for longest goes", () => {
  const instances = new Instances(new Subscriptions(), 2);
  const connection = { isOver: false };
  for (const [now, id] of ["a", "b", "a", "c"].entries()) instances.heard(id, client, connection, now);
  assertEquals([instances.count, ...["a", "b", "c"].map((id) => instances.has(id, 4))], [
    2,
    true,
    false,
    true,
  ]);
});

Deno.test("Instances are forgotten after three intervals, a minute at least, and with their connections", () => {
  const often = new Map([["metrics", "*"], ["interval.ms", "100"]]);
  const connection = { isOver: false };
  for (const [configs, quietMs] of [[[often], 60_000], [[], 900_000]] as const) {
    const instances = new Instances(new Subscriptions(configs));
    instances.heard("a", client, connection, 0);
    assertEquals([instances.has("a", quietMs), instances.has("a", quietMs + 1)], [true, false]);
  }
  const instances = new Instances(new Subscriptions());
  instances.heard("a", client, connection, 0);
  connection.isOver = true;
  assertEquals(instances.has("a", 0), false);
});

Deno.test("what clients pushed is among the broker's metrics, with how it went", () => {
  const clock = new ManualClock();
  const telemetry = new Telemetry(() => 2000, () => "abcdefghijklmnopqrstuA");
  const metrics = new Metrics();
  metrics.addSource(() => telemetrySamples(telemetry, clock.monotonic()));
  const connection = { isOver: false };
  const told = telemetry.ask("AAAAAAAAAAAAAAAAAAAAAA", client, connection, clock.monotonic());
  const subscriptionId = "wanted" in told ? told.wanted.subscriptionId : 0;
  const push = (bytes: Uint8Array) =>
    telemetry.push(
      {
        clientInstanceId: "abcdefghijklmnopqrstuA",
        subscriptionId,
        terminating: false,
        compressionType: 0,
        metrics: bytes,
      },
      client,
      connection,
      clock.monotonic(),
    );
  push(metricsData(gauge("org.apache.kafka.heap", 7), sum("org.apache.kafka.sent", 2n, 1)));
  push(metricsData(gauge("org.apache.kafka.heap", 8)));
  const labels = { client_instance_id: "abcdefghijklmnopqrstuA", client_id: "app" };
  assertEquals(metrics.snapshot().samples, [
    { name: "org.apache.kafka.heap", labels, value: 7 },
    { name: "org.apache.kafka.sent", labels, value: 2 },
    { name: "telemetry_client_instances", labels: {}, value: 1 },
    { name: "telemetry_pushes_total", labels: {}, value: 1 },
    { name: "telemetry_series", labels: {}, value: 2 },
    { name: "telemetry_dropped_total", labels: {}, value: 0 },
    { name: "telemetry_refused_pushes_total", labels: { error: "THROTTLING_QUOTA_EXCEEDED" }, value: 1 },
  ]);
});
