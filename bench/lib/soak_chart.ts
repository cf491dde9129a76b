/** What a soak measured, as a picture over time, and whether it stayed level. Pure. */
import { escaped, fixed, style } from "./svg.ts";
import { readable } from "./statistics.ts";

export interface Sample {
  /** Since the load began. */
  readonly seconds: number;
  readonly memoryBytes: number;
  readonly handles: number;
  /** Of one core, since the sample before. */
  readonly cpuShare: number;
  /** Milliseconds from producing to consuming, of the records since the sample before; null of none. */
  readonly p50: number | null;
  readonly p99: number | null;
  readonly acked: number;
  readonly consumed: number;
  /** Acknowledged and not consumed yet. */
  readonly waiting: number;
}

export interface Restart {
  readonly seconds: number;
  readonly signal: "SIGKILL" | "SIGTERM";
  /** From the signal to the first answer of the next process. */
  readonly awaySeconds: number;
}

export interface Soak {
  readonly date: string;
  readonly version: string;
  readonly minutes: number;
  /** Records a second. */
  readonly rate: number;
  readonly acked: number;
  readonly consumed: number;
  readonly refused: number;
  /** What was lost, doubled or out of order. */
  readonly wrong: readonly string[];
  readonly samples: readonly Sample[];
  readonly restarts: readonly Restart[];
}

/** How much more the second half may need than the first. */
const LEVEL = 1.15;

/** What rose from the first half to the second, as sentences; nothing of a short soak. */
export function unlevel({ samples, minutes }: Soak): string[] {
  if (minutes < 5) return [];
  const half = minutes * 30;
  const most = (of: (sample: Sample) => number, late: boolean) =>
    Math.max(...samples.filter(({ seconds }) => seconds > half === late).map(of));
  const told: [string, (sample: Sample) => number][] = [
    ["memory in MB", ({ memoryBytes }) => Math.round(memoryBytes / 1e6)],
    ["open files", ({ handles }) => handles],
  ];
  return told.filter(([, of]) => most(of, true) > most(of, false) * LEVEL)
    .map(([what, of]) => `${what} rose from ${most(of, false)} to ${most(of, true)} under a steady load`);
}

const WIDTH = 900, LEFT = 70, RIGHT = 880, PANEL = 110, GAP = 44, TOP = 106;

interface Panel {
  readonly title: string;
  readonly lines: readonly { readonly tone: string; readonly of: (sample: Sample) => number | null }[];
  readonly logarithmic?: boolean;
}

const PANELS: readonly Panel[] = [
  { title: "resident memory, MB", lines: [{ tone: "met", of: ({ memoryBytes }) => memoryBytes / 1e6 }] },
  { title: "open files and sockets", lines: [{ tone: "met", of: ({ handles }) => handles }] },
  { title: "CPU, % of a core", lines: [{ tone: "met", of: ({ cpuShare }) => cpuShare * 100 }] },
  {
    title: "produced to consumed, ms: median and (upper) p99",
    lines: [{ tone: "met", of: ({ p50 }) => p50 }, { tone: "short", of: ({ p99 }) => p99 }],
    logarithmic: true,
  },
];

/** A panel for each thing, restarts as upright lines through all of them. */
export function soakChart(soak: Soak): string {
  const end = Math.max(1, ...soak.samples.map(({ seconds }) => seconds));
  const x = (seconds: number) => LEFT + seconds / end * (RIGHT - LEFT);
  const height = TOP + PANELS.length * (PANEL + GAP);
  const bottom = height - GAP + 6;
  const restarts = soak.restarts.map(({ seconds, signal }) =>
    `<line class="${signal === "SIGKILL" ? "worse" : "faint"}" x1="${fixed(x(seconds))}" y1="${TOP}" ` +
    `x2="${fixed(x(seconds))}" y2="${bottom}" stroke-dasharray="4 3"/>`
  );
  const minutes = soak.minutes <= 5 ? 1 : 5;
  const ticks: string[] = [];
  for (let at = 0; at * 60 <= end; at += minutes) {
    ticks.push(
      `<text class="faint" x="${fixed(x(at * 60))}" y="${bottom + 16}" text-anchor="middle">${at} min</text>`,
    );
  }
  const lost = soak.wrong.length === 0 ? "nothing lost, doubled or out of order" : soak.wrong.join("; ");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" ` +
    `viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12">\n${style}\n` +
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="6"/>\n` +
    `<text class="ink" x="16" y="26" font-size="15" font-weight="600">${readable(soak.minutes)} minutes at ` +
    `${soak.rate.toLocaleString("en")} records of 1 KB a second, ${soak.restarts.length} restarts</text>\n` +
    `<text class="faint" x="16" y="46">${soak.acked.toLocaleString("en")} records acknowledged: ` +
    `${escaped(lost)}. Dashed lines are restarts:</text>` +
    `<text class="worse" x="16" y="64">kill -9</text><text class="faint" x="66" y="64">SIGTERM</text>\n` +
    PANELS.map((panel, i) => drawn(panel, soak.samples, x, TOP + i * (PANEL + GAP))).join("\n") +
    `\n${restarts.join("\n")}\n${ticks.join("\n")}\n</svg>\n`;
}

function drawn(
  { title, lines, logarithmic = false }: Panel,
  samples: readonly Sample[],
  x: (seconds: number) => number,
  top: number,
): string {
  const values = lines.flatMap(({ of }) => samples.map(of)).filter((value) => value !== null);
  const scale = logarithmic ? (value: number) => Math.log10(Math.max(value, 0.1)) : (value: number) => value;
  // From 0, or from a millisecond.
  const most = Math.max(1, ...values.map(scale));
  const high = logarithmic ? most : roundAbove(most);
  const y = (value: number) => top + PANEL - Math.max(0, scale(value)) / high * PANEL;
  const marks = logarithmic
    ? Array.from({ length: Math.floor(high) + 1 }, (_, power) => 10 ** power)
    : [0, 0.5, 1].map((share) => share * high);
  const grid = marks.map((mark) =>
    `<line class="line" x1="${LEFT}" y1="${fixed(y(mark))}" x2="${RIGHT}" y2="${fixed(y(mark))}"/>` +
    `<text class="faint" x="${LEFT - 8}" y="${fixed(y(mark) + 4)}" text-anchor="end">${
      mark >= 10 || mark === 0 ? mark.toFixed(0) : readable(mark)
    }</text>`
  );
  const curves = lines.map(({ tone, of }) => {
    const points = samples.flatMap((sample) => {
      const value = of(sample);
      return value === null ? [] : [`${fixed(x(sample.seconds))},${fixed(y(value))}`];
    });
    return `<polyline class="${tone}" points="${points.join(" ")}" stroke-width="1.5"/>`;
  });
  return `<text class="ink" x="${LEFT}" y="${top - 8}" font-weight="600">${escaped(title)}</text>\n` +
    `${grid.join("\n")}\n${curves.join("\n")}`;
}

/** A number that reads well, at or above `value`. */
function roundAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.6, 2, 3, 4, 6, 8, 10].find((step) => step * power >= value)! * power;
}
