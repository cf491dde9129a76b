/** Tables of growth, and what a soak says of itself. */
import { assertEquals } from "@std/assert/equals";
import { growthLines, growthTables, growthText } from "../../bench/lib/growth.ts";
import { type Sample, type Soak, soakChart, unlevel } from "../../bench/lib/soak_chart.ts";

const rows = [
  { count: 0, memoryBytes: 50e6, cpuMs: 1, handles: 20 },
  { count: 100, madeMs: 30, memoryBytes: 51e6, cpuMs: 1.5, handles: 120 },
  { count: 1_000, madeMs: 300, memoryBytes: 60e6, cpuMs: 1.5, handles: 1020 },
];

Deno.test("growthLines() tells what each one since the step before costs, and leaves out empty columns", () => {
  assertEquals(growthLines("connections", rows), [
    ["connections", "made in", "memory", "one more", "idle CPU", "one more", "open files"],
    ["0", "", "50.0 MB", "", "1.00 ms/s", "", "20"],
    ["100", "30.0 ms", "51.0 MB", "10.0 kB", "1.50 ms/s", "5.00 µs/s", "120"],
    ["1,000", "300 ms", "60.0 MB", "10.0 kB", "1.50 ms/s", "0.0 µs/s", "1020"],
  ]);
});

Deno.test("growthTables() and growthText() have a line for each step", () => {
  const tables = growthTables({ groups: rows, connections: rows });
  assertEquals(tables.split("\n\n").map((table) => table.split("\n").length), [5, 5]);
  assertEquals(tables.startsWith("| connections | made in |"), true);
  assertEquals(growthText("connections", rows).split("\n").length, 4);
});

function soak(minutes: number, memoryMB: (seconds: number) => number): Soak {
  const samples: Sample[] = [];
  for (let seconds = 5; seconds <= minutes * 60; seconds += 5) {
    const latency = seconds % 100 === 0 ? { p50: null, p99: null } : { p50: 1, p99: 12 };
    const load = { cpuShare: 0.1, acked: seconds, consumed: seconds, waiting: 0, ...latency };
    samples.push({ seconds, memoryBytes: memoryMB(seconds) * 1e6, handles: 40, ...load });
  }
  return {
    ...{
      date: "2030-01-02",
      version: "abc",
      minutes,
      rate: 2000,
      acked: 5,
      consumed: 5,
      refused: 0,
      wrong: [],
    },
    samples,
    restarts: [{ seconds: 60, signal: "SIGKILL", awaySeconds: 1 }, {
      seconds: 120,
      signal: "SIGTERM",
      awaySeconds: 1,
    }],
  };
}

Deno.test("unlevel() names what rose from the first half to the second", () => {
  assertEquals(unlevel(soak(10, () => 100)), []);
  assertEquals(unlevel(soak(10, (seconds) => 100 + seconds / 10)), [
    "memory in MB rose from 130 to 160 under a steady load",
  ]);
  // Too short to tell growth from warming up.
  assertEquals(unlevel(soak(2, (seconds) => 100 + seconds)), []);
});

Deno.test("soakChart() has a line for each restart and leaves gaps for moments without records", () => {
  const svg = soakChart(soak(10, () => 100));
  assertEquals(svg.match(/stroke-dasharray/g)?.length, 2);
  assertEquals(svg.match(/<polyline/g)?.length, 5);
  assertEquals(/NaN|Infinity|undefined|null/.test(svg), false);
});
