/** Arguments name areas: `deno test -A tests/differential -- produce fetch` holds only those against Kafka. */
import { assertEquals } from "@std/assert/equals";
import { freePortBroker } from "../lib/broker.ts";
import { byOracle, loadAreas } from "./areas.ts";
import { withoutDifferences } from "./differences.ts";
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
        assertEquals(withoutDifferences(answer), withoutDifferences(recorded[name]));
      });
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
