/**
 * Records transcripts from a real broker: `deno run -A tests/coordinators/record_transcripts.ts PORT FILE...`. The
 * broker needs group.min.session.timeout.ms=200, group.max.size=3 and, for the file `initial_delay`,
 * group.initial.rebalance.delay.ms=1500, else 0. Read the diff before committing it.
 */
import { KafkaCoordinator } from "./kafka.ts";
import { scenarios, scenarioTopics, transcript } from "./scenarios.ts";
import { Stage } from "./stage.ts";

const [port, ...files] = Deno.args;
const run = Date.now().toString(36);
const kafka = new KafkaCoordinator(Number(port));
await kafka.prepare("warm-up", scenarioTopics);

/** Scenarios wait more than they work, so several run at a time. */
const AT_ONCE = 8;
const never = new Promise<void>(() => {});

for (const { file, scenarios: list } of scenarios.filter((one) => files.includes(one.file))) {
  const plays: { name: string; lines: string[] }[] = [];
  let next = 0;
  const play = async () => {
    for (let i = next++; i < list.length; i = next++) {
      const stage = new Stage(
        kafka,
        (ms, done) => Promise.race([done ?? never, new Promise<void>((resolve) => setTimeout(resolve, ms))]),
        `${run}-${file}-${i}`,
      );
      await list[i].play(stage);
      plays[i] = { name: list[i].name, lines: stage.lines };
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, play));
  await Deno.writeTextFile(new URL(`transcripts/${file}.txt`, import.meta.url), transcript(plays));
  console.log(`${file}: ${plays.length} scenarios`);
}
// Some scenarios end with a held request, whose connection nobody waits for.
Deno.exit(0);
