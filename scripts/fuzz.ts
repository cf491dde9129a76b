/** `deno task fuzz [--frames N] [--seed N]`: a real broker process among clients that send what they should not. */
import { join } from "node:path";
import { decodeHex, encodeHex } from "../src/base/hex.ts";
import { BrokerProcess } from "../tests/lib/broker_process.ts";
import { fuzzedBrokerSettings, type FuzzReport, FuzzRun } from "../tests/hostile/fuzz.ts";
import { MAX_NEIGHBOUR_MS, MAX_RSS_MIB } from "../tests/hostile/promises.ts";
import { type TaskArgs, taskArgs } from "./lib/task_args.ts";

/** After so long a broker that nobody asks anything has given back what it does not need. */
const QUIET_MS = 15_000;

const usage = `deno task fuzz [flags]: a real broker process among clients that send what they should not

  --frames N           how many mutated frames to send (100000)
  --seed N             what to send: the same seed sends the same, but for times and ids that the broker gives
  --from N             begin with this case
  --only N             this case alone, to see a finding again
  --replay FILE|HEX    send these bytes, as a finding printed them, and show what comes back
  --connections N      at a time (32)
  --max-rss-mib N      memory that the broker may have (${MAX_RSS_MIB})
  --findings FILE      where to keep findings with all of their bytes (in the temporary directory)

Ends with 1 when something was found. The broker's data is kept then.`;

Deno.exit(await main(taskArgs("fuzz", usage)));

/** Gives the exit code. */
async function main(flags: TaskArgs): Promise<number> {
  const parent = await Deno.makeTempDir({ prefix: "trackway-fuzz-" });
  const settings = fuzzedBrokerSettings.flatMap((setting) => ["--set", setting]);
  const broker = await BrokerProcess.start(join(parent, "data"), 0, { args: settings });
  let isClean = false;
  try {
    const bytes = flags.text("replay");
    if (bytes !== undefined) {
      await replay(broker, bytes);
      isClean = true;
      return 0;
    }
    const seed = flags.number("seed", Math.floor(Math.random() * 2 ** 31));
    const only = flags.has("only") ? flags.number("only", 0) : null;
    console.log(`seed ${seed}, broker ${broker.pid}`);
    const run = new FuzzRun(broker, {
      seed,
      frames: only === null ? flags.number("frames", 100_000) : 1,
      from: only ?? flags.number("from", 0),
      connections: only === null ? flags.number("connections", 32) : 1,
      maxRssBytes: flags.number("max-rss-mib", MAX_RSS_MIB) * 1024 * 1024,
      maxNeighbourMs: MAX_NEIGHBOUR_MS,
      quietMs: only === null ? QUIET_MS : 0,
      say: (line) => console.log(line),
    });
    const report = await run.run();
    print(report);
    const file = flags.text("findings") ?? join(parent, "findings.jsonl");
    const lines = report.findings.map((finding) => JSON.stringify({ seed, ...finding }) + "\n");
    if (lines.length > 0) {
      await Deno.writeTextFile(file, lines.join(""));
      console.log(`Findings in ${file}`);
    }
    isClean = report.findings.length === 0;
    return isClean ? 0 : 1;
  } finally {
    const exit = await broker.end("SIGTERM");
    if (exit.code !== 0) {
      console.log(broker.described(`The broker ended with ${exit.code} ${exit.signal ?? ""}`));
    }
    if (isClean) await Deno.remove(parent, { recursive: true });
  }
}

function print(report: FuzzReport): void {
  const { neighbour, slowest, findings } = report;
  const mib = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;
  console.log(
    [
      `${report.frames} frames in ${report.cases} cases, ${report.seconds.toFixed(0)} s: ${
        JSON.stringify(report.ends)
      }`,
      `  kinds      ${JSON.stringify(report.kinds)}`,
      `  memory     ${mib(report.peakRssBytes)} at most, ${
        mib(report.lastRssBytes)
      } when all was quiet again`,
      `  neighbour  ${neighbour.rounds} rounds, p50 ${neighbour.p50Ms.toFixed(2)} ms, ` +
      `p99 ${neighbour.p99Ms.toFixed(2)} ms, at most ${neighbour.maxMs.toFixed(0)} ms`,
      ...slowest.slice(0, 5).map(({ ms, number, kind, sent }) =>
        `  slow       ${ms.toFixed(0)} ms: case ${number} (${kind}) ${sent.slice(0, 120)}`
      ),
      `${findings.length} findings`,
    ].join("\n"),
  );
}

/** Sends bytes as they are and shows the answer, its end and what the broker says. */
async function replay(broker: BrokerProcess, source: string): Promise<void> {
  const bytes = decodeHex(await hexOf(source));
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: broker.port });
  const startedAt = performance.now();
  for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
  await conn.closeWrite();
  const piece = new Uint8Array(65_536);
  try {
    for (let read = await conn.read(piece); read !== null; read = await conn.read(piece)) {
      console.log(
        `answer after ${Math.round(performance.now() - startedAt)} ms: ${encodeHex(piece.subarray(0, read))}`,
      );
    }
    console.log("closed by the broker");
  } catch (error) {
    console.log(`the connection broke: ${error}`);
  }
  // All that it has to say is there once it has ended.
  await broker.end("SIGTERM");
  console.log(broker.described("Replayed."));
}

/** Hex as it is, the first finding of a file of findings, or a file of hex. */
async function hexOf(source: string): Promise<string> {
  if (/^[0-9a-fA-F]+$/.test(source)) return source;
  const text = await Deno.readTextFile(source);
  return text.startsWith("{") ? JSON.parse(text.split("\n")[0]).sent : text.trim();
}
