/** Measurements as JSON, as a table for the terminal, and as tables for Markdown. Pure. */
import type { Metric } from "./metrics.ts";
import { median, medianRatio, readable } from "./statistics.ts";

/** All values of one metric of one scenario, in the order in which they were measured. */
export interface Result {
  /** The title of the scenario's group. */
  readonly group: string;
  readonly scenario: string;
  readonly about: string;
  readonly metric: Metric;
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
  readonly date: string;
  /** Load average of one minute before the scenario: others may have used the machine too. */
  readonly load: number;
  readonly version: { readonly ours: string; readonly theirs: string; readonly deno: string };
}

export interface Report {
  /** Who was compared: the first is Trackway. */
  readonly brokers: readonly [string, string];
  readonly machine: Readonly<Record<string, string | number>>;
  readonly results: readonly Result[];
  /** Scenarios that could not be run, and why. */
  readonly skipped: Readonly<Record<string, string>>;
}

/** Trackway's value by the other's: the median of the ratios of turns that followed each other. */
export function ratioOf({ ours, theirs }: Result): number {
  return medianRatio(ours, theirs);
}

/** How far a ratio is beyond its aim: 1 is just met, 2 is twice too much or half of what it should be; null without aim. */
export function shortfall(result: Result): number | null {
  const { aim, better } = result.metric;
  if (aim === undefined) return null;
  const ratio = ratioOf(result);
  return better === "lower" ? ratio / aim : aim / ratio;
}

/** One line of a table. */
export interface Row {
  readonly scenario: string;
  readonly metric: string;
  readonly ours: string;
  readonly theirs: string;
  readonly ratio: string;
  readonly aim: string;
}

export function rowOf(result: Result): Row {
  const { scenario, metric, ours, theirs } = result;
  const sign = metric.better === "lower" ? "≤" : "≥";
  const short = shortfall(result);
  return {
    scenario,
    metric: metric.name,
    ours: `${readable(median(ours))} ${metric.unit}`,
    theirs: `${readable(median(theirs))} ${metric.unit}`,
    ratio: readable(ratioOf(result)),
    aim: short === null ? "" : `${sign} ${readable(metric.aim!)}${short <= 1 ? " ✓" : ""}`,
  };
}

/** Groups in the order of their first results. */
export function byGroup(report: Report): Map<string, Result[]> {
  return Map.groupBy(report.results, ({ group }) => group);
}

/** What misses its aim, the furthest first: where the work is. */
export function shortOfAim(report: Report): Result[] {
  return report.results.filter((result) => (shortfall(result) ?? 0) > 1)
    .sort((a, b) => shortfall(b)! - shortfall(a)!);
}

/** Columns from the third on are numbers, and stand at the right. */
const FIRST_NUMBER = 2;
const header = ({ brokers }: Report) => ["scenario", "metric", ...brokers, "ratio", "aim"];
const cells = (row: Row) => [row.scenario, row.metric, row.ours, row.theirs, row.ratio, row.aim];

/** Columns side by side, a paragraph for each group, for a terminal. */
export function textTable(report: Report): string {
  const groups = [...byGroup(report).values()].map((results) =>
    results.map((result) => cells(rowOf(result)))
  );
  const lines = [header(report), ...groups.flat()];
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const text = (line: string[]) =>
    line.map((cell, column) =>
      column < FIRST_NUMBER ? cell.padEnd(widths[column]) : cell.padStart(widths[column])
    ).join("  ").trimEnd();
  return [text(header(report)), ...groups.map((group) => group.map(text).join("\n"))].join("\n\n");
}

/** A heading, a list of the scenarios and a table for each group; before them, what misses its aim. */
export function markdownTables(report: Report): string {
  const parts = [...byGroup(report)].map(([group, results]) => {
    const abouts = new Map(results.map(({ scenario, about }) => [scenario, about]));
    const list = [...abouts].map(([scenario, about]) => `- **${scenario}**: ${about}`).join("\n");
    return `### ${group}\n\n${list}\n\n${markdownTable(report, results)}`;
  });
  const short = shortOfAim(report);
  const aims = report.results.filter(({ metric }) => metric.aim !== undefined).length;
  const summary = `### Short of the aim\n\n${aims - short.length} of ${aims} aims are met. ` +
    (short.length === 0 ? "" : `The others, the furthest first:\n\n${markdownTable(report, short)}`);
  return [summary.trimEnd(), ...parts].join("\n\n");
}

/** Without the column of aims where there are none. */
export function markdownTable(report: Report, results: readonly Result[]): string {
  const columns = results.some(({ metric }) => metric.aim !== undefined) ? undefined : -1;
  const head = header(report);
  const rule = head.map((_, column) => column < FIRST_NUMBER ? "---" : "---:");
  return [head, rule, ...results.map((result) => cells(rowOf(result)))]
    .map((line) => `| ${line.slice(0, columns).join(" | ")} |`).join("\n");
}

/** When, what and where, in a sentence. */
export function caption({ results, brokers, machine }: Report): string {
  const range = (values: string[]) => {
    const sorted = [...new Set(values)].sort();
    return sorted.length <= 2 ? sorted.join(" and ") : `${sorted[0]} to ${sorted.at(-1)}`;
  };
  const commits = [...new Set(results.map(({ version }) => version.ours))];
  const loads = results.map(({ load }) => load);
  return `${range(results.map(({ date }) => date.slice(0, 10)))}: Trackway ${commits.join(", ")} on Deno ${
    range(results.map(({ version }) => version.deno))
  }, ${brokers[1]} ${
    range(results.map(({ version }) => version.theirs))
  }; ${machine.cores} cores (${machine.cpu}), ` +
    `${machine.memoryGB} GB; load average ${Math.min(...loads).toFixed(1)} to ${
      Math.max(...loads).toFixed(1)
    } while it ran.`;
}

/** `newer`, with the results of `older` for scenarios that it has not measured, in the order of `scenarios`. */
export function merged(older: Report, newer: Report, scenarios: readonly string[]): Report {
  const results = scenarios.flatMap((name) => {
    const of = (report: Report) => report.results.filter(({ scenario }) => scenario === name);
    return of(newer).length > 0 ? of(newer) : of(older);
  });
  return { ...newer, results };
}

/**
 * `document` with what stands between the marks `<!-- NAME: written by deno task bench… -->` and `<!-- end of NAME -->`
 * replaced. Throws when they are not there.
 */
export function withTable(document: string, name: string, table: string): string {
  const begins = new RegExp(`<!-- ${name}: written by [^>]* -->`).exec(document);
  const ends = document.indexOf(`<!-- end of ${name} -->`);
  if (begins === null || ends < begins.index) throw new Error(`the document has no marks for ${name}`);
  return document.slice(0, begins.index + begins[0].length) + `\n\n${table}\n\n` + document.slice(ends);
}
