/**
 * A soak: a broker under a steady load for half an hour, stopped and killed in turns every few minutes. What it needs has
 * to stay level, and nothing that it acknowledged may be lost. The load is librdkafka's, an idempotent producer and a
 * group of two; lib/soak_client.py checks what they see. Beside it topics, groups and connections come and go.
 *
 *     deno task bench:soak [MINUTES] [--restart-every SECONDS] [--rate RECORDS] [--port N] [--docs]
 *
 * Writes dist/soak.json and dist/soak.svg, with --docs into docs/bench. Ends with 1 when something was lost, or when memory
 * or open files of the second half were more than those of the first.
 */
import { join } from "node:path";
import { numberProblem, taskArgs } from "../scripts/lib/task_args.ts";
import { deleteTopics } from "../src/codec/messages/delete_topics.ts";
import { connect, makeTopics, Member, must, untilCoordinated } from "./lib/admin.ts";
import { trackway } from "./lib/brokers.ts";
import { exists } from "./lib/paths.ts";
import { CpuMeter, openHandles, residentBytes } from "./lib/process_stats.ts";
import { sleep } from "./lib/scenario.ts";
import { type Restart, type Sample, type Soak, soakChart, unlevel } from "./lib/soak_chart.ts";

const checkout = join(import.meta.dirname!, "..");
const usage =
  `deno task bench:soak [MINUTES] [flags]: a steady load with restarts, for 30 minutes if nothing is said

  --restart-every N    seconds between two restarts (240)
  --rate N             records a second (2000)
  --port N             port of the broker (21600)
  --docs               write the result into docs/bench too, not into dist only`;
const flags = taskArgs("bench:soak", usage, 1, numberProblem);
const seconds = Number(flags.words[0] ?? 30) * 60;
const rate = flags.number("rate", 2000);
const restartSeconds = flags.number("restart-every", 240), port = flags.number("port", 21600);

const PARTITIONS = 4;
const TOPIC = "steady";
/** So small that segments roll and are deleted all the time. */
const SETTINGS = { "segment.bytes": 16_000_000, "retention.bytes": 50_000_000, "file.delete.delay.ms": 5000 };
const ENVIRONMENT = {
  TRACKWAY_LOG_RETENTION_CHECK_INTERVAL_MS: "5000",
  TRACKWAY_GROUP_INITIAL_REBALANCE_DELAY_MS: "0",
};
/** A client that is gone for that long after the load's own end is stuck. */
const PATIENCE_SECONDS = 180;

const python = Deno.env.get("BENCH_PYTHON") ?? join(checkout, ".cache/clients/python/bin/python");
if (!await exists(python)) {
  console.error(`There is no ${python}: run deno task test:clients once, or set BENCH_PYTHON`);
  Deno.exit(2);
}

const home = await Deno.makeTempDir({ prefix: "trackway-soak-" });
const kind = trackway(checkout);
let broker = await kind.start(port, join(home, "data"), ENVIRONMENT);
let cpu = new CpuMeter(broker.pid), cpuSince = performance.now();
const began = performance.now();
const now = () => (performance.now() - began) / 1000;
const samples: Sample[] = [], restarts: Restart[] = [];
let last: { wrong?: string[]; acked: number; consumed: number; refused: number } | null = null;
let over = false, isAway = false;

try {
  const admin = await connect(port);
  await makeTopics(admin, TOPIC, 1, PARTITIONS, SETTINGS);
  await untilCoordinated(admin, TOPIC);
  await admin.close();
  await Promise.race([Promise.all([load(), restarting(), churning()]), deadline()]);
} finally {
  over = true;
  await broker.stop();
  await Deno.remove(home, { recursive: true });
}

const commit = await new Deno.Command("git", { args: ["-C", checkout, "describe", "--always", "--dirty"] })
  .output();
const soak: Soak = {
  date: new Date().toISOString(),
  version: new TextDecoder().decode(commit.stdout).trim(),
  minutes: seconds / 60,
  rate,
  acked: last!.acked,
  consumed: last!.consumed,
  refused: last!.refused,
  wrong: last!.wrong ?? ["the client did not come to its end"],
  samples,
  restarts,
};
for (
  const directory of [join(checkout, "dist"), ...flags.has("docs") ? [join(checkout, "docs/bench")] : []]
) {
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(join(directory, "soak.json"), JSON.stringify(soak) + "\n");
  await Deno.writeTextFile(join(directory, "soak.svg"), soakChart(soak));
}
const failures = [...soak.wrong, ...unlevel(soak)];
console.log(`${soak.acked} records acknowledged, ${soak.refused} refused, ${restarts.length} restarts`);
for (const failure of failures) console.error(`FAILED: ${failure}`);
Deno.exit(failures.length === 0 ? 0 : 1);

/** The client's process; each line that it says is the time for a sample. */
async function load(): Promise<void> {
  const child = new Deno.Command(python, {
    args: [
      ...[join(import.meta.dirname!, "lib/soak_client.py"), `127.0.0.1:${port}`, `${TOPIC}-0`],
      ...[String(PARTITIONS), String(rate), String(seconds)],
    ],
    stdout: "piped",
    // librdkafka says there that it lost its connection, at every restart.
    stderr: "null",
  }).spawn();
  let text = "";
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (text + part).split("\n");
    text = lines.pop()!;
    for (const line of lines) take(JSON.parse(line));
  }
  const { code } = await child.status;
  if (code !== 0) throw new Error(`soak_client.py ended with ${code}`);
  over = true;
}

function take(said: NonNullable<typeof last> & Pick<Sample, "p50" | "p99" | "waiting">): void {
  last = said;
  // The last words are of a load that has ended.
  if (said.wrong !== undefined) return;
  const { p50, p99, waiting, acked, consumed } = said;
  const measured = resources();
  if (measured === null) return;
  samples.push({ seconds: now(), p50, p99, waiting, acked, consumed, ...measured });
  const { memoryBytes, handles, cpuShare } = measured;
  console.log(
    `${now().toFixed(0).padStart(5)} s  ${(memoryBytes / 1e6).toFixed(0)} MB  ${handles} files  ` +
      `CPU ${(cpuShare * 100).toFixed(0)} %  p50 ${p50?.toFixed(1) ?? "-"}  p99 ${
        p99?.toFixed(1) ?? "-"
      } ms  ` +
      `${acked} acknowledged, ${consumed} consumed, ${waiting} on the way`,
  );
}

/** Of the broker; null while there is none. */
function resources(): Pick<Sample, "memoryBytes" | "handles" | "cpuShare"> | null {
  try {
    const cpuShare = cpu.seconds() / ((performance.now() - cpuSince) / 1000);
    cpu = new CpuMeter(broker.pid), cpuSince = performance.now();
    return { memoryBytes: residentBytes(broker.pid), handles: openHandles(broker.pid), cpuShare };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** SIGTERM and SIGKILL in turns, and the next start at once. The last minutes are left alone. */
async function restarting(): Promise<void> {
  for (let next = restartSeconds; next < seconds - 10; next += restartSeconds) {
    while (now() < next && !over) await sleep(200);
    if (over) return;
    const signal = restarts.length % 2 === 0 ? "SIGKILL" : "SIGTERM";
    const at = now();
    isAway = true;
    await (signal === "SIGKILL" ? broker.kill() : broker.stop());
    broker = await kind.start(port, join(home, "data"), ENVIRONMENT);
    cpu = new CpuMeter(broker.pid), cpuSince = performance.now();
    restarts.push({ seconds: at, signal, awaySeconds: now() - at });
    isAway = false;
    console.log(`${at.toFixed(0).padStart(5)} s  ${signal}, away for ${(now() - at).toFixed(1)} s`);
  }
}

/** A topic, a group and a connection that come and go, twice a second: what they leave behind would add up. */
async function churning(): Promise<void> {
  for (let turn = 0; !over; turn++) {
    await sleep(500);
    const life = restarts.length;
    try {
      const client = await connect(port);
      try {
        await makeTopics(client, `brief-${turn}`, 1, 2, { "file.delete.delay.ms": 1000 });
        const member = new Member(client, `brief-${turn}`);
        await member.join();
        await member.commit(`brief-${turn}-0`, 0);
        await member.leave();
        const names = [`brief-${turn}-0`];
        const { responses } = await client.send(deleteTopics, 5, {
          topics: [],
          topicNames: names,
          timeoutMs: 5000,
        });
        must("DeleteTopics", responses[0].errorCode);
      } finally {
        await client.close();
      }
    } catch (error) {
      // A broker that goes takes this with it; one that stays must not refuse.
      if (!over && !isAway && life === restarts.length) throw error;
    }
  }
}

async function deadline(): Promise<never> {
  while (now() < seconds + PATIENCE_SECONDS) await sleep(1000);
  throw new Error("the client did not come to its end");
}
