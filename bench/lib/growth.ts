/** The tables of bench/scale.ts: what there is more of in each step, and what one more of it costs. Pure. */
import { readable } from "./statistics.ts";

/** One step. */
export interface GrowthRow {
  /** Of what is counted: partitions, connections, groups, gigabytes. */
  readonly count: number;
  /** To make what this step has more than the one before. */
  readonly madeMs?: number;
  readonly memoryBytes: number;
  /** Milliseconds of CPU in a second. */
  readonly cpuMs: number;
  readonly handles: number;
  readonly cleanStartMs?: number;
  readonly killedStartMs?: number;
  /** By the process until the first answer after a clean stop, its own program included. */
  readonly readBytes?: number;
}

interface Column {
  readonly name: string;
  /** `before` is the step before, if there is one. */
  readonly cell: (row: GrowthRow, before: GrowthRow | undefined) => string | null;
}

const perOne = (row: GrowthRow, before: GrowthRow | undefined, of: (row: GrowthRow) => number) =>
  before === undefined ? null : (of(row) - of(before)) / (row.count - before.count);
const told = (value: number | null | undefined, unit: string) =>
  value === undefined || value === null ? null : `${readable(value)} ${unit}`;

const columns: readonly Column[] = [
  { name: "made in", cell: (row) => told(row.madeMs, "ms") },
  { name: "memory", cell: (row) => told(row.memoryBytes / 1e6, "MB") },
  {
    name: "one more",
    cell: (row, before) => told(perOne(row, before, ({ memoryBytes }) => memoryBytes / 1e3), "kB"),
  },
  { name: "idle CPU", cell: (row) => told(row.cpuMs, "ms/s") },
  {
    name: "one more ",
    cell: (row, before) => told(perOne(row, before, ({ cpuMs }) => cpuMs * 1e3), "µs/s"),
  },
  { name: "open files", cell: (row) => String(row.handles) },
  { name: "start", cell: (row) => told(row.cleanStartMs, "ms") },
  { name: "after kill -9", cell: (row) => told(row.killedStartMs, "ms") },
  { name: "read by start", cell: (row) => told(row.readBytes && row.readBytes / 1e6, "MB") },
];

const TITLES: Readonly<Record<string, string>> = {
  partitions: "partitions",
  connections: "connections",
  groups: "groups",
  bytes: "GB stored",
};

/** The lines of a table, without columns that have nothing to say. */
export function growthLines(name: string, rows: readonly GrowthRow[]): string[][] {
  const shown = columns.filter(({ cell }) => rows.some((row, i) => cell(row, rows[i - 1]) !== null));
  return [
    [TITLES[name], ...shown.map((column) => column.name.trim())],
    ...rows.map((row, i) => [
      row.count.toLocaleString("en"),
      ...shown.map(({ cell }) => cell(row, rows[i - 1]) ?? ""),
    ]),
  ];
}

/** For a terminal. */
export function growthText(name: string, rows: readonly GrowthRow[]): string {
  const lines = growthLines(name, rows);
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines.map((line) => line.map((cell, i) => cell.padStart(widths[i])).join("  ").trimEnd()).join("\n");
}

/** For Markdown, all that were measured. */
export function growthTables(all: Readonly<Record<string, readonly GrowthRow[]>>): string {
  return Object.keys(TITLES).filter((name) => all[name] !== undefined).map((name) => {
    const [head, ...lines] = growthLines(name, all[name]);
    return [head, head.map(() => "---:"), ...lines].map((line) => `| ${line.join(" | ")} |`).join("\n");
  }).join("\n\n");
}
