/** docs/limits.md names settings and their defaults: both have to be what the broker has. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { brokerRows } from "../../src/config/broker.ts";
import { boundRows } from "../../src/config/broker_bounds.ts";
import type { SettingTable } from "../../src/config/setting.ts";
import { MAX_BYTES_PER_IDLE_CONNECTION, MAX_RSS_MIB } from "./promises.ts";

const text = await Deno.readTextFile(new URL("../../docs/limits.md", import.meta.url));
const rows = [...text.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]*) \| ([^|]+) \|$/gm)].map((row) =>
  row.slice(1).map((cell) => cell.trim())
);
const named = rows.filter(([, setting]) => setting.startsWith("`")).map(([, setting, standard]) =>
  [setting.slice(1, -1), standard] as const
);

Deno.test("docs/limits.md names settings that there are, with the defaults that they have", () => {
  assert(named.length > 15, `${named.length} settings`);
  for (const [name, standard] of named) {
    const row = (brokerRows as SettingTable)[name];
    assert(row !== undefined, `${name} is not a setting`);
    assertEquals([name, standard === "none" ? "" : standard], [name, row.defaultText]);
    assertEquals([name, row.unused], [name, false]);
  }
});

Deno.test("docs/limits.md has every bound that is Trackway's own setting", () => {
  assertEquals(Object.keys(boundRows).filter((name) => !named.some(([other]) => other === name)), []);
});

Deno.test("docs/limits.md promises what the tests hold the broker to", () => {
  assert(text.includes(`below ${MAX_RSS_MIB} MiB`));
  assert(text.includes(`${MAX_BYTES_PER_IDLE_CONNECTION / 1024} KB at most`));
});
