/** Numbers to tables: medians, ratios, the Markdown and the chart. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { parseStat, parseStatusBytes } from "../../bench/lib/process_stats.ts";
import { consumerMoved, producerRecordsPerSecond } from "../../bench/lib/real_clients.ts";
import { chart } from "../../bench/lib/chart.ts";
import { partitionsOf } from "../../bench/lib/load.ts";
import {
  caption,
  markdownTables,
  merged,
  type Report,
  rowOf,
  shortfall,
  shortOfAim,
  textTable,
  withTable,
} from "../../bench/lib/report.ts";
import { scenarioGroups } from "../../bench/lib/scenarios.ts";
import { median, medianRatio, percentile, readable } from "../../bench/lib/statistics.ts";

const measured = { date: "2030-01-02T03:04:05.000Z", load: 0.5, about: "what it does" };
const version = { ours: "abc", theirs: "4.4.0", deno: "2.9.6" };

const report: Report = {
  brokers: ["Trackway", "Kafka"],
  machine: { cores: 2, cpu: "a CPU", memoryGB: 8 },
  skipped: {},
  results: [
    {
      ...measured,
      version,
      group: "Starting",
      scenario: "start",
      metric: { name: "first answer", unit: "ms", better: "lower", aim: 0.05 },
      ours: [100, 120, 500],
      theirs: [3000, 3000, 3000],
    },
    {
      ...measured,
      version,
      group: "Batches",
      scenario: "16k",
      metric: { name: "produced", unit: "MB/s", better: "higher", aim: 1.2 },
      ours: [100],
      theirs: [200],
    },
    {
      ...measured,
      version,
      group: "Batches",
      scenario: "x",
      metric: { name: "y", unit: "s", better: "lower" },
      ours: [1],
      theirs: [0],
    },
  ],
};

Deno.test("median() is the middle value, or the mean of the middle two", () => {
  assertEquals([median([3, 1, 2]), median([4, 1, 2, 3]), median([])], [2, 2.5, NaN]);
});

Deno.test("percentile() is the smallest value that the share of values does not exceed", () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
  assertEquals([0, 0.5, 0.99, 1].map((share) => percentile(hundred, share)), [1, 50, 99, 100]);
  assertEquals(percentile([], 0.5), NaN);
});

Deno.test("medianRatio() compares values of the same turn", () => {
  // The machine was twice as slow in the second turn: the ratio is what it was.
  assertEquals(medianRatio([10, 20, 10], [5, 10, 5]), 2);
});

Deno.test("readable() keeps three digits", () => {
  assertEquals([1235.4, 123.4, 12.34, 1.234, 0.1234, 0, NaN].map(readable), [
    ...["1235", "123", "12.3", "1.23", "0.12", "0.0", "–"],
  ]);
});

Deno.test("rowOf() marks an aim as met in the direction that is better", () => {
  assertEquals(report.results.map(rowOf).map((r) => [r.ours, r.theirs, r.ratio, r.aim]), [
    ["120 ms", "3000 ms", "0.040", "≤ 0.050 ✓"],
    ["100 MB/s", "200 MB/s", "0.50", "≥ 1.20"],
    ["1.00 s", "0.0 s", "–", ""],
  ]);
});

Deno.test("shortOfAim() has what misses its aim, the furthest first", () => {
  const [start, produced] = report.results;
  assertEquals(shortOfAim(report), [produced]);
  const slow = { ...start, ours: [1500, 1500, 1500] };
  assertEquals(shortOfAim({ ...report, results: [produced, slow] }), [slow, produced]);
  assertEquals([shortfall(slow), shortfall(produced)], [10, 2.4]);
});

Deno.test("textTable() has a paragraph for each group", () => {
  assertEquals(textTable(report).split("\n"), [
    "scenario  metric        Trackway     Kafka  ratio        aim",
    "",
    "start     first answer    120 ms   3000 ms  0.040  ≤ 0.050 ✓",
    "",
    "16k       produced      100 MB/s  200 MB/s   0.50     ≥ 1.20",
    "x         y               1.00 s     0.0 s      –",
  ]);
});

Deno.test("markdownTables() has what misses its aim, and a table for each group", () => {
  const text = markdownTables(report);
  assertEquals(text.match(/^### .*$/gm), ["### Short of the aim", "### Starting", "### Batches"]);
  assertEquals(text.includes("1 of 2 aims are met. The others, the furthest first:"), true);
  assertEquals(text.includes("- **start**: what it does"), true);
  assertEquals(text.includes("| start | first answer | 120 ms | 3000 ms | 0.040 | ≤ 0.050 ✓ |"), true);
});

Deno.test("merged() keeps what was not measured anew, in the order of the scenarios", () => {
  const [start, produced, other] = report.results;
  const fresh = { ...start, ours: [1] };
  const whole = merged({ ...report, results: [other, start] }, { ...report, results: [produced, fresh] }, [
    ...["start", "16k", "x"],
  ]);
  assertEquals(whole.results, [fresh, produced, other]);
});

Deno.test("caption() names date, versions and machine", () => {
  assertEquals(
    caption(report),
    "2030-01-02: Trackway abc on Deno 2.9.6, Kafka 4.4.0; 2 cores (a CPU), 8 GB; " +
      "load average 0.5 to 0.5 while it ran.",
  );
});

Deno.test("chart() has a dot for each ratio that is a number, and a mark for each aim", () => {
  const svg = chart(report);
  assertEquals(svg.match(/stroke-width="3"/g)?.length, 2);
  assertEquals(svg.match(/class="ink aim"/g)?.length, 2);
  assertEquals(svg.includes(">25.0×<") && svg.includes(">0.50×<"), true);
  assertEquals(/NaN|Infinity|undefined/.test(svg), false);
});

Deno.test("withTable() replaces what stands between the marks of its name, and needs them", () => {
  const begins = "<!-- results: written by deno task bench --docs -->", ends = "<!-- end of results -->";
  const once = withTable(`a\n${begins}\nold\n${ends}\nb\n`, "results", "new");
  assertEquals(once, `a\n${begins}\n\nnew\n\n${ends}\nb\n`);
  assertEquals(withTable(once, "results", "new"), once);
  assertThrows(() => withTable(once, "growth", "new"), Error, "no marks for growth");
});

Deno.test("partitionsOf() gives every connection some and leaves none out", () => {
  for (const [connections, partitions] of [[3, 3], [3, 10], [1, 3], [100, 3], [3, 1000]]) {
    const own = Array.from({ length: connections }, (_, i) => partitionsOf(i, connections, partitions));
    assertEquals(own.every((some) => some.length > 0), true);
    assertEquals(new Set(own.flat()).size, partitions);
  }
});

Deno.test("scenarioGroups() has no name twice, so that each can be asked for", () => {
  const groups = scenarioGroups(".");
  const names = groups.flatMap((group) => [group.name, ...group.scenarios.map(({ name }) => name)]);
  assertEquals(new Set(names).size, names.length);
});

Deno.test("parseStat() is not misled by the name of a process", () => {
  const fields = ["S", ...Array.from({ length: 40 }, (_, i) => String(i + 4))];
  fields[14 - 3] = "250", fields[15 - 3] = "50", fields[22 - 3] = "12345";
  assertEquals(parseStat(`17 (a) b (c d) ${fields.join(" ")}`), { cpuSeconds: 3, startedSeconds: 123.45 });
});

Deno.test("parseStatusBytes() reads kB, and refuses a name that is not there", () => {
  const status = "Name:\tdeno\nVmHWM:\t  2000 kB\nVmRSS:\t   1000 kB\n";
  assertEquals(parseStatusBytes(status, "VmRSS"), 1_024_000);
  assertThrows(() => parseStatusBytes(status, "VmSwap"), Error, "VmSwap");
});

Deno.test("producerRecordsPerSecond() takes the last rate that the tool prints", () => {
  const said = "64993 records sent, 12998.6 records/sec (12.69 MB/sec), 1.2 ms avg latency\n" +
    "400000 records sent, 51234.5 records/sec (50.03 MB/sec), 2.5 ms avg latency, 9.0 ms max latency\n";
  assertEquals(producerRecordsPerSecond(said), 51234.5);
  assertThrows(() => producerRecordsPerSecond("nothing"), Error, "gave no rate");
});

Deno.test("consumerMoved() reads the columns by their names", () => {
  const said = "start.time, end.time, data.consumed.in.MB, MB.sec, fetch.time.ms, fetch.MB.sec\n" +
    "2030-01-01 00:00:00:000, 2030-01-01 00:00:03:000, 100.0000, 33.3, 2500, 40.0\n";
  assertEquals(consumerMoved(said), { bytes: 100 * 1024 * 1024, seconds: 2.5 });
  assertThrows(() => consumerMoved("nothing"), Error, "gave no table");
});
