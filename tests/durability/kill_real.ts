/**
 * Unmodified Kafka clients at work while the broker is ended again and again, with `kill -9` for the most part: idempotent
 * producers and plain ones, and groups that read and commit. All that they saw goes into a history file, and the
 * checker's word on it is the result. `deno task durability:kill` runs it for as long as one likes.
 */
import { type CourseOptions, type CourseResult, pause, runCourse } from "../clients/course.ts";

/** Small segments and dense indexes, so that there is much to roll and to rebuild. */
const CONFIGS = { "internal.segment.bytes": "200000", "index.interval.bytes": "500" };

export interface KillResult extends CourseResult {
  readonly kills: number;
  readonly stops: number;
}

/**
 * Runs one course in which the broker is ended again and again for so many seconds, and killed `leastKills` times: each
 * time every client has to get on first, which takes a busy machine a while.
 */
export async function runKills(
  options: CourseOptions,
  seconds: number,
  leastKills = 0,
): Promise<KillResult> {
  const { broker, say } = options;
  const ended = { SIGKILL: 0, SIGTERM: 0 };
  const result = await runCourse({ configs: CONFIGS, ...options }, async (course) => {
    const { random } = course;
    const endsAt = performance.now() + seconds * 1000;
    while (performance.now() < endsAt || ended.SIGKILL < leastKills) {
      // Where the end falls is up to the seed and the machine.
      await pause(random.between(200, 4000));
      const signal = random.chance(0.75) ? "SIGKILL" : "SIGTERM";
      course.note(signal);
      await broker.stop(signal);
      ended[signal]++;
      if (random.chance(0.5)) await pause(random.between(0, 1500));
      const startedAt = performance.now();
      await broker.start();
      say(`${signal}, started again in ${Math.round(performance.now() - startedAt)} ms`);
      course.note("start");
      await course.askCommitted();
      await course.resumed();
    }
  });
  return { ...result, kills: ended.SIGKILL, stops: ended.SIGTERM };
}
