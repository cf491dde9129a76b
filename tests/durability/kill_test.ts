/**
 * The real process under load, ended again and again at moments that a seed chooses: with `kill -9` on its way, in the
 * middle of its start, and with SIGTERM. What was acknowledged stays: every record where its acknowledgement said, those
 * of idempotent producers exactly once; what a consumer has read never changes; commits never go back.
 *
 * A kill leaves what was written in the page cache; what a loss of power takes is for the storage tests' simulated disk.
 * DURABILITY_SEED runs another course.
 */
import { assertEquals } from "@std/assert/equals";
import { join } from "node:path";
import { assert } from "../../src/base/assert.ts";
import { Prng } from "../../src/base/prng.ts";
import { CLEAN_SHUTDOWN_FILE } from "../../src/storage/directory/checkpoints.ts";
import { BrokerProcess, PATIENCE_MS, withDataDir, within } from "./broker_process.ts";
import { Consumer } from "./consumers.ts";
import { checkAcknowledged, checkOrder, checkSeen, checkTimes, readWhole } from "./ledger.ts";
import { IdempotentProducer, PlainProducer } from "./producers.ts";
import { connect, createTopic, topicIds } from "./requests.ts";
import { TopicChurn } from "./topic_churn.ts";
import { Progress, Target } from "./target.ts";

const TOPIC = "orders";
const PARTITIONS = [0, 1, 2];
const ROUNDS = 5;
/** Small segments and dense indexes, so that there is much to roll and to rebuild. */
const CONFIGS = {
  "internal.segment.bytes": "60000",
  "index.interval.bytes": "500",
  "segment.index.bytes": "4000",
};
/** Warnings that a kill may leave behind: the end of the log that was being written. */
const EXPECTED_AFTER_KILL = /cut \d+ bytes off the end of/;

/** One course: a load, and the broker that it is put on. */
class Course {
  private readonly random: Prng;
  private readonly target = new Target();
  private readonly progress = new Progress();
  /** Of the topics that come and go, which take longer than a record does. */
  private readonly churned = new Progress();
  private readonly producers: (PlainProducer | IdempotentProducer)[] = [];
  private readonly consumers: Consumer[] = [];
  private readonly running: Promise<void>[] = [];
  private readonly failed = Promise.withResolvers<never>();
  private churn: TopicChurn | null = null;
  private topicId = "";
  private warningsAtStart = 0;
  broker: BrokerProcess | null = null;

  constructor(
    seed: number,
    private readonly dataDir: string,
    private readonly configs: Record<string, string>,
  ) {
    this.random = new Prng(seed);
    // Waited for only while something runs.
    this.failed.promise.catch(() => {});
  }

  /** Starts the broker, makes the topic and sets the load going. */
  async begin(): Promise<void> {
    this.broker = await BrokerProcess.start(this.dataDir);
    const client = await connect(this.broker.port);
    this.topicId = await createTopic(client, TOPIC, PARTITIONS.length, this.configs);
    await client.close();
    const options = (name: string, partitions: readonly number[]) => ({
      ...{ name, topic: TOPIC, partitions, random: this.random.fork() },
      ...{ target: this.target, progress: this.progress },
    });
    this.producers.push(
      new IdempotentProducer(options("once-a", PARTITIONS)),
      new IdempotentProducer(options("once-b", [0])),
      new PlainProducer(options("plain-a", PARTITIONS)),
      new PlainProducer(options("plain-b", [2])),
    );
    for (const partition of PARTITIONS) {
      this.consumers.push(
        new Consumer({
          ...options("", []),
          groupId: `readers-${partition}`,
          partition,
          isMember: partition !== 1,
        }),
      );
    }
    this.churn = new TopicChurn({ ...options("", []), progress: this.churned });
    this.target.up(this.broker.port);
    for (const client of [...this.producers, ...this.consumers, this.churn]) this.set(client);
  }

  private set(client: { run(): Promise<void> }): void {
    const run = client.run();
    run.catch((error) => this.failed.reject(error));
    this.running.push(run);
  }

  /** Some more acknowledgements, a number of them that the seed chooses; a new producer joins with them. */
  async load(round: number): Promise<void> {
    const late = new IdempotentProducer({
      ...{ name: `late-${round}`, topic: TOPIC, partitions: [this.random.pick(PARTITIONS)] },
      ...{ random: this.random.fork(), target: this.target, progress: this.progress },
    });
    this.producers.push(late);
    this.set(late);
    const enough = [
      this.progress.more(this.random.between(20, 700)),
      this.churned.more(this.random.between(1, 8)),
    ];
    await this.during(Promise.all(enough), "the load");
  }

  /** Ends the broker and starts it again, once more if the seed wills that the start is cut short. */
  async restart(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.target.ending();
    const exit = await this.broker!.end(signal);
    if (signal === "SIGTERM") {
      assertEquals(exit.code, 0, this.broker!.described("The exit code after SIGTERM"));
      const sinceItWasUp = this.broker!.warnings.slice(this.warningsAtStart);
      assertEquals(sinceItWasUp, [], "warnings until the end of a broker that was stopped in order");
      // Throws when it is not there.
      await Deno.stat(join(this.dataDir, CLEAN_SHUTDOWN_FILE));
    }
    if (signal === "SIGKILL" && this.random.chance(0.4)) await this.startCutShort();
    this.broker = await BrokerProcess.start(this.dataDir);
    await this.checkStart(signal);
    this.target.up(this.broker.port);
  }

  /** A start that is killed somewhere: the time is not waited for, it is where the kill falls. */
  private async startCutShort(): Promise<void> {
    this.broker = BrokerProcess.spawn(this.dataDir);
    const timer = setTimeout(() => this.broker?.signal("SIGKILL"), this.random.between(20, 200));
    await this.broker.exit();
    clearTimeout(timer);
  }

  private async checkStart(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const broker = this.broker!;
    const expected = (line: string) => signal === "SIGKILL" && EXPECTED_AFTER_KILL.test(line);
    this.warningsAtStart = broker.warnings.length;
    assertEquals(broker.warnings.filter((line) => !expected(line)), [], "warnings at a start");
    const client = await connect(broker.port);
    assertEquals((await topicIds(client)).get(TOPIC), this.topicId, "the topic's id");
    await client.close();
  }

  /** Lets the load come to its end and holds everything against everything. */
  async finish(): Promise<void> {
    this.target.stop();
    await this.during(Promise.all(this.running), "the end of the load");
    const ids = this.producers.map((producer) =>
      producer instanceof IdempotentProducer ? producer.producerId : -1
    );
    const given = ids.filter((id) => id >= 0);
    assertEquals(new Set(given).size, given.length, `a producer id was given twice: ${given}`);
    const client = await connect(this.broker!.port);
    for (const partition of PARTITIONS) {
      const log = await within(readWhole(client, TOPIC, partition), `reading ${TOPIC}-${partition}`);
      let sent = 0;
      for (const producer of this.producers) {
        const batches = producer.sent.get(partition) ?? [];
        for (const { count } of batches) sent += count;
        checkAcknowledged(log, batches);
        checkOrder(log, producer.name, batches, producer instanceof PlainProducer);
      }
      assert(sent > 100, `only ${sent} records were sent to partition ${partition}`);
      checkSeen(log, this.consumers[partition].seen);
      const some = Array.from({ length: 20 }, () => this.random.int(log.labels.length));
      await checkTimes(client, TOPIC, partition, log, some);
      const names = [...Deno.readDirSync(join(this.dataDir, `${TOPIC}-${partition}`))].map(({ name }) =>
        name
      );
      const segments = names.filter((name) => name.endsWith(".log")).length;
      assert(segments > 2, `partition ${partition} has ${segments} segments: nothing was rolled`);
    }
    await client.close();
    const churned = [...Deno.readDirSync(this.dataDir)].map(({ name }) => name).filter((name) =>
      /^churn-.-\d+$/.test(name)
    );
    assertEquals(churned.sort(), this.churn!.directories.sort(), "directories of topics that came and went");
  }

  /** What `promise` gives, unless a client fails first. */
  private during<T>(promise: Promise<T>, what: string): Promise<T> {
    return within(Promise.race([promise, this.failed.promise]), what, PATIENCE_MS);
  }
}

async function run(
  seed: number,
  configs: Record<string, string>,
  signalOf: (round: number) => "SIGKILL" | "SIGTERM",
): Promise<void> {
  await withDataDir(async (dataDir) => {
    const course = new Course(seed, dataDir, { ...CONFIGS, ...configs });
    try {
      await course.begin();
      for (let round = 0; round < ROUNDS; round++) {
        await course.load(round);
        await course.restart(signalOf(round));
      }
      await course.load(ROUNDS);
      await course.finish();
    } catch (error) {
      const { broker } = course;
      const text = `With seed ${seed}: ${error instanceof Error ? error.stack : error}`;
      throw new Error(broker?.described(text) ?? text, { cause: error });
    } finally {
      course.broker?.signal("SIGKILL");
      await course.broker?.exit();
    }
  });
}

const seed = Number(Deno.env.get("DURABILITY_SEED") ?? 20);

Deno.test("a broker that is killed under load loses, doubles and reorders nothing that it acknowledged", async () => {
  await run(seed, {}, () => "SIGKILL");
});

Deno.test("a broker that is told to stop under load ends in order, and starts without looking back", async () => {
  // Acknowledgements that wait for the disk, too.
  await run(seed + 1, { "flush.messages": "20" }, (round) => round % 3 === 2 ? "SIGKILL" : "SIGTERM");
});
