/**
 * The areas of the suite: each file in `areas/` is one, by its name. It exports `scenarios`, and `oracle` where Kafka
 * 4.4 with its defaults is not the broker to ask. Nothing else lists them, so that a new area is a new file.
 */
import { assert } from "../../src/base/assert.ts";
import type { Scenario } from "./scenario.ts";

/** Which Kafka is asked, and with which settings; Trackway runs with the same ones. */
export interface Oracle {
  /** The release, for what newer ones have dropped. */
  readonly kafka?: "3.9.1";
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Area {
  readonly name: string;
  readonly oracle: Oracle;
  readonly scenarios: readonly Scenario[];
}

const directory = new URL("./areas/", import.meta.url);

/** All areas, or those that are named. Throws for a name that no area has. */
export async function loadAreas(names: readonly string[] = []): Promise<Area[]> {
  const all = [...Deno.readDirSync(directory)].map((entry) => entry.name.replace(/\.ts$/, "")).sort();
  for (const name of names) assert(all.includes(name), `no area ${name}; there are ${all.join(", ")}`);
  const wanted = names.length === 0 ? all : names;
  return await Promise.all(wanted.map(async (name) => {
    const { scenarios, oracle = {} } = await import(new URL(`${name}.ts`, directory).href);
    return { name, oracle, scenarios };
  }));
}

/** Areas that one broker can serve, together. */
export function byOracle(areas: readonly Area[]): Area[][] {
  const groups = new Map<string, Area[]>();
  for (const area of areas) {
    const key = JSON.stringify(area.oracle);
    groups.set(key, [...groups.get(key) ?? [], area]);
  }
  return [...groups.values()];
}
