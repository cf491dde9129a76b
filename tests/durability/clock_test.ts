/**
 * The real process under a wall clock that jumps by hours, days and years, forward and back. What lasts a while (sessions,
 * waits, intervals, delays) goes by a clock that never jumps; what is written down carries the wall clock's time, as in
 * Kafka; and nothing is deleted by a time that did not last.
 */
import { assertEquals } from "@std/assert/equals";
import { assert } from "../../src/base/assert.ts";
import type { Client } from "../../src/client/client.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { errorName } from "../../src/codec/errors.ts";
import { BrokerProcess, until, withDataDir, within } from "./broker_process.ts";
import { readWhole } from "./ledger.ts";
import { labelled } from "./producers.ts";
import {
  accepted,
  commit,
  committed,
  connect,
  createTopic,
  deleteTopic,
  fetchFrom,
  join,
  newProducerId,
  offsetFor,
  produceTo,
  stillIn,
} from "./requests.ts";

const MINUTE = 60_000, DAY = 86_400_000, YEAR = 365 * DAY;
const SESSION_MS = 2000;
const SETTINGS = {
  "group.min.session.timeout.ms": String(SESSION_MS),
  "log.retention.check.interval.ms": "100",
  "offsets.retention.check.interval.ms": "100",
};

/** A broker whose wall clock the test sets. */
class Clocked {
  private constructor(readonly broker: BrokerProcess, private readonly clockFile: string) {}

  static async start(dataDir: string): Promise<Clocked> {
    const clockFile = `${dataDir}-clock`;
    await Deno.writeTextFile(clockFile, "0");
    const program = new URL("./clock_main.ts", import.meta.url).pathname;
    const broker = await BrokerProcess.start(dataDir, 0, {
      command: [Deno.execPath(), "run", "-A", "--no-check", program],
      env: { CLOCK_FILE: clockFile },
      args: Object.entries(SETTINGS).flatMap(([name, value]) => ["--set", `${name}=${value}`]),
    });
    return new Clocked(broker, clockFile);
  }

  /** Sets the broker's clock off by `offMs` and waits until what it writes carries that time. */
  async set(client: Client, offMs: number): Promise<void> {
    // Renamed into place: the broker never reads half of it.
    await Deno.writeTextFile(`${this.clockFile}.new`, String(offMs));
    await Deno.rename(`${this.clockFile}.new`, this.clockFile);
    const expected = Date.now() + offMs;
    for (const deadline = performance.now() + 10_000;;) {
      if (Math.abs(await stampOf(client) - expected) < 20_000) return;
      assert(performance.now() < deadline, `the broker's clock is not off by ${offMs} ms`);
    }
  }
}

/** Appends to the topic that has the broker's time and gives the time that the record got. */
async function stampOf(client: Client): Promise<number> {
  const [{ errorCode, baseOffset }] = await produceTo(client, "stamped", [{
    partition: 0,
    batch: batch("s", 0),
  }]);
  assertEquals(errorName(errorCode), "NONE");
  const { batches } = await fetchFrom(client, "stamped", 0, baseOffset);
  const [record] = batches[0].records();
  return record.timestamp;
}

function batch(name: string, number: number, more = {}, timestamp = Date.now()): Uint8Array {
  return buildBatch([{ timestamp, key: null, value: labelled(name, number, 100) }], more);
}

/** A member that sends heartbeats until it is told to stop, and holds that each is answered with NONE. */
class Beating {
  private isOver = false;
  private readonly done: Promise<void>;
  beats = 0;

  constructor(client: Client, groupId: string, member: { memberId: string; generationId: number }) {
    this.done = (async () => {
      while (!this.isOver) {
        assertEquals(errorName(await stillIn(client, groupId, member)), "NONE", `heartbeat ${this.beats}`);
        this.beats++;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    // Thrown by stop().
    this.done.catch(() => {});
  }

  stop(): Promise<void> {
    this.isOver = true;
    return this.done;
  }
}

async function withClocked(use: (clocked: Clocked, client: Client) => Promise<void>): Promise<void> {
  await withDataDir(async (dataDir) => {
    const clocked = await Clocked.start(dataDir);
    const { broker } = clocked;
    try {
      const client = await connect(broker.port);
      await createTopic(client, "stamped", 1, { "message.timestamp.type": "LogAppendTime" });
      await use(clocked, client);
      await client.close();
      const { code } = await broker.end("SIGTERM");
      assertEquals(code, 0);
      assertEquals(broker.warnings, []);
    } catch (error) {
      throw new Error(broker.described(error instanceof Error ? error.stack! : String(error)), {
        cause: error,
      });
    } finally {
      await broker.end("SIGKILL");
    }
  });
}

Deno.test("a wall clock that jumps by minutes, days and years moves no session, no wait and no sequence", async () => {
  await withClocked(async (clocked, client) => {
    const groups = await connect(clocked.broker.port);
    await createTopic(client, "orders", 1, { "message.timestamp.after.max.ms": "9223372036854775807" });
    const beating = new Beating(groups, "readers", await join(groups, "readers", SESSION_MS));
    const producerId = await newProducerId(client);
    let sequence = 0;
    for (const offMs of [5 * MINUTE, -DAY, 30 * DAY, -YEAR, YEAR, 0]) {
      await clocked.set(client, offMs);
      const beganAt = performance.now();
      const waiting = fetchFrom(client, "orders", 0, sequence, { maxWaitMs: 300 });
      const { batches, errorCode } = await within(waiting, `a wait of 300 ms, off by ${offMs} ms`, 5000);
      assertEquals([errorName(errorCode), batches.length], ["NONE", 0]);
      const waitedMs = performance.now() - beganAt;
      assert(waitedMs >= 299, `a wait of 300 ms ended after ${waitedMs} ms, off by ${offMs} ms`);
      for (let i = 0; i < 3; i++) {
        const one = batch("once", sequence, { producerId, producerEpoch: 0, baseSequence: sequence });
        const [first] = await produceTo(client, "orders", [{ partition: 0, batch: one.slice() }]);
        const [again] = await produceTo(client, "orders", [{ partition: 0, batch: one }]);
        for (const { errorCode, baseOffset } of [first, again]) {
          assertEquals([errorName(errorCode), baseOffset], ["NONE", sequence]);
        }
        sequence++;
      }
    }
    await beating.stop();
    assert(beating.beats > 10, `only ${beating.beats} heartbeats`);
    const { labels } = await readWhole(client, "orders", 0);
    assertEquals(labels, Array.from({ length: sequence }, (_, i) => `once ${i}`));
    await groups.close();
  });
});

Deno.test("a wall clock that is a year ahead for a moment takes no record and no committed offset along", async () => {
  await withClocked(async (clocked, client) => {
    await createTopic(client, "orders", 1, { "retention.ms": "3600000" });
    await produceTo(client, "orders", [{ partition: 0, batch: batch("kept", 0) }]);
    await accepted("OffsetCommit", () => commit(client, "readers", "orders", new Map([[0, 1]])));
    await clocked.set(client, YEAR);
    // An interval that has passed for certain: what is due each second is done, the retention of 10 Hz with it.
    await deletedAfterDelay(clocked.broker, client);
    await clocked.set(client, 0);
    assertEquals((await readWhole(client, "orders", 0)).labels, ["kept 0"]);
    assertEquals((await committed(client, "readers", "orders", [0])).get(0), 1);
  });
});

/** Makes and deletes a topic, and waits until its directory is gone: the broker has done what is due since. */
async function deletedAfterDelay(broker: BrokerProcess, client: Client): Promise<void> {
  await createTopic(client, "short-lived", 1, { "file.delete.delay.ms": "1500" });
  await deleteTopic(client, "short-lived");
  const dataDir = /data in\s+(\S+)/.exec(broker.said.join("\n"))![1];
  await until(() => [...Deno.readDirSync(dataDir)].every(({ name }) => !name.startsWith("short-lived")));
}

Deno.test("times are the wall clock's, also when it went back: record times, searches by time, refusals of times", async () => {
  await withClocked(async (clocked, client) => {
    await createTopic(client, "orders", 1);
    const times: number[] = [];
    for (const offMs of [0, -30 * DAY, 2 * DAY, 0]) {
      await clocked.set(client, offMs);
      times.push(await stampOf(client));
    }
    // As in Kafka, LogAppendTime goes back with the clock.
    assert(times[1] < times[0] - 29 * DAY && times[2] > times[0] + DAY, `record times are ${times}`);
    const { timestamps } = await readWhole(client, "stamped", 0);
    for (const time of [times[1], times[0], times[2] - DAY]) {
      const expected = timestamps.findIndex((timestamp) => timestamp >= time);
      assertEquals(
        await offsetFor(client, "stamped", 0, BigInt(time)),
        expected,
        `the first offset at or after ${time}`,
      );
    }
    // A client whose clock is right is a day ahead of a broker that is a day behind: too much, as in Kafka.
    await clocked.set(client, -DAY);
    const [refused] = await produceTo(client, "orders", [{ partition: 0, batch: batch("refused", 0) }]);
    assertEquals(errorName(refused.errorCode), "INVALID_TIMESTAMP");
    await clocked.set(client, 0);
    const [taken] = await produceTo(client, "orders", [{ partition: 0, batch: batch("taken", 0) }]);
    assertEquals(errorName(taken.errorCode), "NONE");
  });
});
