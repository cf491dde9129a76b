/**
 * `kill -9` in the middle of changes of metadata, one after the other: every start knows exactly the topics, settings and
 * partitions that were acknowledged (or, of the one change that was under way, either), and has a directory for each
 * partition and none besides. DURABILITY_SEED runs another course.
 */
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { BrokerProcess, PATIENCE_MS, withDataDir, within } from "./broker_process.ts";
import { Progress, Target } from "./target.ts";
import { TopicChurn } from "./topic_churn.ts";

const KILLS = 12;
/** A topic that was deleted has its setting no more when its directories are found at a start: then this one holds. */
const OPTIONS = { args: ["--set", "log.segment.delete.delay.ms=100"] };
const seed = Number(Deno.env.get("DURABILITY_SEED") ?? 60);

Deno.test("a broker that is killed in the middle of metadata changes knows what it acknowledged, and leaves no directory behind", async () => {
  await withDataDir(async (dataDir) => {
    const random = new Prng(seed);
    const [target, progress] = [new Target(), new Progress()];
    const churns = ["churn-x", "churn-y", "churn-z"].map((prefix) =>
      new TopicChurn({ random: random.fork(), target, progress, prefix })
    );
    let broker = await BrokerProcess.start(dataDir, 0, OPTIONS);
    const running = churns.map((churn) => churn.run());
    // Told by whatever waits for them.
    const failed = Promise.race(running.map((run) => run.then(() => new Promise<never>(() => {}))));
    failed.catch(() => {});
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        target.up(broker.port);
        await within(
          Promise.race([progress.more(random.between(3, 40)), failed]),
          "the changes",
          PATIENCE_MS,
        );
        // Somewhere in the next change.
        await new Promise((resolve) => setTimeout(resolve, random.between(0, 12)));
        target.ending();
        await broker.end("SIGKILL");
        broker = await BrokerProcess.start(dataDir, 0, OPTIONS);
        // A directory that the metadata does not know would be told of here.
        assertEquals(broker.warnings.filter((line) => !/cut \d+ bytes off the end of/.test(line)), []);
      }
      target.up(broker.port);
      await within(
        Promise.race([progress.more(20), failed]),
        "the changes after the last start",
        PATIENCE_MS,
      );
      target.stop();
      await within(Promise.all(running), "the end of the changes", PATIENCE_MS);
      const expected = churns.flatMap((churn) => churn.directories).sort();
      await untilDirectories(dataDir, expected);
    } catch (error) {
      const text = `With seed ${seed}: ${error instanceof Error ? error.stack : error}`;
      throw new Error(broker.described(text), { cause: error });
    } finally {
      await broker.end("SIGKILL");
    }
  });
});

/** Resolves when the data directory has these directories and no other: those of deleted topics go a little later. */
async function untilDirectories(dataDir: string, expected: readonly string[]): Promise<void> {
  const found = () =>
    [...Deno.readDirSync(dataDir)].filter(({ isDirectory }) => isDirectory).map(({ name }) => name).sort();
  for (const deadline = performance.now() + PATIENCE_MS;;) {
    if (found().join() === expected.join()) return;
    if (performance.now() > deadline) return assertEquals(found(), expected, "the directories");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
