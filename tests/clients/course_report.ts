/** What a course comes to, in words. */
import type { CourseResult } from "./course.ts";

/** The violations, and a summary as the last line; `done` says what was done to the broker. */
export function describeCourse(
  { violations, counts, resumedMs, history }: CourseResult,
  done: string,
): string[] {
  const resumed = [...resumedMs].map(([name, [longest, ...rest]]) =>
    `${name} ${longest} ms (median ${[longest, ...rest][(rest.length + 1) >> 1]} ms)`
  );
  return [
    ...violations.map(({ rule, text }) => `${rule}: ${text}`),
    `longest until a client got on: ${resumed.join(", ")}`,
    `history in ${history}`,
    `${done}; ${counts.sent} records sent, ${counts.acked} acknowledged, ${counts.inLogs} in the logs, ` +
    `${counts.readByGroups} read by groups, ${counts.commits} commits; ${violations.length} violations`,
  ];
}
