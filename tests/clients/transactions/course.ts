/**
 * Consume, transform, produce in transactions: one course for every client library. Two members of a group (one, if
 * the library cannot have more: transformers.ts) turn each record of the topic `input` into two of the topic `output`,
 * in transactions that also commit how far they have read; they abort some, are killed, fenced and outlived by their
 * transactions, and the broker is killed and stopped under them. Then a read_committed consumer must find each record
 * exactly once, in order, and each transaction whole or not at all (judge.ts).
 *
 * A library takes part with a program of two verbs (transformers.ts), which prints JSON lines on stdout, each flushed
 * at once, and logs on stderr. All flags are `--name value`.
 *
 *   transform --bootstrap B --transactional-id X --group G --input I --output O --partitions N --seed S
 *             --abort-rate R --transaction-timeout-ms T
 *
 * 1. Makes its transactional producer for X (timeout T, InitProducerId), then prints {"event":"ready"}, and only then
 *    joins group G (classic protocol, session timeout 6000 ms, a heartbeat each second, committed records only, no
 *    automatic commit, from the earliest offset).
 * 2. For what it reads at once, at most 20 records, it makes one transaction. Record `value` at `offset` of partition
 *    `p` becomes copy 0 in partition p of the output and copy 1 in partition (p + 1) % N, with the text
 *        "p offset copy tx count value"
 *    where `tx` is a name without spaces that no other transaction of any run has (say X, the time and a number), and
 *    `count` how many records the transaction has in the output: twice those of the input. The offsets go into the
 *    transaction with the group's metadata, so that a member that is no longer one is fenced.
 * 3. When all of that is written: with probability R (its own generator, from seed S) it aborts, else it commits. After
 *    an abort it goes back to where the group has committed, and so after a transaction that it had to abort for an
 *    error (a rebalance, say).
 *    It prints {"event":"committed","tx":tx} when the commit was answered, {"event":"aborted","tx":tx} when the abort
 *    was (with "error" when that was not its own wish).
 * 4. When the library says that another producer has taken its id (fenced), it prints {"event":"fenced","tx":tx} and
 *    exits with code 3. At any other error that the library cannot go on from, it prints
 *    {"event":"failed","tx":tx,"error":"..."} (tx null outside a transaction) and exits with code 4: the course starts
 *    it again, as a supervisor would, where the broker or its transaction's timeout gave it a reason. Errors that pass
 *    (no connection, coordinator loading, concurrent transactions) are retried by the library or by the program.
 * 5. Lines on stdin: after `hold`, the next transaction stops before its end (written, the offsets sent where the
 *    library sends them apart), and it prints {"event":"holding","tx":tx}; after `go` it is committed, never aborted
 *    by chance. When stdin closes it ends what is under way, leaves the group and exits with 0.
 *
 *   follow --bootstrap B --topic O --partitions N
 *
 * Reads all partitions of the topic as a read_committed consumer without commits, from their start on, prints
 * {"partition":p,"offset":o,"value":"..."} for each record until stdin closes, and exits with 0. It outlives restarts
 * of the broker.
 */

import { join } from "node:path";

import { Prng } from "../../../src/base/prng.ts";
import type { Client as RawClient } from "../../../src/client/client.ts";
import { describeTransactions } from "../../../src/codec/messages/describe_transactions.ts";
import { accepted, committedBy, createTopic, LATEST, offsetFor } from "../../durability/requests.ts";
import type { Line, Running } from "../adapter.ts";
import { reference } from "../clients.ts";
import { type OwnCourse, runOwnCourse } from "../own_course.ts";
import type { Report } from "../report.ts";
import { Changes } from "../waiting.ts";
import { onceFault, orderFault, type Outcome, type Read, sameFault, toldFault, tornFault } from "./judge.ts";
import { readAll, unsettled } from "./read.ts";
import type { Transformer } from "./transformers.ts";

const input = "input";
const output = "output";
const group = "transform";
const partitions = [0, 1, 2];
/** Records per second. A transaction is well below what comes between two polls, so there are many. */
const rate = 50;
const abortRate = 0.2;
/** Long enough to be sure that nothing that goes on within a step has waited for it. */
const timeoutMs = 60_000;
const shortTimeoutMs = 4000;
/** A member gets on when it has committed this many transactions more. */
const progress = 3;
/** Exit codes by which a program says why it ended. */
const exitFenced = 3;
const exitFailed = 4;
/** Timeouts of transactions are looked at twice a second, and not every 10 s. */
const settings = { "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500" };

/** What the courses are called by which they are selected and reported. */
export function courseName(transformer: Transformer): string {
  return `transactions-${transformer.id}`;
}

/** Runs the course. Never throws: failures go to the report. */
export async function runTransactions(
  transformer: Transformer,
  logDir: string,
  report: Report,
): Promise<void> {
  const name = courseName(transformer);
  try {
    await reference.install();
    await transformer.install();
  } catch (error) {
    report.failed(name, "install", (error as Error).message);
    return;
  }
  const seed = Number(Deno.env.get("TRANSACTIONS_SEED") ?? 6);
  await runOwnCourse(
    name,
    logDir,
    report,
    settings,
    async (course) => {
      const running = new TransactionsCourse(course, transformer, seed);
      try {
        await running.run();
      } finally {
        await Deno.writeTextFile(join(logDir, name, "told.log"), running.told.join("\n"));
      }
    },
  );
}

/** One run of the program under a transactional id. */
class Member {
  readonly running: Running;
  committed = 0;
  /** Its transaction that waits for `go`. */
  holding: string | null = null;
  isReady = false;

  constructor(
    course: OwnCourse,
    command: readonly string[],
    readonly id: string,
    private readonly outcomes: Outcome[],
    private readonly told: string[],
    private readonly changes: Changes,
  ) {
    this.running = course.start([...command], (line) => this.take(line));
  }

  private take(line: Line): void {
    const { event, tx } = line;
    this.told.push(
      `${Math.round(performance.now())} ${this.id} ${event} ${tx ?? ""} ${line.error ?? ""}`.trimEnd(),
    );
    if (event === "ready") this.isReady = true;
    if (event === "holding") this.holding = tx;
    if (event === "committed") this.committed++;
    if (["committed", "aborted", "fenced", "failed"].includes(event) && typeof tx === "string") {
      this.outcomes.push({ tx, end: event });
      if (this.holding === tx) this.holding = null;
    }
    this.changes.notify();
  }
}

class TransactionsCourse {
  readonly changes = new Changes();
  readonly random: Prng;
  readonly outcomes: Outcome[] = [];
  /** What the members said, in order, for whoever wonders at a failure. */
  readonly told: string[] = [];
  readonly followed: Read[] = [];
  members: Member[] = [];
  feed!: Running;
  follower!: Running;

  constructor(
    private readonly course: OwnCourse,
    private readonly transformer: Transformer,
    private readonly seed: number,
  ) {
    this.random = new Prng(seed);
  }

  async run(): Promise<void> {
    const { course } = this;
    await course.step("start", async () => {
      await course.withClient(async (client) => {
        for (const topic of [input, output]) await createTopic(client, topic, partitions.length);
      });
      this.startFeed();
      this.follower = course.start(
        [
          ...this.transformer.command,
          "follow",
          ...this.flags({ topic: output, partitions: partitions.length }),
        ],
        ({ partition, offset, value }) => {
          this.followed.push({ partition, offset, value });
          this.changes.notify();
        },
      );
      const ids = this.transformer.alone ? ["one"] : ["one", "two"];
      this.members = ids.map((id) => this.start(id));
      await this.getOn();
    });
    await course.step("killed at random, and started again", async () => {
      for (let kill = 0; kill < 3; kill++) {
        const victim = this.random.int(this.members.length);
        const enough = this.members[victim].committed + this.random.int(10);
        await this.until(() => this.members[victim].committed >= enough, "a moment to kill it");
        await this.again(victim);
      }
      await this.getOn();
    });
    await course.step("broker killed", async () => {
      await course.broker.stop("SIGKILL");
      await course.broker.start();
      await this.getOn();
    });
    await course.step("broker stopped and killed under open transactions, which are committed", async () => {
      for (const signal of ["SIGTERM", "SIGKILL"] as const) {
        const [member] = this.members;
        const tx = await this.hold(member);
        await course.broker.stop(signal);
        await course.broker.start();
        member.running.tell("go");
        await this.until(() => this.endOf(tx) !== null, `the end of ${tx}`);
        const end = this.endOf(tx)!;
        // A member that lost its partitions in between is not to commit what it read.
        if (end !== "committed" && end !== "aborted") throw new Error(`transaction ${tx} ${end}`);
      }
      await this.getOn();
    });
    await course.step("killed in a transaction, which the next start aborts", async () => {
      await this.hold(this.members[0]);
      await this.again(0);
      await this.getOn();
    });
    await course.step("fenced by another with its id", async () => {
      const [old] = this.members;
      const tx = await this.hold(old);
      // The next two steps want a transaction of it to run out of time.
      const next = this.start(old.id, shortTimeoutMs);
      await this.until(() => next.isReady, "the next one to be ready", [next]);
      old.running.tell("go");
      await this.ended(old, exitFenced);
      if (this.endOf(tx) !== "fenced") throw new Error(`the fenced transaction ${tx} ${this.endOf(tx)}`);
      this.members[0] = next;
      await this.getOn();
    });
    await course.step("outlived by its transaction's timeout", async () => {
      const [late] = this.members;
      const tx = await this.hold(late);
      await this.timedOut(late.id);
      late.running.tell("go");
      await this.until(() => this.endOf(tx) !== null, `the end of ${tx}`, this.members.slice(1));
      if (this.endOf(tx) === "committed") {
        throw new Error(`transaction ${tx} was committed after its timeout`);
      }
      if (this.endOf(tx) !== "aborted") {
        await this.ended(late, this.endOf(tx) === "fenced" ? exitFenced : exitFailed);
        this.members[0] = this.start(late.id, shortTimeoutMs);
      }
      await this.getOn();
    });
    await course.step("killed in a transaction for good, another takes over", async () => {
      await this.hold(this.members[0]);
      const gone = this.members.shift()!;
      await course.kill(gone.running);
      await this.timedOut(gone.id);
      if (this.members.length === 0) this.members.push(this.start("another"));
      await this.getOn();
    });
    let read: Read[] = [], made: Read[] = [];
    await course.step("ends in order", async () => {
      await course.end(this.feed, "stdin", 0);
      await this.drained();
      for (const { running } of this.members) await course.end(running, "stdin", 0);
      await this.settled();
      await course.withClient(async (client) => {
        read = await readAll(client, input, partitions);
        made = await readAll(client, output, partitions);
      });
    });
    await course.step("every record is there exactly once", () => holds(onceFault(read, made)));
    await course.step("in the order of the input", () => holds(orderFault(made, partitions.length)));
    await course.step("transactions are whole", () => holds(tornFault(made)));
    await course.step("transactions ended as was told", () => holds(toldFault(this.outcomes, made)));
    await course.step("the follower was given the same", async () => {
      await course.until(
        this.changes,
        () => this.followed.length >= made.length,
        [this.follower],
        () => `the follower to come to its end, ${made.length}; it is at ${this.followed.length}`,
      );
      await course.end(this.follower, "stdin", 0);
      await holds(sameFault(made, this.followed));
    });
  }

  private flags(more: Record<string, string | number>): string[] {
    const all = { bootstrap: this.course.broker.bootstrap, ...more };
    return Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]);
  }

  /** The reference client's `pump`, whose producer is idempotent, feeds the input. */
  private startFeed(): void {
    const flags = this.flags({
      ...{ topic: input, partitions: partitions.length, producer: "feed", idempotent: "true", acks: "all" },
      ...{ codec: "gzip", rate, seed: this.seed },
    });
    this.feed = this.course.start([...reference.command, "pump", ...flags]);
  }

  private start(id: string, transactionTimeoutMs = timeoutMs): Member {
    const flags = this.flags({
      ...{ "transactional-id": id, group, input, output, partitions: partitions.length },
      ...{ seed: this.random.nextU32() >>> 1, "abort-rate": abortRate },
      "transaction-timeout-ms": transactionTimeoutMs,
    });
    const command = [...this.transformer.command, "transform", ...flags];
    return new Member(this.course, command, id, this.outcomes, this.told, this.changes);
  }

  /** Kills a member as a crash would, and starts another with its id. */
  private async again(index: number): Promise<void> {
    const { id, running } = this.members[index];
    await this.course.kill(running);
    this.members[index] = this.start(id);
  }

  /** Waits while all members and the others live. */
  private until(
    holds: () => boolean,
    what: string,
    members: readonly Member[] = this.members,
  ): Promise<void> {
    const alive = [...members.map(({ running }) => running), this.feed, this.follower];
    return this.course.until(this.changes, holds, alive, () => what);
  }

  /** Every member commits some transactions more, and the follower is given records. */
  private async getOn(): Promise<void> {
    const enough = this.members.map(({ committed }) => committed + progress);
    const followed = this.followed.length;
    await this.until(
      () =>
        this.members.every(({ committed }, i) => committed >= enough[i]) && this.followed.length > followed,
      "every member and the follower to get on",
    );
  }

  /** Has a member stop within its next transaction, and gives that one's name. */
  private async hold(member: Member): Promise<string> {
    member.running.tell("hold");
    await this.until(() => member.holding !== null, `${member.id} to hold`);
    return member.holding!;
  }

  private endOf(tx: string): Outcome["end"] | null {
    return this.outcomes.find((outcome) => outcome.tx === tx)?.end ?? null;
  }

  /** Waits for a member to end by itself. */
  private async ended({ running }: Member, code: number): Promise<void> {
    await running.finished;
    running.closeStdin();
    if (running.exitCode !== code) throw running.failure(`ended with ${running.exitCode}, not ${code}`);
  }

  /** Waits until the broker has given up an id's transaction. */
  private async timedOut(id: string): Promise<void> {
    let state = "";
    await this.course.look(
      () => `${id} to be aborted; it is ${state}`,
      () =>
        this.course.withClient(async (client) => {
          const { transactionStates: [found] } = await client.send(describeTransactions, 0, {
            transactionalIds: [id],
          });
          state = found.transactionState;
          return state === "CompleteAbort" ? true : null;
        }),
    );
  }

  /** Waits until all markers are written: a commit is answered before that, and a group may have its own earlier. */
  private async settled(): Promise<void> {
    let open = 0;
    await this.course.look(
      () => `${open} records to be committed or aborted`,
      () =>
        this.course.withClient(async (client) => {
          open = await unsettled(client, output, partitions);
          return open === 0 ? true : null;
        }),
    );
  }

  /** Waits until the group has committed the end of the input. */
  private async drained(): Promise<void> {
    let behind = 0;
    await this.course.look(
      () => `the group to commit the end of its topic; it is ${behind} behind`,
      () =>
        this.course.withClient(async (client) => {
          behind = await lag(client);
          return behind === 0 ? true : null;
        }),
    );
  }
}

async function lag(client: RawClient): Promise<number> {
  let found = new Map<number, number>();
  await accepted(`OffsetFetch of ${group}`, async () => {
    found = await committedBy(client, group, input, partitions);
    return 0;
  });
  let behind = 0;
  for (const partition of partitions) {
    behind += await offsetFor(client, input, partition, LATEST) - Math.max(0, found.get(partition)!);
  }
  return behind;
}

/** Throws the fault that was found. */
function holds(fault: string | null): Promise<void> {
  return fault === null ? Promise.resolve() : Promise.reject(new Error(fault));
}
