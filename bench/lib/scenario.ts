/**
 * A scenario: what is measured, and how one broker is measured once. The runner (bench/run.ts) takes turns between the
 * brokers. bench/lib/scenarios.ts is the list.
 */
import type { BrokerKind, RunningBroker } from "./brokers.ts";
import type { Metric } from "./metrics.ts";

/** A broker under test. */
export interface Subject {
  readonly kind: BrokerKind;
  /** Running, but for scenarios that start it themselves. */
  readonly broker: RunningBroker | null;
  /** For topic names that were not used before. */
  readonly serial: () => number;
  /** Starts a broker of this kind for a scenario that is `alone`, on its data of before when it is called again. */
  readonly launch: (environment?: Readonly<Record<string, string>>) => Promise<RunningBroker>;
}

export interface Scenario {
  readonly name: string;
  /** One sentence for people. */
  readonly about: string;
  /** Fewer turns than asked for where they are long. */
  readonly maxRounds: number;
  /** Turns before the first one that counts: what is new to the brokers is compiled in them. */
  readonly warmUps: number;
  /** Starts its own brokers, and needs the machine without others. */
  readonly alone?: boolean;
  readonly metrics: readonly Metric[];
  /** A number for each metric, or why there is none. */
  readonly measure: (subject: Subject) => Promise<number[] | string>;
}

/** Scenarios that vary one thing; can be asked for together by the name. */
export interface Group {
  readonly name: string;
  readonly title: string;
  readonly scenarios: readonly Scenario[];
}

export const GIGABYTE = 1e9, MEGABYTE = 1e6;

/** The broker of a scenario that does not start its own. */
export function running({ broker, kind }: Subject): RunningBroker {
  if (broker === null) throw new Error(`${kind.name} is not running`);
  return broker;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
