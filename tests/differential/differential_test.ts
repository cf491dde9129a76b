/** Arguments name areas: `deno test -A tests/differential -- produce fetch` holds only those against Kafka. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { freePortBroker } from "../lib/broker.ts";
import { differencesOf } from "./compare.ts";
import { byOracle, loadAreas } from "./areas.ts";
import { comparable, excused, ownAnswers } from "./differences.ts";
import { readRecordings } from "./recordings.ts";
import { runAll } from "./scenario.ts";

const areas = await loadAreas(Deno.args);

for (const together of byOracle(areas)) {
  const names = together.map((area) => area.name).join(", ");
  Deno.test(`Trackway answers as Kafka did: ${names}`, async (t) => {
    await using broker = await freePortBroker(together[0].oracle.settings);
    const scenarios = together.flatMap((area) => area.scenarios);
    const answers = await runAll(scenarios, broker.port);
    const recorded = Object.assign({}, ...together.map((area) => readRecordings(area.name)));
    for (const [index, { name }] of scenarios.entries()) {
      await t.step(name, () => {
        const answer = answers[index];
        if (answer instanceof Error) throw answer;
        assertEquals(comparable(name, answer), comparable(name, recorded[name]));
      });
      for (const rule of ownAnswers.filter((one) => one.scenario === name)) {
        await t.step(`… where Trackway still differs: ${rule.why}`, () => {
          const [kafka, own] = [recorded[name], answers[index] as unknown[]].map((all) => excused(rule, all));
          assert(differencesOf(kafka, own).length > 0, "it does not, so that the rule can go");
        });
      }
    }
  });
}

Deno.test("every scenario has one recording in its area's file, and no recording is left over", () => {
  for (const { name, scenarios } of areas) {
    assertEquals(Object.keys(readRecordings(name)).sort(), scenarios.map((one) => one.name).sort(), name);
  }
});

Deno.test("no two scenarios have the same name", () => {
  const names = areas.flatMap((area) => area.scenarios.map((one) => one.name));
  assertEquals([...new Set(names)], names);
});
