/**
 * What the Node programs of tests/clients/transactions/course.ts share; the course says there what such a program does.
 *
 * A library gives `transform(t)`, which makes transactions of what it reads by `t.transact` until `t.stopped`,
 * `follow(t, emit)`, which reads what is committed or all (`t.committedOnly`), `producer(t)`, whose `begin()` is that of
 * `t.transact`, and `isFenced(error)`.
 */

import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

/** How many records of the input one transaction takes. */
export const mostRecords = 20;
const copies = 2;
const exitCodes = { fenced: 3, failed: 4 };

function emit(value) {
  process.stdout.write(JSON.stringify(value) + "\n");
}

/** Numbers from a seed, from 0 up to 1: the linear congruence that POSIX once proposed. */
function* numbers(seed) {
  for (let state = BigInt(seed);;) {
    state = (state * 25214903917n + 11n) % 2n ** 48n;
    yield Number(state >> 16n) / 2 ** 32;
  }
}

export class Transform {
  #flags;
  #library;
  #random;
  #number = 0;
  #tx = null;
  #wantsHold = false;
  #go = () => {};
  /** Resolves when the program is to end. */
  stopped;

  constructor(flags, library) {
    this.#flags = flags;
    this.#library = library;
    this.#random = numbers(flags.seed ?? 0);
    this.name = `${flags["transactional-id"]}-${Date.now()}`;
    this.transactionalId = flags["transactional-id"];
    this.transactionTimeoutMs = Number(
      flags["transaction-timeout-ms"] ?? 60_000,
    );
    this.group = flags.group;
    this.input = flags.input;
    this.output = flags.output;
    this.topic = flags.topic;
    this.committedOnly = (flags.isolation ?? "read_committed") === "read_committed";
    this.partitions = Number(flags.partitions);
    const lines = createInterface({ input: process.stdin });
    lines.on("line", (line) => {
      if (line === "hold") this.#wantsHold = true;
      if (line === "go") this.#go();
    });
    this.stopped = new Promise((resolve) => lines.on("close", resolve));
    this.stopped.then(() => this.#go());
  }

  /** The producer has its id, and nobody who had it before can go on. */
  ready() {
    emit({ event: "ready" });
  }

  /**
   * Makes one transaction of records, `{ partition, offset, value }`, and gives whether it was committed. `begin` gives
   * an object with `write(copies)`, where a copy is `{ partition, value }`, `sendOffsets()`, `commit()` and `abort()`.
   * When the library cannot go on, the process ends. `whileHolding` is called again and again.
   */
  async transact(records, begin, whileHolding = () => {}) {
    this.#tx = `${this.name}-${this.#number++}`;
    let aborts = this.#random.next().value < Number(this.#flags["abort-rate"]);
    let reason = null;
    let transaction = null;
    try {
      transaction = await begin();
      await transaction.write([...this.#copiesOf(records)]);
      await transaction.sendOffsets();
      if (this.#wantsHold) {
        aborts = false;
        await this.#hold(whileHolding);
      }
    } catch (error) {
      if (transaction === null || this.#library.isFenced(error)) {
        this.fail(error);
      }
      console.error(error);
      reason = error;
    }
    try {
      if (reason === null && !aborts) {
        await transaction.commit();
        this.#ended("committed");
        return true;
      }
      await transaction.abort();
      this.#ended("aborted", reason);
      return false;
    } catch (error) {
      this.fail(error);
    }
  }

  /** Says why the library cannot go on, and ends the process. */
  fail(error) {
    console.error(error);
    const how = this.#library.isFenced(error) ? "fenced" : "failed";
    this.#ended(how, error);
    process.exit(exitCodes[how]);
  }

  async #hold(whileHolding) {
    this.#wantsHold = false;
    const going = new Promise((resolve) => this.#go = resolve);
    emit({ event: "holding", tx: this.#tx });
    const timer = setInterval(whileHolding, 500);
    await going;
    clearInterval(timer);
  }

  *#copiesOf(records) {
    for (const { partition, offset, value } of records) {
      for (let copy = 0; copy < copies; copy++) {
        yield {
          partition: (partition + copy) % this.partitions,
          value: `${partition} ${offset} ${copy} ${this.#tx} ${copies * records.length} ${value}`,
        };
      }
    }
  }

  #ended(how, error = null) {
    emit({
      event: how,
      tx: this.#tx,
      ...(error === null ? {} : { error: String(error) }),
    });
    this.#tx = null;
  }
}

/** One transaction of its own in partition 0. */
async function write(library, t, { value, count, end }) {
  const transaction = await (await library.producer(t)).begin();
  await transaction.write(
    Array.from(
      { length: Number(count) },
      (_, i) => ({ partition: 0, value: `${value} ${i}` }),
    ),
  );
  await transaction[end]();
  emit({ ended: end });
}

/** Runs the verb of the command line with the library that `connect(bootstrap)` gives. */
export async function main(connect) {
  const names = [
    "bootstrap",
    "topic",
    "transactional-id",
    "group",
    "input",
    "output",
    "partitions",
    "seed",
  ]
    .concat([
      "abort-rate",
      "transaction-timeout-ms",
      "isolation",
      "value",
      "count",
      "end",
    ]);
  const { positionals: [verb], values } = parseArgs({
    allowPositionals: true,
    options: Object.fromEntries(
      names.map((name) => [name, { type: "string" }]),
    ),
  });
  const library = connect(values.bootstrap);
  const t = new Transform(values, library);
  try {
    if (verb === "follow") {
      await library.follow(t, (partition, offset, value) => {
        emit({ partition, offset: Number(offset), value: String(value) });
      });
    } else if (verb === "transform") await library.transform(t);
    else if (verb === "write") await write(library, t, values);
    else throw new Error(`unknown verb ${verb}`);
  } catch (error) {
    t.fail(error);
  }
  process.exit(0);
}
