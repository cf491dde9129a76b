/** Client metrics subscriptions (KIP-714); texts and their order were observed at Apache Kafka 4.4.0. */
import { assertEquals } from "@std/assert/equals";
import { errorName } from "../../src/codec/errors.ts";
import { ClientMetricsSettings, validateClientMetrics } from "../../src/config/client_metrics.ts";

const interval = (value: string) =>
  `INVALID_REQUEST: Invalid value ${value} for interval.ms, interval must be between 100 and 3600000 (1 hour)`;
const pattern = (text: string) => `INVALID_CONFIG: Illegal client matching pattern: ${text}`;

const cases: [overrides: Record<string, string>, problem: string | null][] = [
  [{}, null],
  [{ "interval.ms": "100", "metrics": "*", "match": "client_id=x" }, null],
  [{ "interval.ms": " 3600000 " }, null],
  [{ "interval.ms": "99" }, interval("99")],
  [{ "interval.ms": "3600001" }, interval("3600001")],
  [
    { "interval.ms": "x" },
    "INVALID_CONFIG: Invalid value x for configuration interval.ms: Not a number of type INT",
  ],
  [{ "metrics": "a,,b" }, "INVALID_CONFIG: Configuration 'metrics' values must not be empty."],
  [{ "match": "" }, null],
  [{ "match": "client_software_name=apache.*,client_software_version=.*" }, null],
  [{ "match": " client_id = a " }, null],
  [{ "match": "client_id=" }, pattern("client_id=")],
  [{ "match": "CLIENT_ID=a" }, pattern("CLIENT_ID=a")],
  [{ "match": "client_id=a=b" }, pattern("client_id=a=b")],
  [{ "match": "client_id=[" }, pattern("client_id=[")],
  [{ "match": "client_id=a,x" }, pattern("x")],
  [{ "match": `client_id=${"a".repeat(255)}` }, null],
  [{ "match": `client_id=${"a".repeat(256)}` }, pattern(`client_id=${"a".repeat(256)}`)],
  // Names come first, then values in the order of the table, the interval, the patterns.
  [{ "interval.ms": "x", "zz": "1" }, "INVALID_REQUEST: Unknown client metrics configuration: zz"],
  [
    { "match": "bad", "interval.ms": "x" },
    "INVALID_CONFIG: Invalid value x for configuration interval.ms: Not a number of type INT",
  ],
  [{ "match": "bad", "interval.ms": "5" }, interval("5")],
];

for (const [overrides, expected] of cases) {
  Deno.test(`validateClientMetrics() says ${expected ?? "nothing"} of ${JSON.stringify(overrides)}`, () => {
    const problem = validateClientMetrics(new Map(Object.entries(overrides)));
    assertEquals(problem && `${errorName(problem.errorCode)}: ${problem.errorMessage}`, expected);
  });
}

Deno.test("ClientMetricsSettings reads what was set, and has defaults for the rest", () => {
  const set = new ClientMetricsSettings(
    new Map([["interval.ms", "1000"], ["metrics", "a., b."], [
      "match",
      "client_id=app-.*,client_source_port=1|2",
    ]]),
  );
  assertEquals([set.intervalMs, set.metrics], [1000, ["a.", "b."]]);
  const matches = (name: "client_id" | "client_source_port", text: string) => set.match.get(name)!.test(text);
  assertEquals([matches("client_id", "app-1"), matches("client_id", "my-app-1")], [true, false]);
  assertEquals([matches("client_source_port", "2"), matches("client_source_port", "12")], [true, false]);
  const unset = new ClientMetricsSettings(new Map());
  assertEquals([unset.intervalMs, unset.metrics, unset.match.size], [300000, [], 0]);
});

Deno.test("ClientMetricsSettings.describe() shows what was set with source 7, and defaults without synonyms", () => {
  const described = new ClientMetricsSettings(new Map([["metrics", " a , b,a"]])).describe([
    "metrics",
    "match",
    "zz",
  ]);
  assertEquals(
    described.map(({ name, value, source, synonyms, type }) => [name, value, source, synonyms, type]),
    [["metrics", "a,b", 7, [{ name: "metrics", value: "a,b", source: 7 }], 7], ["match", "", 5, [], 7]],
  );
});
