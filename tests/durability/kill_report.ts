/** What a course of kills comes to, in words. */
import type { KillResult } from "./kill_real.ts";

/** The violations, and a summary as the last line. */
export function describeKills(
  { violations, counts, kills, stops, resumedMs, history }: KillResult,
): string[] {
  const resumed = [...resumedMs].map(([name, [longest, ...rest]]) =>
    `${name} ${longest} ms (median ${[longest, ...rest][rest.length >> 1]} ms)`
  );
  return [
    ...violations.map(({ rule, text }) => `${rule}: ${text}`),
    `longest until a client got on after a start: ${resumed.join(", ")}`,
    `history in ${history}`,
    `${kills} kills and ${stops} stops; ${counts.sent} records sent, ${counts.acked} acknowledged, ` +
    `${counts.inLogs} in the logs, ${counts.readByGroups} read by groups, ${counts.commits} commits; ` +
    `${violations.length} violations`,
  ];
}
