import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { MemoryStore } from "../../src/cluster/memory.ts";
import { ProducerIds } from "../../src/cluster/producer_ids.ts";
import { METADATA_FILE } from "../../src/cluster/sqlite.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { replaceFile } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { PRODUCER_ID_FILE, ProducerIdMark } from "../../src/storage/producers/producer_id_mark.ts";
import { freePortBroker } from "../lib/broker.ts";
import { TestClient } from "../protocol/requests.ts";

/** A directory with a mark, and what was told of it. */
function markIn(files: FaultyFiles) {
  const told: string[] = [];
  return { told, mark: new ProducerIdMark(files, "data", (problem) => told.push(problem)) };
}

function directory(): FaultyFiles {
  const files = new FaultyFiles(new MemoryFiles());
  files.makeDirectory("data");
  return files;
}

Deno.test("ProducerIds go on behind the mark when an older store was put back, and say so", async () => {
  const files = directory();
  const { mark, told } = markIn(files);
  const store = new MemoryStore();
  await new ProducerIds(store, mark).next();
  const backup = await store.list("");
  const before = new ProducerIds(store, mark);
  let last = 0;
  for (let i = 0; i < 2500; i++) last = await before.next();

  const older = new MemoryStore();
  await older.commit({
    compare: [],
    delete: [],
    put: backup.entries.map(({ key, value }) => ({ key, value })),
  });
  const said: string[] = [];
  const first = await new ProducerIds(older, mark, (problem) => said.push(problem)).next();
  assert(first > last, `${first} was given out before`);
  assertEquals(said.length, 1);
  assertEquals(told, []);
});

Deno.test("ProducerIdMark that is damaged or cannot be read is told, and counts as none", () => {
  const files = directory();
  const { mark, told } = markIn(files);
  assertEquals([mark.read(), told.length], [0, 0]);
  mark.write(3000);
  assertEquals([mark.read(), told.length], [3000, 0]);
  for (const text of ["", "30", "-5\n", "1e3\n", "99999999999999999999\n"]) {
    replaceFile(files, `data/${PRODUCER_ID_FILE}`, text, false);
    assertEquals(mark.read(), 0);
  }
  assertEquals(told.length, 5);
  files.fail(1, 10);
  assertEquals(mark.read(), 0);
  mark.write(4000);
  assertEquals(told.length, 7);
});

Deno.test("a broker whose metadata was restored from a backup gives out no producer id again", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "trackway-test-" });
  try {
    const idOf = async (broker: { port: number }) => {
      await using client = await TestClient.to(broker);
      const asked = { transactionalId: null, transactionTimeoutMs: 1000, producerId: -1n, producerEpoch: -1 };
      return Number((await client.send(initProducerId, 4, asked)).producerId);
    };
    const copy = (from: string, to: string) => {
      for (
        const { name } of [...Deno.readDirSync(from)].filter(({ name }) => name.startsWith(METADATA_FILE))
      ) {
        Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
      }
    };
    await using broker = await freePortBroker({}, dataDir);
    assertEquals(await idOf(broker), 0);
    await broker.stop();
    const backup = await Deno.makeTempDir({ prefix: "trackway-test-", dir: dataDir });
    copy(dataDir, backup);
    await broker.restart();
    const last = await idOf(broker);
    await broker.stop();
    copy(backup, dataDir);
    await broker.restart();
    assert(await idOf(broker) > last);
    assert(broker.log.some((line) => line.includes("older copy")), broker.log.join("\n"));
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
