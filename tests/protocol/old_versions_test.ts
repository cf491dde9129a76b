import { assertEquals } from "@std/assert/equals";
import { withoutDifferences } from "../differential/differences.ts";
import { run } from "../differential/scenario.ts";
import { freePortBroker } from "../lib/broker.ts";
import { oldRecordings } from "./old_recordings.ts";
import { oldVersionScenarios } from "./old_versions.ts";

const recorded = oldRecordings();

Deno.test("Trackway answers the versions that Kafka 4 took away as Kafka 3.9 did", async (t) => {
  await using broker = await freePortBroker();
  for (const [index, one] of oldVersionScenarios.entries()) {
    await t.step(one.name, async () => {
      const answers = await run(one, broker.port, `t${index}`);
      assertEquals(withoutDifferences(answers), withoutDifferences(recorded[one.name]));
    });
  }
});

Deno.test("every scenario of an old version has a recording, and no recording is left over", () => {
  assertEquals(Object.keys(recorded).sort(), oldVersionScenarios.map((one) => one.name).sort());
});
