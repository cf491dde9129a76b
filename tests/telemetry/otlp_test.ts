/** OTLP as it is read: every kind of metric, and bytes that are none. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { Prng } from "../../src/base/prng.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { readMetrics } from "../../src/telemetry/otlp.ts";
import {
  attribute,
  double,
  gauge,
  histogram,
  int64,
  message,
  metricsData,
  number,
  sum,
  text,
} from "./otlp_writer.ts";

const read = (bytes: Uint8Array) => [...readMetrics(bytes)];

Deno.test("readMetrics() gives gauges, sums and the counts of histograms", () => {
  const bytes = metricsData(
    gauge("heap", 0.5, attribute(7, "area", text(1, "old"))),
    sum("sent", -3n, 1),
    sum("all", 2n ** 60n, 2),
    histogram("latency", 4n, 10.5, 1),
  );
  assertEquals(read(bytes), [
    { name: "heap", attributes: { area: "old" }, value: 0.5, isDelta: false },
    { name: "sent", attributes: {}, value: -3, isDelta: true },
    { name: "all", attributes: {}, value: 2 ** 60, isDelta: false },
    { name: "latency.count", attributes: {}, value: 4, isDelta: true },
    { name: "latency.sum", attributes: {}, value: 10.5, isDelta: true },
  ]);
});

Deno.test("readMetrics() gives exponential histograms and summaries by count and sum", () => {
  const exponential = [
    ...text(1, "e"),
    ...message(10, message(1, attribute(1, "k", text(1, "v")), int64(4, 2n), double(5, 3))),
  ];
  const summary = [
    ...text(1, "s"),
    ...message(11, message(1, int64(4, 7n), double(5, 8), attribute(7, "k", text(1, "w")))),
  ];
  assertEquals(
    read(metricsData(exponential, summary)).map(({ name, value, attributes }) => [name, value, attributes.k]),
    [
      ["e.count", 2, "v"],
      ["e.sum", 3, "v"],
      ["s.count", 7, "w"],
      ["s.sum", 8, "w"],
    ],
  );
});

Deno.test("readMetrics() takes a metric's name from behind its points, and whatever comes more than once", () => {
  const point = message(1, double(4, 1));
  assertEquals(read(metricsData([...message(5, point, point), ...text(1, "late")])).map(({ name }) => name), [
    "late",
    "late",
  ]);
});

Deno.test("readMetrics() gives attributes of every simple kind as text", () => {
  const bytes = metricsData(gauge(
    "g",
    1,
    attribute(7, "flag", number(2, 1)),
    attribute(7, "int", number(3, 12)),
    attribute(7, "double", double(4, 1.5)),
    attribute(7, "list", message(5, message(1, text(1, "x")))),
    attribute(7, "__proto__", text(1, "p")),
  ));
  const [{ attributes }] = read(bytes);
  assertEquals(Object.entries(attributes), [
    ["flag", "true"],
    ["int", "12"],
    ["double", "1.5"],
    ["list", ""],
    ["__proto__", "p"],
  ]);
});

Deno.test("readMetrics() steps over what it does not know, and gives nothing for nothing", () => {
  assertEquals(read(new Uint8Array(0)), []);
  const unknown = [...number(99, 1n << 63n), ...message(98, [1, 2]), ...double(97, 1), ...[
    96 * 8 % 128 + 5 | 128,
    6,
    0,
    0,
    0,
    0,
  ]];
  assertEquals(
    read(new Uint8Array([...unknown, ...metricsData(gauge("g", 1)), ...unknown])).map(({ name }) => name),
    ["g"],
  );
  // A point without a number.
  assertEquals(read(metricsData([...text(1, "g"), ...message(5, message(1))])), []);
});

const malformed: [string, readonly number[]][] = [
  ["field 0", [0, 0]],
  ["a length beyond the end", [10, 5, 1]],
  ["a length that is cut off", [10, 128]],
  ["a number that does not end", [8, ...Array(11).fill(128)]],
  ["eight bytes of which some are missing", [9, 1, 2]],
  ["a group, which is long gone", [11]],
  ["a resource that is a number", [8, 1]],
  ["a value of another kind", [...metricsData([...text(1, "g"), ...message(5, message(1, number(4, 1)))])]],
];

for (const [what, bytes] of malformed) {
  Deno.test(`readMetrics() refuses ${what}`, () => {
    assertThrows(() => read(new Uint8Array(bytes)), MalformedFrame);
  });
}

Deno.test("readMetrics() either reads or refuses bytes of which some are changed", () => {
  const random = new Prng(72);
  const sound = metricsData(
    gauge("heap", 0.5, attribute(7, "area", text(1, "old"))),
    sum("sent", 3n, 1),
    histogram("h", 1n, 2, 2),
  );
  for (let i = 0; i < 5000; i++) {
    const bytes = sound.slice(0, random.chance(0.25) ? random.int(sound.length) : sound.length);
    for (let flips = random.int(4); flips >= 0 && bytes.length > 0; flips--) {
      bytes[random.int(bytes.length)] = random.int(256);
    }
    try {
      assertEquals(read(bytes).length <= bytes.length, true);
    } catch (error) {
      if (!(error instanceof MalformedFrame)) throw new Error(`course ${i}: ${error}`, { cause: error });
    }
  }
});
