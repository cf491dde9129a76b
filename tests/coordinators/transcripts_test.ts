/** The scenarios, played against the group service, give the transcripts that were recorded from Kafka. */
import { assertEquals } from "@std/assert/equals";
import { type Harness, harness, settled } from "./harness.ts";
import { scenarioConfig, scenarios } from "./scenarios.ts";
import { Stage } from "./stage.ts";

/** Lines that differ from Kafka's on purpose: what Kafka answers, and what we do. */
const deliberate: Record<string, readonly [kafka: string, ours: string]> = {
  // Kafka runs into an error of its own. With this answer a client starts anew, as a static member.
  "a pending member comes back with an instance id": [
    `a: join {"instance":"i"} -> UNKNOWN_SERVER_ERROR member=- gen=-1 leader=-`,
    `a: join {"instance":"i"} -> UNKNOWN_MEMBER_ID member=a.1 gen=-1 leader=-`,
  ],
};

for (const { file, initialDelayMs, scenarios: list } of scenarios) {
  const recorded = new Map(
    (await Deno.readTextFile(new URL(`transcripts/${file}.txt`, import.meta.url)))
      .split(/^== /m).slice(1).map((text) => {
        const [name, ...lines] = text.trimEnd().split("\n");
        return [name, lines] as const;
      }),
  );

  for (const { name, play } of list) {
    Deno.test(`groups answer as Kafka does: ${name}`, async () => {
      const h = harness({ ...scenarioConfig, groupInitialRebalanceDelayMs: initialDelayMs });
      const stage = new Stage(h.service, (ms, done) => pass(h, ms, done), "group");
      await play(stage);
      h.service.close();
      const [kafka, ours] = deliberate[name] ?? [];
      const expected = recorded.get(name)?.map((line) => line === kafka ? ours : line);
      assertEquals(stage.lines.join("\n"), expected?.join("\n"));
      assertEquals(h.problems, []);
    });
  }
}

/** Time on the test's clock, until `done`. Deadlines that are due at once come first, as they do in a real broker. */
async function pass(h: Harness, ms: number, done?: Promise<void>): Promise<void> {
  let isDone = false;
  done?.then(() => isDone = true);
  await settled();
  if (!isDone) await h.advance(0);
  if (!isDone) await h.advance(ms);
}
