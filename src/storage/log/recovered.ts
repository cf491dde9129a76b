/** What a start after an unclean stop had to read again, and what it took out: one line for the operator. */
import type { Log } from "./log.ts";

/** What checking one log took. */
export interface Recovered {
  /** Bytes from the recovery point on. */
  readonly readBytes: number;
  /** Of them, those that are in the log no more. A warning has told of each cut. */
  readonly cutBytes: number;
}

/** The line for the logs that a start has found; null where there were none. */
export function describeRecovered(logs: Iterable<Pick<Log, "recovered" | "offline">>): string | null {
  let all = 0, read = 0, offline = 0, readBytes = 0, cutBytes = 0;
  for (const log of logs) {
    all++;
    if (log.offline !== null) offline++;
    if (log.recovered === null || log.recovered.readBytes === 0) continue;
    read++;
    readBytes += log.recovered.readBytes;
    cutBytes += log.recovered.cutBytes;
  }
  if (all === 0) return null;
  const what = read === 0
    ? `nothing of ${partitions(all)} lay past the recovery points`
    : `checked ${amount(readBytes)} in ${read} of ${partitions(all)} from the recovery points on, and cut ` +
      `${cutBytes === 0 ? "nothing" : amount(cutBytes)} off`;
  const but = offline === 0 ? "" : `; ${partitions(offline)} offline, see the warnings`;
  return `The last stop was not in order: ${what}${but}`;
}

function partitions(count: number): string {
  return `${count} ${count === 1 ? "partition" : "partitions"}`;
}

function amount(bytes: number): string {
  return bytes < 1e5 ? `${bytes} bytes` : `${(bytes / 1e6).toFixed(1)} MB`;
}
