/**
 * The real process held by SIGSTOP and let go again, as by a debugger, `docker pause` or a machine that is saved and
 * restored. Whoever wrote meanwhile is served as if nothing had been: a standstill of the broker is not the silence of
 * its clients.
 */
import { assertEquals } from "@std/assert/equals";
import { assert } from "../../src/base/assert.ts";
import type { Client } from "../../src/client/client.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { errorName } from "../../src/codec/errors.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { BrokerProcess, withDataDir, within } from "./broker_process.ts";
import { readWhole } from "./ledger.ts";
import { labelled } from "./producers.ts";
import { commit, connect, createTopic, fetchFrom, join, produceTo, stillIn } from "./requests.ts";

const TOPIC = "orders";
/** As short as the broker takes them, and a pause that is longer. */
const SESSION_MS = 1000;
const PAUSE_MS = 3500;
const SETTINGS = ["--set", `group.min.session.timeout.ms=${SESSION_MS}`];

/** Runs `use` on a broker with SETTINGS. */
async function withBroker(use: (broker: BrokerProcess) => Promise<void>): Promise<void> {
  await withDataDir(async (dataDir) => {
    const broker = await BrokerProcess.start(dataDir, 0, { args: SETTINGS });
    try {
      await use(broker);
      assertEquals(broker.warnings, []);
    } catch (error) {
      throw new Error(broker.described(error instanceof Error ? error.stack! : String(error)), {
        cause: error,
      });
    } finally {
      broker.signal("SIGCONT");
      await broker.end("SIGKILL");
    }
  });
}

/** Holds the broker for PAUSE_MS while `meanwhile` is begun, and gives what that comes to. */
async function whileHeld<T>(broker: BrokerProcess, meanwhile: () => Promise<T>): Promise<T> {
  broker.signal("SIGSTOP");
  const begun = meanwhile();
  // Its length is the thing under test; nothing is inferred from what happens in it.
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  broker.signal("SIGCONT");
  return await within(begun, "an answer after the pause");
}

function batch(from: number): Uint8Array {
  const value = labelled("writer", from, 10);
  return buildBatch([{ timestamp: Date.now(), key: null, value }]);
}

Deno.test("a broker that stood still longer than its members' sessions keeps those who wrote, and drops who is silent", async () => {
  await withBroker(async (broker) => {
    const maker = await connect(broker.port);
    await createTopic(maker, TOPIC, 1);
    await maker.close();
    const members = await Promise.all(["early", "late", "silent"].map(async (groupId) => {
      const client = await connect(broker.port);
      return { client, groupId, ...await join(client, groupId, SESSION_MS) };
    }));
    const [early, late, silent] = members;
    assertEquals(
      errorName(await whileHeld(broker, () => stillIn(early.client, early.groupId, early))),
      "NONE",
      "a heartbeat that was sent while the broker stood still",
    );
    assertEquals(
      errorName(await commit(late.client, late.groupId, TOPIC, new Map([[0, 1]]), late)),
      "NONE",
      "a commit right after",
    );
    // Looked at from outside, since a heartbeat of its own would keep it in.
    const deadline = performance.now() + 15_000;
    let errorCode: number;
    do {
      await new Promise((resolve) => setTimeout(resolve, 100));
      await stillIn(early.client, early.groupId, early);
      errorCode = await commit(silent.client, silent.groupId, TOPIC, new Map([[0, 1]]));
    } while (errorName(errorCode) === "UNKNOWN_MEMBER_ID" && performance.now() < deadline);
    // A commit of nobody is taken only once the group is empty.
    assertEquals(errorName(errorCode), "NONE", "the silent member is out in the end");
    assertEquals(errorName(await stillIn(silent.client, silent.groupId, silent)), "UNKNOWN_MEMBER_ID");
    assertEquals(errorName(await stillIn(early.client, early.groupId, early)), "NONE");
    for (const { client } of members) await client.close();
  });
});

Deno.test("requests and waits that were under way when the broker stood still are answered, each once", async () => {
  await withBroker(async (broker) => {
    const [writer, reader, idle] = await Promise.all([1, 2, 3].map(() => connect(broker.port)));
    const topicId = await createTopic(writer, TOPIC, 1);
    const clients: Client[] = [writer, reader, idle];
    await produceTo(writer, TOPIC, [{ partition: 0, batch: batch(0) }]);
    // A wait whose time is over long before the pause is, and one that an append ends.
    const overdue = fetchFrom(idle, TOPIC, 0, 1, { maxWaitMs: 300 });
    const waiting = reader.send(fetch, 13, {
      maxWaitMs: 60_000,
      minBytes: 1,
      maxBytes: 1 << 20,
      topics: [{
        topic: "",
        topicId,
        partitions: [{ partition: 0, fetchOffset: 1n, partitionMaxBytes: 1 << 20 }],
      }],
      forgottenTopicsData: [],
    });
    const produced = await whileHeld(
      broker,
      () =>
        Promise.all(
          [1, 2, 3, 4, 5].map((n) => produceTo(writer, TOPIC, [{ partition: 0, batch: batch(n) }])),
        ),
    );
    assertEquals(produced.map(([{ errorCode, baseOffset }]) => [errorName(errorCode), baseOffset]), [
      ...[1, 2, 3, 4, 5].map((offset) => ["NONE", offset]),
    ]);
    await within(overdue, "the answer to a wait that was over");
    const { responses } = await within(waiting, "the answer to a wait that an append ended");
    assert(responses[0].partitions[0].records!.length > 0, "the fetch was answered with nothing");
    assertEquals((await readWhole(writer, TOPIC, 0)).labels.length, 6);
    for (const client of clients) await client.close();
  });
});
