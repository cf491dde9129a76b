/** Measurements as JSON, as a table for the terminal and for Markdown, and as a chart. Pure. */
import { median, medianRatio, readable } from "./statistics.ts";
import type { Metric } from "./scenarios.ts";

/** All values of one metric of one scenario, in the order in which they were measured. */
export interface Result {
  readonly scenario: string;
  readonly metric: Metric;
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}

export interface Report {
  readonly date: string;
  /** Who was compared: the first is Trackway. */
  readonly brokers: readonly [string, string];
  readonly versions: Readonly<Record<string, string>>;
  readonly machine: Readonly<Record<string, string | number>>;
  /** Of one minute, before each scenario and at the end: others may have used the machine too. */
  readonly loadAverages: Readonly<Record<string, number>>;
  readonly results: readonly Result[];
  /** Scenarios that could not be run, and why. */
  readonly skipped: Readonly<Record<string, string>>;
}

/** One line of a table. */
export interface Row {
  readonly scenario: string;
  readonly metric: string;
  readonly ours: string;
  readonly theirs: string;
  /** Trackway's value by the other's: the median of the ratios of turns that followed each other. */
  readonly ratio: string;
  readonly aim: string;
}

export function rows(report: Report): Row[] {
  return report.results.map(({ scenario, metric, ours, theirs }) => {
    const ratio = medianRatio(ours, theirs);
    const sign = metric.better === "lower" ? "≤" : "≥";
    const met = metric.aim !== undefined &&
      (metric.better === "lower" ? ratio <= metric.aim : ratio >= metric.aim);
    return {
      scenario,
      metric: metric.name,
      ours: `${readable(median(ours))} ${metric.unit}`,
      theirs: `${readable(median(theirs))} ${metric.unit}`,
      ratio: readable(ratio),
      aim: metric.aim === undefined ? "" : `${sign} ${readable(metric.aim)}${met ? " ✓" : ""}`,
    };
  });
}

function cells(report: Report): string[][] {
  const header = ["scenario", "metric", ...report.brokers, "ratio", "aim"];
  return [header, ...rows(report).map((r) => [r.scenario, r.metric, r.ours, r.theirs, r.ratio, r.aim])];
}

/** Columns from the third on are numbers, and stand at the right. */
const FIRST_NUMBER = 2;

/** Columns side by side, for a terminal. */
export function textTable(report: Report): string {
  const table = cells(report);
  const widths = table[0].map((_, column) => Math.max(...table.map((line) => line[column].length)));
  return table.map((line) =>
    line.map((cell, column) =>
      column < FIRST_NUMBER ? cell.padEnd(widths[column]) : cell.padStart(widths[column])
    ).join("  ").trimEnd()
  ).join("\n");
}

export function markdownTable(report: Report): string {
  const [header, ...lines] = cells(report);
  const rule = header.map((_, column) => column < FIRST_NUMBER ? "---" : "---:");
  return [header, rule, ...lines].map((line) => `| ${line.join(" | ")} |`).join("\n");
}

const ROW_HEIGHT = 22, LABEL_WIDTH = 360, BAR_WIDTH = 420, MARGIN = 50;

/** How many times better Trackway is, a bar for each metric, on a logarithmic scale around 1. */
export function chart(report: Report): string {
  const bars = report.results.map(({ scenario, metric, ours, theirs }) => {
    const ratio = medianRatio(ours, theirs);
    return { label: `${scenario}: ${metric.name}`, times: metric.better === "lower" ? 1 / ratio : ratio };
  }).filter((bar) => Number.isFinite(bar.times) && bar.times > 0);
  const reach = Math.max(2, ...bars.map((bar) => Math.max(bar.times, 1 / bar.times)));
  const low = Math.min(1, ...bars.map((bar) => bar.times));
  const span = Math.log(reach) - Math.log(low);
  const x = (times: number) => LABEL_WIDTH + (Math.log(times) - Math.log(low)) / span * BAR_WIDTH;
  const height = MARGIN + bars.length * ROW_HEIGHT + 10;
  const width = LABEL_WIDTH + BAR_WIDTH + 80;
  const lines = bars.map(({ label, times }, i) => {
    const y = MARGIN + i * ROW_HEIGHT;
    const [from, to] = times >= 1 ? [x(1), x(times)] : [x(times), x(1)];
    return `<text x="${LABEL_WIDTH - 10}" y="${y + 14}" text-anchor="end">${escaped(label)}</text>` +
      `<rect x="${from.toFixed(1)}" y="${y + 3}" width="${Math.max(1, to - from).toFixed(1)}" height="${
        ROW_HEIGHT - 7
      }" fill="${times >= 1 ? "#2a7f62" : "#b5483a"}"/>` +
      `<text x="${(to + 6).toFixed(1)}" y="${y + 14}">${readable(times)}×</text>`;
  });
  const one = x(1).toFixed(1);
  const [us, them] = report.brokers.map(escaped);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#333">\n` +
    `<rect width="${width}" height="${height}" fill="#fff"/>\n` +
    `<text x="10" y="22" font-size="15">How many times better ${us} is than ${them} (logarithmic)</text>\n` +
    `<line x1="${one}" y1="${MARGIN - 8}" x2="${one}" y2="${height - 6}" stroke="#999"/>\n` +
    `${lines.join("\n")}\n</svg>\n`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const TABLE_BEGINS = "<!-- table: written by deno task bench --docs -->",
  TABLE_ENDS = "<!-- end of table -->";

/** `document` with what stands between the two marks replaced. Throws when the marks are not there. */
export function withTable(document: string, table: string): string {
  const begins = document.indexOf(TABLE_BEGINS), ends = document.indexOf(TABLE_ENDS);
  if (begins < 0 || ends < begins) throw new Error(`the document has no "${TABLE_BEGINS}" … "${TABLE_ENDS}"`);
  return document.slice(0, begins + TABLE_BEGINS.length) + `\n\n${table}\n\n` + document.slice(ends);
}
