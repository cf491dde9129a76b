/**
 * Unmodified Kafka clients with a broker that is stopped for longer than their sessions, and with a member of a group
 * that is: SIGSTOP and SIGCONT. A member that was away loses its partitions to the others, may not commit any more, and
 * comes back as a new one.
 */
import { type CourseOptions, type CourseResult, pause, runCourse } from "../clients/course.ts";

/** The members' sessions last 6 s. */
const PAUSE_MS = 8000;
const REBALANCE_MS = 45_000;

export async function runPauses(options: CourseOptions): Promise<CourseResult> {
  const { broker, say } = options;
  return await runCourse(options, async (course) => {
    const { load } = course;
    course.note("SIGSTOP");
    broker.signal("SIGSTOP");
    await pause(PAUSE_MS);
    course.note("SIGCONT");
    broker.signal("SIGCONT");
    const from = performance.now();
    await course.resumed();
    await course.askCommitted();
    say(
      `the broker was stopped; all clients got on ${
        Math.round(performance.now() - from)
      } ms after it went on`,
    );

    const [stopped, other] = load.members;
    const shared = () => stopped.partitions.length > 0 && other.partitions.length > 0;
    await load.until(() => "both members to have partitions", REBALANCE_MS, shared);
    const assignments = stopped.assignments;
    course.note(`SIGSTOP ${stopped.name}`);
    load.stop(stopped);
    await load.until(
      () => `${other.name} to take over; it owns [${other.partitions}]`,
      REBALANCE_MS,
      () => other.partitions.length === 3,
    );
    course.note(`SIGCONT ${stopped.name}`);
    load.goOn(stopped);
    await load.until(
      () => `${stopped.name} to come back; it owns [${stopped.partitions}]`,
      REBALANCE_MS,
      () => stopped.assignments > assignments && shared(),
    );
    await course.resumed();

    const alone = load.members.at(-1)!;
    if (alone === other) return;
    course.note(`SIGSTOP ${alone.name}`);
    load.stop(alone);
    await pause(PAUSE_MS);
    course.note(`SIGCONT ${alone.name}`);
    load.goOn(alone);
    await course.resumed();
  });
}
