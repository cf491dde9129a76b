/** What a tool printed, without what differs from run to run: ids, times, ports, directories. */

import type { Said } from "./host.ts";
import type { Step } from "./steps.ts";

/** Each with what stands for it. The first that fits is taken. */
const CHANGING: readonly [RegExp, string][] = [
  [/\b(localhost|127\.0\.0\.1)[: ]\d+/g, "HOST:PORT"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "UUID"],
  [/(TopicId:?\s+|Cluster ?I[dD]:?\s+|DirectoryId:?\s+|directory id:?\s+)[\w-]{22}/gi, "$1ID"],
  [/\b(1[67]\d{11})\b/g, "MS"],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d)?/g, "DATE"],
  [/^(.*\bcrc: )\d+/gm, "$1CRC"],
  [/\bproducerId: \d+/g, "producerId: ID"],
  [/(UncleanShutdown|leaderEpoch|LeaderEpoch|Epoch:)\s*\d+/g, "$1 N"],
  // How far the metadata is and where its controller listens is each broker's own matter.
  [/\b(HighWatermark:\s+)\d+/g, "$1N"],
  [/^(\d+\s+)[\w-]{22}(\s+)\d+(\s+\d+\s+MS\s+MS\s+Leader)/gm, "$1ID$2N$3"],
  [/"directoryId": "[\w-]{22}", "endpoints": \["[A-Z]+:/g, '"directoryId": "ID", "endpoints": ["LISTENER:'],
  // Trackway has one level of it, and of the others transaction.version alone yet.
  [/^(Feature: metadata\.version\s+SupportedMinVersion: )\S+/gm, "$1N"],
  [/^Feature: (?!(metadata|transaction)\.version).*$/gm, ""],
  // How often it was tried.
  [/\b(TimeoutException): .*/g, "$1"],
  // With eligible leader replicas Kafka sets it for the cluster by itself.
  [/\bDYNAMIC_DEFAULT_BROKER_CONFIG:min\.insync\.replicas=1, /g, ""],
  [
    /^ *min\.insync\.replicas=1 sensitive=false synonyms=\{DYNAMIC_DEFAULT_BROKER_CONFIG:min\.insync\.replicas=1\}$/gm,
    "",
  ],
  [/\b(Configs: )min\.insync\.replicas=1,?/g, "$1"],
  [/\bconsole-consumer-\d+/g, "console-consumer-N"],
  // Columns are as wide as what is in them.
  [/ +$/gm, ""],
  [/ {2,}/g, " "],
];

/** Columns of tables whose values are each run's own. */
const CHANGING_COLUMNS: ReadonlySet<string> = new Set([
  "ProducerId",
  "LastTimestamp",
  "Duration(min)",
  "TransactionDurationMs",
  "CurrentTransactionStartTimeMs",
]);

/** Puts the column's name in their place, in each table whose first line names such columns. */
function withoutChanging(lines: readonly string[]): string[] {
  let columns: string[] = [];
  return lines.map((line) => {
    const words = line.split("\t").map((word) => word.trim());
    if (words.some((word) => CHANGING_COLUMNS.has(word))) {
      columns = words;
      return line;
    }
    if (words.length !== columns.length) return line;
    return words.map((word, i) => CHANGING_COLUMNS.has(columns[i]) ? columns[i] : word).join(" ");
  });
}

/** The lines to compare. `data` is the directory that holds the partitions. */
export function normalLines(step: Step, said: Said, data: string): string[] {
  // Stack traces tell where in the tool, not what of the broker.
  const text = `${said.out}\n${said.err}`.replace(/^\s+at .*\n|^\s+\.\.\. \d+ more\n/gm, "");
  const changed = CHANGING.reduce((text, [of, by]) => text.replace(of, by), text.replaceAll(data, "{data}"));
  const lines = withoutChanging(changed.split("\n").filter((line) => line.trim() !== ""));
  const exit = `exit ${said.code}`;
  // Error texts are each broker's own; what kind of error it is they have in common.
  if (said.code !== 0) {
    return [exit, ...new Set(text.match(/\borg\.apache\.kafka\.[\w.]+Exception\b/g))].toSorted();
  }
  return [exit, ...step.sorted ? lines.toSorted() : lines];
}
