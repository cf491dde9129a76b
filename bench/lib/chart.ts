/** A comparison as a picture (SVG): a dot for each metric on a logarithmic scale, its aim, and where both are equal. Pure. */
import { byGroup, ratioOf, type Report, type Result } from "./report.ts";
import { readable } from "./statistics.ts";
import { escaped, fixed, style } from "./svg.ts";

const ROW = 20, GROUP = 38, TOP = 84, WIDTH = 900;
/** Where columns begin: scenario, metric, scale; and where the scale and the numbers end. */
const SCENARIO = 16, METRIC = 130, LEFT = 390, RIGHT = 800, NUMBER = 880;

/** How many times better Trackway is; better is to the right. */
export function chart(report: Report): string {
  const drawn = report.results.filter((result) => {
    const ratio = ratioOf(result);
    return Number.isFinite(ratio) && ratio > 0;
  });
  const all = drawn.flatMap((result) => [timesBetter(result), aimed(result) ?? 1]);
  const low = Math.log(Math.min(0.5, ...all)), high = Math.log(Math.max(2, ...all));
  const x = (times: number) => LEFT + (Math.log(times) - low) / (high - low) * (RIGHT - LEFT);
  const rows: string[] = [];
  let y = TOP;
  for (const [group, results] of byGroup({ ...report, results: drawn })) {
    y += GROUP;
    rows.push(`<text class="ink" x="${SCENARIO}" y="${y - 10}" font-weight="600">${escaped(group)}</text>`);
    let scenario = "";
    for (const result of results) {
      rows.push(row(result, y + ROW / 2, result.scenario === scenario ? "" : result.scenario, x));
      scenario = result.scenario;
      y += ROW;
    }
  }
  const height = y + 16;
  const ticks = TICKS.filter((tick) => Math.log(tick) >= low && Math.log(tick) <= high).map((tick) =>
    `<line class="line" x1="${fixed(x(tick))}" y1="${TOP}" x2="${fixed(x(tick))}" y2="${height - 10}"` +
    `${tick === 1 ? ' stroke-width="2.5"' : ""}/>` +
    `<text class="faint" x="${fixed(x(tick))}" y="${TOP - 6}" text-anchor="middle">${tick}×</text>`
  );
  const [us, them] = report.brokers.map(escaped);
  const legend = [
    ["met", "aim reached, or better where there is none"],
    ["short", `better than ${them}, short of the aim`],
    ["worse", `worse than ${them}`],
  ].map(([tone, text], i) =>
    `<circle class="${tone}" cx="${20 + 310 * i}" cy="47" r="4"/>` +
    `<text class="faint" x="${30 + 310 * i}" y="51">${text}</text>`
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" ` +
    `viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12">\n${style}\n` +
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="6"/>\n` +
    `<text class="ink" x="16" y="26" font-size="15" font-weight="600">` +
    `How many times better ${us} is than ${them}</text>` +
    `<text class="faint" x="${NUMBER}" y="26" text-anchor="end">logarithmic; the upright mark is the aim</text>\n` +
    `${legend.join("")}\n${ticks.join("\n")}\n${rows.join("\n")}\n</svg>\n`;
}
const TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

function row(result: Result, middle: number, scenario: string, x: (times: number) => number): string {
  const times = timesBetter(result), aim = aimed(result);
  const tone = times < 1 ? "worse" : times < (aim ?? 1) ? "short" : "met";
  const text = (at: number, what: string, more = "") =>
    `<text class="ink" x="${at}" y="${middle + 4}"${more}>${escaped(what)}</text>`;
  const mark = aim === null ? "" : `<line class="ink aim" x1="${fixed(x(aim))}" y1="${middle - 7}" ` +
    `x2="${fixed(x(aim))}" y2="${middle + 7}" stroke-width="2"/>`;
  return text(SCENARIO, scenario, ' font-weight="600"') + text(METRIC, result.metric.name) +
    `<line class="line" x1="${LEFT}" y1="${middle}" x2="${RIGHT}" y2="${middle}" stroke-dasharray="1 4"/>` +
    `<line class="${tone}" x1="${fixed(x(1))}" y1="${middle}" x2="${fixed(x(times))}" y2="${middle}" ` +
    `stroke-width="3"/>${mark}<circle class="${tone}" cx="${fixed(x(times))}" cy="${middle}" r="4"/>` +
    text(NUMBER, `${readable(times)}×`, ' text-anchor="end"');
}

const inverse = ({ metric }: Result, ratio: number) => metric.better === "lower" ? 1 / ratio : ratio;
const timesBetter = (result: Result) => inverse(result, ratioOf(result));
const aimed = (result: Result) => result.metric.aim === undefined ? null : inverse(result, result.metric.aim);
