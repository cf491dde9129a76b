import { assertEquals } from "@std/assert/equals";
import { freePortBroker } from "../lib/broker.ts";
import { recordings } from "./recordings.ts";
import { run } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { withoutDifferences } from "./differences.ts";

const recorded = recordings();

Deno.test("Trackway answers as Kafka did", async (t) => {
  await using broker = await freePortBroker();
  for (const [index, one] of scenarios.entries()) {
    await t.step(one.name, async () => {
      const answers = await run(one, broker.port, `t${index}`);
      assertEquals(withoutDifferences(answers), withoutDifferences(recorded[one.name]));
    });
  }
});

Deno.test("every scenario has a recording, and no recording is left over", () => {
  assertEquals(Object.keys(recorded).sort(), scenarios.map((one) => one.name).sort());
});
