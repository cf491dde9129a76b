/**
 * What can be measured, and what Trackway aims at: its value by Kafka's in the same run. The one place for aims; they
 * are those of the issue "Fast and durable". CPU comes first in every scenario, since noise moves it least.
 */

export interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly better: "lower" | "higher";
  /** What Trackway's value divided by Kafka's should be at most (lower is better) or at least. */
  readonly aim?: number;
}

const lower = (name: string, unit: string, aim?: number): Metric => ({ name, unit, better: "lower", aim });
const higher = (name: string, unit: string, aim?: number): Metric => ({ name, unit, better: "higher", aim });

const PRODUCE_CPU = 0.4, CONSUME_CPU = 0.6, REQUEST_CPU = 0.25, THROUGHPUT = 1.2;
const START = 1 / 20, MEMORY = 1 / 5, IDLE_CPU = 1 / 10, P50 = 0.25, TAIL = 0.5;

export const metrics = {
  start: (what: string) => lower(what, "ms", START),
  memory: (what: string) => lower(what, "MB", MEMORY),
  idleCpu: lower("CPU, idle", "ms/s", IDLE_CPU),
  produceCpu: lower("broker CPU per GB produced", "s", PRODUCE_CPU),
  consumeCpu: lower("broker CPU per GB consumed", "s", CONSUME_CPU),
  requestCpu: lower("broker CPU per million requests", "s", REQUEST_CPU),
  rebalanceCpu: lower("broker CPU per rebalance", "ms", REQUEST_CPU),
  produced: higher("produced", "MB/s", THROUGHPUT),
  consumed: higher("consumed", "MB/s", THROUGHPUT),
  requests: higher("requests", "/s", THROUGHPUT),
  p50: (what: string) => lower(`p50 ${what}`, "ms", P50),
  p99: (what: string) => lower(`p99 ${what}`, "ms", TAIL),
  p999: (what: string) => lower(`p99.9 ${what}`, "ms", TAIL),
  /** Without an aim: worth knowing, or in another's hands (a client's, the disk's). */
  told: { lower, higher },
} as const;
