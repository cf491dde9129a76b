/** Numbers to tables: medians, ratios, the Markdown and the chart. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { parseStat, parseStatusBytes } from "../../bench/lib/process_stats.ts";
import { consumerMoved, producerRecordsPerSecond } from "../../bench/lib/real_clients.ts";
import { chart, markdownTable, type Report, rows, textTable, withTable } from "../../bench/lib/report.ts";
import { median, medianRatio, percentile, readable } from "../../bench/lib/statistics.ts";

const report: Report = {
  date: "2030-01-02T03:04:05.000Z",
  brokers: ["Trackway", "Kafka"],
  versions: {},
  machine: {},
  loadAverages: {},
  skipped: {},
  results: [
    {
      scenario: "start",
      metric: { name: "first answer", unit: "ms", better: "lower", aim: 0.05 },
      ours: [100, 120, 500],
      theirs: [3000, 3000, 3000],
    },
    {
      scenario: "16k",
      metric: { name: "produced", unit: "MB/s", better: "higher", aim: 1.2 },
      ours: [100],
      theirs: [200],
    },
    { scenario: "x", metric: { name: "y", unit: "s", better: "lower" }, ours: [1], theirs: [0] },
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

Deno.test("rows() marks an aim as met in the direction that is better", () => {
  assertEquals(rows(report).map((r) => [r.ours, r.theirs, r.ratio, r.aim]), [
    ["120 ms", "3000 ms", "0.040", "≤ 0.050 ✓"],
    ["100 MB/s", "200 MB/s", "0.50", "≥ 1.20"],
    ["1.00 s", "0.0 s", "–", ""],
  ]);
});

Deno.test("textTable() and markdownTable() have a line for each metric", () => {
  assertEquals(
    textTable(report).split("\n")[1],
    "start     first answer    120 ms   3000 ms  0.040  ≤ 0.050 ✓",
  );
  assertEquals(markdownTable(report).split("\n").slice(0, 3), [
    "| scenario | metric | Trackway | Kafka | ratio | aim |",
    "| --- | --- | ---: | ---: | ---: | ---: |",
    "| start | first answer | 120 ms | 3000 ms | 0.040 | ≤ 0.050 ✓ |",
  ]);
});

Deno.test("chart() has a bar for each ratio that is a number", () => {
  const svg = chart(report);
  assertEquals(svg.match(/×<\/text>/g)?.length, 2);
  assertEquals([...svg.matchAll(/>([\d.]+)×</g)].map((m) => m[1]), ["25.0", "0.50"]);
  assertEquals(/NaN|Infinity|undefined/.test(svg), false);
});

Deno.test("withTable() replaces what stands between the marks, and needs them", () => {
  const begins = "<!-- table: written by deno task bench --docs -->", ends = "<!-- end of table -->";
  const once = withTable(`a\n${begins}\nold\n${ends}\nb\n`, "new");
  assertEquals(once, `a\n${begins}\n\nnew\n\n${ends}\nb\n`);
  assertEquals(withTable(once, "new"), once);
  assertThrows(() => withTable("a", "new"), Error, "the document has no");
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
