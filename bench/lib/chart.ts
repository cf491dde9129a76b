/** A comparison as a picture (SVG): a dot for each metric on a logarithmic scale, its aim, and where both are equal. Pure. */
import { byGroup, ratioOf, type Report, type Result } from "./report.ts";
import { readable } from "./statistics.ts";

const ROW = 20, GROUP = 38, TOP = 66, LABEL_RIGHT = 372, LEFT = 392, RIGHT = 830, WIDTH = 900;

/** Colours of paper and ink for a light and a dark page; the paper is drawn, so that either way it can be read. */
const STYLE = `
  svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --met: #1a7f5a; --short: #c2410c; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1; --line: #3d444d; --met: #3fb984; --short: #f0883e; }
  }
  text { fill: var(--ink); } .faint { fill: var(--faint); } .line { stroke: var(--line); }
  .met { fill: var(--met); stroke: var(--met); } .short { fill: var(--short); stroke: var(--short); }
  .aim { stroke: var(--ink); stroke-width: 2; } .paper { fill: var(--paper); }`;

/** How many times better Trackway is; better is to the right. */
export function chart(report: Report): string {
  const times = (result: Result, ratio: number) => result.metric.better === "lower" ? 1 / ratio : ratio;
  const drawn = report.results.filter((result) => {
    const ratio = ratioOf(result);
    return Number.isFinite(ratio) && ratio > 0;
  });
  const all = drawn.flatMap((result) => [
    times(result, ratioOf(result)),
    ...(result.metric.aim === undefined ? [] : [times(result, result.metric.aim)]),
  ]);
  const low = Math.log(Math.min(0.5, ...all)), high = Math.log(Math.max(2, ...all));
  const x = (value: number) => LEFT + (Math.log(value) - low) / (high - low) * (RIGHT - LEFT);
  const parts: string[] = [];
  let y = TOP;
  for (const [group, results] of byGroup({ ...report, results: drawn })) {
    y += GROUP;
    parts.push(`<text x="16" y="${y - 12}" font-weight="600">${escaped(group)}</text>`);
    for (const result of results) {
      parts.push(row(result, y, times(result, ratioOf(result))));
      y += ROW;
    }
  }
  const height = y + 16;

  function row(result: Result, top: number, value: number): string {
    const middle = top + ROW / 2;
    const { aim, name } = result.metric;
    const aimed = aim === undefined ? null : times(result, aim);
    const tone = (aimed ?? 1) <= value ? "met" : "short";
    const at = x(value), one = x(1);
    // Beside the dot on the side away from the middle, where nothing is.
    const label = value >= 1
      ? `<text x="${fixed(at + 9)}" y="${middle + 4}">${readable(value)}×</text>`
      : `<text x="${fixed(at - 9)}" y="${middle + 4}" text-anchor="end">${readable(value)}×</text>`;
    return `<text x="${LABEL_RIGHT}" y="${middle + 4}" text-anchor="end">` +
      `<tspan font-weight="600">${escaped(result.scenario)}</tspan> ${escaped(name)}</text>` +
      `<line class="line" x1="${LEFT}" y1="${middle}" x2="${RIGHT}" y2="${middle}" stroke-dasharray="1 4"/>` +
      `<line class="${tone}" x1="${fixed(one)}" y1="${middle}" x2="${
        fixed(at)
      }" y2="${middle}" stroke-width="3"/>` +
      (aimed === null
        ? ""
        : `<line class="aim" x1="${fixed(x(aimed))}" y1="${middle - 7}" x2="${fixed(x(aimed))}" y2="${
          middle + 7
        }"/>`) +
      `<circle class="${tone}" cx="${fixed(at)}" cy="${middle}" r="4"/>${label}`;
  }

  const ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].filter((tick) =>
    Math.log(tick) >= low && Math.log(tick) <= high
  ).map((tick) =>
    `<line class="line" x1="${fixed(x(tick))}" y1="${TOP}" x2="${fixed(x(tick))}" y2="${height - 10}"` +
    `${tick === 1 ? ' stroke-width="2"' : ""}/>` +
    `<text class="faint" x="${fixed(x(tick))}" y="${TOP - 6}" text-anchor="middle">${tick}×</text>`
  );
  const [us, them] = report.brokers.map(escaped);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ` +
    `font-family="system-ui, sans-serif" font-size="12">\n<style>${STYLE}\n</style>\n` +
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="6"/>\n` +
    `<text x="16" y="26" font-size="15" font-weight="600">How many times better ${us} is than ${them}</text>\n` +
    `<text class="faint" x="16" y="44">Logarithmic; right of 1× is better. The upright mark is the aim.</text>\n` +
    `${ticks.join("\n")}\n${parts.join("\n")}\n</svg>\n`;
}

const fixed = (value: number) => value.toFixed(1);

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
