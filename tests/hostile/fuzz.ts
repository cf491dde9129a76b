/**
 * A run of the fuzzer against a broker that is a process of its own: cases by number under a seed until enough frames
 * are sent, beside them a neighbour that keeps to the protocol. Whatever a broker ought not to do is a finding: to end,
 * to log an error, to leave a request without an answer, to answer what cannot be read, to take more memory than is
 * stated, to disturb the neighbour.
 */
import { encodeHex } from "../../src/base/hex.ts";
import type { BrokerProcess } from "../lib/broker_process.ts";
import { caseOf } from "./cases.ts";
import { joined } from "./byte_sink.ts";
import { Janitor } from "./janitor.ts";
import { cpuTicks, residentBytes } from "./process.ts";
import type { NeighbourNews, NeighbourOrder } from "./neighbour.ts";
import { type Link, Wire } from "./wire.ts";

/** The broker's settings in a run, that differ from the defaults: what it is asked for must not fill the disk. */
export const fuzzedBrokerSettings: readonly string[] = [
  "num.partitions=1",
  "offsets.topic.num.partitions=4",
  "group.initial.rebalance.delay.ms=0",
  "log.retention.check.interval.ms=1000",
  "log.segment.bytes=1048576",
  "log.retention.bytes=2000000",
];

export interface FuzzOptions {
  readonly seed: number;
  /** Frames to send, probes not counted. */
  readonly frames: number;
  /** The first case. */
  readonly from?: number;
  /** Connections at a time. */
  readonly connections: number;
  /** The most resident memory that the broker may have. */
  readonly maxRssBytes: number;
  /** How long the broker is left alone at the end, before its memory is looked at once more; not at all if left out. */
  readonly quietMs?: number;
  /** The longest that a round of the neighbour's may take. */
  readonly maxNeighbourMs: number;
  /** Told of each finding as it comes, and now and then how far the run is. */
  readonly say: (line: string) => void;
}

/** Something that a broker ought not to do. */
export interface Finding {
  readonly what: string;
  /** The case, -1 when it cannot be told which one it was. */
  readonly number: number;
  /** What was sent on that connection in that case, in hex. */
  readonly sent: string;
}

export interface FuzzReport {
  readonly frames: number;
  readonly cases: number;
  readonly seconds: number;
  readonly ends: Readonly<Record<string, number>>;
  readonly kinds: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
  readonly peakRssBytes: number;
  readonly lastRssBytes: number;
  readonly neighbour: {
    readonly rounds: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly maxMs: number;
  };
  /** The requests that took longest, as this side sees it. */
  readonly slowest: readonly Slow[];
}

export interface Slow {
  readonly ms: number;
  readonly number: number;
  readonly kind: string;
  readonly sent: string;
}

/** One case that runs or ran lately. */
interface Running {
  readonly number: number;
  readonly kind: string;
  readonly ports: Set<number>;
  readonly sent: Uint8Array[];
}

/** So many findings are enough: the run ends. */
const ENOUGH_FINDINGS = 20;
/** A connection is used for so many cases on average. */
const REUSED = 40;
const SAMPLE_EVERY_MS = 250;
const TELL_EVERY_MS = 10_000;
const RECENT = 500;
const SLOWEST = 10;
const CPU_SAMPLES = 200;
/** What the system counts CPU in, nearly everywhere. */
const MS_PER_TICK = 10;
/** A broker that held a neighbour up worked for this share of the time; with less it waited for a processor or a disk. */
const WORKING_SHARE = 0.25;

export class FuzzRun {
  private readonly findings: Finding[] = [];
  private readonly ends: Record<string, number> = { answered: 0, closed: 0, held: 0 };
  private readonly kinds: Record<string, number> = {};
  /** Cases that run, and the last ones that did, for what comes to light a little later. */
  private readonly recent: Running[] = [];
  private slowest: Slow[] = [];
  private readonly cpu: { atMs: number; ticks: number }[] = [];
  private frames = 0;
  private next: number;
  private cases = 0;
  private linesSeen = 0;
  private peakRssBytes = 0;
  private lastRssBytes = 0;
  private isOver = false;

  constructor(private readonly broker: BrokerProcess, private readonly options: FuzzOptions) {
    this.next = options.from ?? 0;
  }

  async run(): Promise<FuzzReport> {
    const { options, broker } = this;
    const startedAt = performance.now();
    const failed = (error: unknown) => this.find(`the janitor's request failed: ${error}`);
    const janitor = await Janitor.start(broker.port, failed);
    const neighbour = await Neighbour.start(broker.port, (ms) => {
      const cpu = this.cpuOfLast(ms);
      const isBusy = cpu < ms * WORKING_SHARE;
      options.say(
        `a round of the neighbour's took ${Math.round(ms)} ms, in which the broker had ${cpu} ms of CPU: ` +
          (isBusy ? "it waited, the machine was busy" : this.recentCases()),
      );
    });
    let saidAt = performance.now();
    const sampling = setInterval(() => {
      this.watch();
      if (performance.now() - saidAt < TELL_EVERY_MS) return;
      saidAt = performance.now();
      options.say(
        `${this.frames} frames, ${this.cases} cases, ${Math.round(this.lastRssBytes / 1e6)} MB, ` +
          `${this.findings.length} findings`,
      );
    }, SAMPLE_EVERY_MS);
    try {
      await Promise.all(Array.from({ length: options.connections }, () => this.attack(janitor)));
    } finally {
      clearInterval(sampling);
      this.isOver = true;
    }
    const { roundsMs, failure } = await neighbour.stop();
    await janitor.stop().catch(failed);
    if (options.quietMs !== undefined) await new Promise((resolve) => setTimeout(resolve, options.quietMs));
    this.watch();
    if (failure !== null) this.find(`the neighbour failed: ${failure}`);
    const sorted = Float64Array.from(roundsMs).sort();
    const at = (share: number) =>
      sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
    const result = { rounds: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
    if (!(result.maxMs <= options.maxNeighbourMs)) {
      this.find(
        `a round of the neighbour's took ${result.maxMs} ms, at most ${options.maxNeighbourMs} are allowed`,
      );
    }
    return {
      frames: this.frames,
      cases: this.cases,
      seconds: (performance.now() - startedAt) / 1000,
      ends: this.ends,
      kinds: this.kinds,
      findings: this.findings,
      peakRssBytes: this.peakRssBytes,
      lastRssBytes: this.lastRssBytes,
      neighbour: result,
      slowest: this.slowest,
    };
  }

  /** One case after the other, over one connection as long as it lives. */
  private async attack(janitor: Janitor): Promise<void> {
    let wire: Wire | null = null;
    while (this.frames < this.options.frames && this.findings.length < ENOUGH_FINDINGS && !this.isOver) {
      const number = this.next++;
      const { run, prng, kind } = caseOf(this.options.seed, number);
      const running: Running = { number, kind, ports: new Set(), sent: [] };
      this.recent.push(running);
      if (this.recent.length > RECENT) this.recent.shift();
      const link: Link = {
        send: async (frames, manner) => {
          if (wire === null || !wire.isOpen) wire = await Wire.connect(this.broker.port);
          running.ports.add(wire.localPort);
          running.sent.push(...frames);
          this.frames += frames.length;
          const outcome = await wire.attack(frames, manner, prng);
          this.ends[outcome.end]++;
          if (outcome.end !== "answered") wire.close();
          if (outcome.problem !== null) this.find(outcome.problem, running);
          if (outcome.end === "answered") this.note(outcome.ms, running, frames);
          return outcome;
        },
      };
      try {
        await run(link, prng, janitor.topicIds);
      } catch (error) {
        // The broker is gone, or does not accept: that ends the run.
        this.find(`a connection failed: ${error}`, running);
        this.isOver = true;
      }
      this.cases++;
      this.kinds[kind] = (this.kinds[kind] ?? 0) + 1;
      if (wire !== null && prng.int(REUSED) === 0) (wire as Wire).close();
    }
    (wire as Wire | null)?.close();
  }

  private note(ms: number, { number, kind }: Running, frames: readonly Uint8Array[]): void {
    if (this.slowest.length === SLOWEST && ms <= this.slowest[SLOWEST - 1].ms) return;
    this.slowest.push({ ms, number, kind, sent: encodeHex(joined(...frames)) });
    this.slowest = this.slowest.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  }

  /**
   * How much CPU the broker had in about the last `ms`. Much less than that means that it waited: for a core that
   * others had, or for the disk.
   */
  private cpuOfLast(ms: number): number {
    const since = performance.now() - ms;
    const from = this.cpu.findLast(({ atMs }) => atMs <= since) ?? this.cpu[0];
    return from === undefined
      ? 0
      : (cpuTicks(this.broker.pid) ?? from.ticks) * MS_PER_TICK - from.ticks * MS_PER_TICK;
  }

  /** Looks at the process's memory and at what it said. */
  private watch(): void {
    const ticks = cpuTicks(this.broker.pid);
    if (ticks !== null) this.cpu.push({ atMs: performance.now(), ticks });
    if (this.cpu.length > CPU_SAMPLES) this.cpu.shift();
    const rss = residentBytes(this.broker.pid);
    if (rss !== null) {
      this.lastRssBytes = rss.now;
      const wasBelow = this.peakRssBytes <= this.options.maxRssBytes;
      this.peakRssBytes = Math.max(this.peakRssBytes, rss.peak);
      if (wasBelow && this.peakRssBytes > this.options.maxRssBytes) {
        this.find(`the broker's memory reached ${this.peakRssBytes} bytes: ${this.recentCases()}`);
      }
    }
    const { said } = this.broker;
    for (; this.linesSeen < said.length; this.linesSeen++) {
      const line = said[this.linesSeen];
      if (!/ (ERROR|FATAL) |request failed|upkeep failed|AssertionError|Uncaught/.test(line)) continue;
      const port = Number(/of 127\.0\.0\.1:(\d+)/.exec(line)?.[1]);
      const whose = this.recent.findLast(({ ports }) => ports.has(port));
      this.find(`${line}\n${said.slice(this.linesSeen + 1, this.linesSeen + 12).join("\n")}`, whose);
    }
  }

  private recentCases(): string {
    return this.recent.slice(-this.options.connections).map(({ number, kind }) => `${number} ${kind}`).join(
      ", ",
    );
  }

  private find(what: string, whose?: Running): void {
    const sent = whose === undefined ? "" : encodeHex(joined(...whose.sent));
    this.findings.push({ what, number: whose?.number ?? -1, sent });
    this.options.say(
      `FOUND under seed ${this.options.seed}, case ${whose?.number ?? "unknown"} (${
        whose?.kind ?? "any"
      }): ${what}\n` +
        (sent === ""
          ? ""
          : `  sent: ${sent.length > 2000 ? `${sent.slice(0, 2000)}… (${sent.length / 2} bytes)` : sent}`),
    );
  }
}

/** The worker with the neighbour in it. */
class Neighbour {
  private readonly done = Promise.withResolvers<{ roundsMs: readonly number[]; failure: string | null }>();
  private readonly ready = Promise.withResolvers<void>();
  private readonly worker = new Worker(new URL("./neighbour.ts", import.meta.url), { type: "module" });

  private constructor(onSlow: (ms: number) => void) {
    this.worker.onmessage = ({ data }: MessageEvent<NeighbourNews>) => {
      if ("slow" in data) return onSlow(data.slow);
      this.ready.resolve();
      if ("done" in data) this.done.resolve(data.done);
    };
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.ready.resolve();
      this.done.resolve({ roundsMs: [], failure: event.message });
    };
  }

  static async start(port: number, onSlow: (ms: number) => void): Promise<Neighbour> {
    const neighbour = new Neighbour(onSlow);
    neighbour.order({ start: { port } });
    await neighbour.ready.promise;
    return neighbour;
  }

  private order(order: NeighbourOrder): void {
    this.worker.postMessage(order);
  }

  async stop(): Promise<{ roundsMs: readonly number[]; failure: string | null }> {
    this.order({ stop: true });
    return await this.done.promise;
  }
}
