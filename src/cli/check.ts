/**
 * `trackway check`: looks through a data directory and says what it finds. Composes the checks of metadata and of storage,
 * which do not know each other, and prints as they go.
 */
import { parseArgs } from "@std/cli/parse-args";
import { CannotCheck, type Finding } from "../base/finding.ts";
import { type CheckedMetadata, checkMetadata } from "../cluster/check.ts";
import { METADATA_FILE } from "../cluster/sqlite_file.ts";
import {
  checkDirectory,
  type DirectoryCheck,
  type DirectoryCheckInput,
  type KnownTopics,
  partitionsIn,
  withDirectoryLocked,
} from "../storage/check/check.ts";
import { IoError } from "../storage/files/files.ts";
import { realFilesReadOnly } from "../storage/files/read_only.ts";
import { helpText } from "./help.ts";
import type { Terminal } from "./terminal.ts";

const DEFAULT_DIRECTORY = "./data";
const DAMAGED = 1;
const NOT_CHECKED = 2;

/** How often the progress is shown anew. */
const PROGRESS_EVERY_MS = 200;

/** Checks the directory that the flags name. Gives the exit code. */
export async function check(args: readonly string[], terminal: Terminal): Promise<number> {
  const flags = readFlags(args);
  if ("error" in flags) {
    return cannot(flags.error, args.includes("--json"), terminal);
  }
  if (flags.help) {
    terminal.out(helpText("check")!);
    return 0;
  }
  try {
    return await withAllLocked(flags.data, () => run(flags, terminal));
  } catch (error) {
    // Anything else is a bug and keeps its stack trace.
    if (!(error instanceof CannotCheck || error instanceof IoError)) throw error;
    terminal.progress("");
    return cannot(error.message, flags.json, terminal);
  }
}

function withAllLocked<T>(directories: readonly string[], use: () => T): Promise<T> {
  const [first, ...others] = directories;
  const rest = () => others.length === 0 ? use() : withAllLocked(others, use);
  return withDirectoryLocked(realFilesReadOnly, first, rest);
}

/** Says why nothing, or not all, was checked: to programs where they look for the summary. Gives the exit code. */
function cannot(why: string, json: boolean, terminal: Terminal): number {
  if (json) terminal.out(JSON.stringify({ error: why }));
  else terminal.err(`trackway: ${why}`);
  return NOT_CHECKED;
}

interface Flags {
  readonly help: boolean;
  /** One or more. */
  readonly data: readonly string[];
  readonly deep: boolean;
  readonly json: boolean;
}

function readFlags(args: readonly string[]): Flags | { readonly error: string } {
  let unknown: string | undefined;
  const directories: string[] = [];
  const parsed = parseArgs([...args], {
    string: ["data"],
    boolean: ["deep", "json", "help"],
    alias: { help: "h" },
    unknown(arg: string, flag?: string) {
      if (flag === undefined) directories.push(arg);
      else unknown ??= arg;
      return false;
    },
  });
  if (unknown !== undefined) {
    return { error: `check does not know ${unknown}: trackway check --help lists its flags` };
  }
  if (parsed.data === "") return { error: "--data needs a value: trackway check --help says which" };
  if (parsed.data !== undefined && directories.length > 0) {
    return { error: `check takes either --data ${parsed.data}, or ${directories[0]}` };
  }
  if (parsed.data !== undefined) directories.push(parsed.data);
  // As `start` takes them.
  const paths = directories.flatMap((list) => list.split(",").map((path) => path.trim()));
  const data = paths.length === 0 ? [DEFAULT_DIRECTORY] : [...new Set(paths)];
  return { help: parsed.help, data, deep: parsed.deep, json: parsed.json };
}

type Counts = Record<Finding["severity"], number>;

function run(flags: Flags, terminal: Terminal): number {
  const { data } = flags;
  const countsOf = new Map<string, Counts>(data.map((directory) => [directory, { damage: 0, note: 0 }]));
  const reportIn = (directory: string) => (finding: Finding) => {
    countsOf.get(directory)![finding.severity]++;
    terminal.progress("");
    terminal.out(flags.json ? JSON.stringify(finding) : line(finding));
  };
  const isThere = (path: string) => realFilesReadOnly.stat(path) !== null;
  const first = data.find((directory) => isThere(`${directory}/${METADATA_FILE}`)) ?? data[0];
  const metadata = checkMetadata(first, reportIn(first));
  const hasMetadata = metadata !== null || countsOf.get(first)!.damage > 0;
  const known = knownTopics(metadata);
  const namesIn = new Map(data.map((directory) => [directory, partitionsIn(realFilesReadOnly, directory)]));
  for (const directory of data) {
    const others = data.filter((other) => other !== directory);
    const elsewhere = new Map(others.flatMap((other) => namesIn.get(other)!.map((name) => [name, other])));
    const report = reportIn(directory);
    const input = { known, hasMetadata, others, elsewhere, tellsOfMissing: directory === first, report };
    checkOne(directory, input, countsOf.get(directory)!, flags, terminal);
  }
  return [...countsOf.values()].some(({ damage }) => damage > 0) ? DAMAGED : 0;
}

/** Checks one directory and sums up. */
function checkOne(
  directory: string,
  input: Omit<DirectoryCheckInput, "files" | "directory" | "metadataFile" | "deep" | "onProgress">,
  counts: Counts,
  { deep, json }: Flags,
  terminal: Terminal,
): void {
  const startedMs = terminal.uptimeMs();
  let shownMs = startedMs;
  const checked = checkDirectory({
    ...input,
    files: realFilesReadOnly,
    directory,
    metadataFile: METADATA_FILE,
    deep,
    onProgress(doneBytes, allBytes) {
      const now = terminal.uptimeMs();
      if (now - shownMs < PROGRESS_EVERY_MS) return;
      shownMs = now;
      const percent = Math.floor(doneBytes / Math.max(allBytes, 1) * 100);
      terminal.progress(`${percent} % of ${amount(allBytes)}, ${rate(doneBytes, now - startedMs)}`);
    },
  });
  terminal.progress("");
  const tookMs = terminal.uptimeMs() - startedMs;
  terminal.out(
    json
      ? JSON.stringify({ summary: { directory, ...checked, tookMs: Math.round(tookMs), ...counts } })
      : summary(directory, checked, tookMs, counts),
  );
}

/** Null when directories cannot be held against the metadata: the broker would go by the directories. */
function knownTopics(metadata: CheckedMetadata | null): KnownTopics | null {
  if (metadata === null || metadata.isNew) return null;
  const topics = new Map(
    [...metadata.topics].map(([name, { topicId, partitions, configs }]) => [name, {
      topicId,
      partitions: partitions.length,
      leaderEpochs: partitions.map(({ leaderEpoch }) => leaderEpoch),
      compacted: configs.get("cleanup.policy")?.split(",").includes("compact") ?? false,
    }]),
  );
  const nodeIds = new Set(
    [...metadata.topics.values()].flatMap(({ partitions }) => partitions.flatMap(({ replicas }) => replicas)),
  );
  return { clusterId: metadata.clusterId, nodeIds, topics, deletions: metadata.deletions };
}

function line({ severity, file, position, problem, outcome }: Finding): string {
  const where = position === null ? file : `${file} at ${position}`;
  return `${severity.padEnd(6)}  ${where}: ${problem}; the broker ${outcome}`;
}

function summary(
  directory: string,
  { closed, partitions, segments, bytes }: DirectoryCheck,
  tookMs: number,
  counts: Readonly<Record<Finding["severity"], number>>,
): string {
  const left = closed ? "closed in order" : "not closed in order";
  const found = counts.damage > 0 ? `${counts.damage} damaged` : "no damage";
  return `${directory} (${left}): ${counted(partitions, "partition")}, ${counted(segments, "segment")}, ` +
    `${amount(bytes)} in ${(tookMs / 1000).toFixed(1)} s: ${found}, ${counted(counts.note, "note")}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function amount(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

function rate(bytes: number, ms: number): string {
  return `${Math.round(bytes / 1e3 / Math.max(ms, 1))} MB/s`;
}
