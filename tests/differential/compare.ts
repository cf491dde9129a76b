/** Where two answers differ, a line for each place. */

/** Lines like `Heartbeat v4: stranger .errorCode: recorded 0, now 25`; none when nothing differs. */
export function differencesOf(recorded: unknown, now: unknown, at = ""): string[] {
  if (!isTree(recorded) || !isTree(now) || Array.isArray(recorded) !== Array.isArray(now)) {
    const [was, is] = [JSON.stringify(recorded), JSON.stringify(now)];
    return was === is ? [] : [`${at.trim()}: recorded ${was}, now ${is}`];
  }
  const keys = new Set([...Object.keys(recorded), ...Object.keys(now)]);
  return [...keys].flatMap((key) => {
    const place = Array.isArray(recorded) ? `${at}[${key}]` : `${at} .${key}`;
    return differencesOf(recorded[key], now[key], place);
  });
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
