/**
 * A disk that runs full under a broker. Producers and commits are refused with errors that they may retry, readers do
 * not notice, and when there is room again everything goes on without a restart; what was acknowledged is there after
 * a kill. The disk is a small tmpfs, which takes root to mount: others see these tests ignored.
 */
import { assertEquals } from "@std/assert/equals";
import { join } from "node:path";
import { assert } from "../../src/base/assert.ts";
import type { Client } from "../../src/client/client.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { BrokerProcess } from "./broker_process.ts";
import { readWhole } from "./ledger.ts";
import { labelled } from "./producers.ts";
import {
  accepted,
  commit,
  committed,
  connect,
  createTopic,
  newProducerId,
  produceTo,
  topicIds,
} from "./requests.ts";

const TOPIC = "orders";
const DISK_BYTES = 12 << 20;
/** What is taken away from the disk so that there is room again. */
const BALLAST_BYTES = 6 << 20;

async function sh(program: string, ...args: string[]): Promise<boolean> {
  const { success } = await new Deno.Command(program, { args, stderr: "null" }).output();
  return success;
}

async function mountDisk(): Promise<string | null> {
  const directory = await Deno.makeTempDir({ prefix: "trackway-disk-" });
  if (await sh("mount", "-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", directory)) return directory;
  await Deno.remove(directory);
  return null;
}

async function unmountDisk(directory: string): Promise<void> {
  assert(await sh("umount", directory), `Cannot unmount ${directory}`);
  await Deno.remove(directory);
}

const canMount = await (async () => {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return false;
  const disk = await mountDisk();
  if (disk !== null) await unmountDisk(disk);
  return disk !== null;
})();

async function withSmallDisk(use: (disk: string) => Promise<void>): Promise<void> {
  const disk = await mountDisk();
  assert(disk !== null, "a disk that could be mounted before cannot be mounted now");
  try {
    await use(disk);
  } finally {
    await unmountDisk(disk);
  }
}

/** An idempotent producer that knows what was acknowledged, in the order of the log. */
class Writer {
  readonly acknowledged: string[] = [];
  private next = 0;

  constructor(private readonly client: Client, readonly producerId: number) {}

  /** Sends the next records, or those that were refused again. Gives the error code. */
  async write(records: number, bytes: number): Promise<number> {
    const batch = buildBatch(
      Array.from({ length: records }, (_, i) => ({
        timestamp: Date.now(),
        key: null,
        value: labelled("writer", this.next + i, bytes),
      })),
      { producerId: this.producerId, producerEpoch: 0, baseSequence: this.next },
    );
    const [{ errorCode, baseOffset }] = await produceTo(this.client, TOPIC, [{ partition: 0, batch }]);
    if (errorCode !== ErrorCode.NONE) return errorCode;
    assertEquals(baseOffset, this.next);
    for (let i = 0; i < records; i++) this.acknowledged.push(`writer ${this.next + i}`);
    this.next += records;
    return errorCode;
  }
}

Deno.test({
  name: "a full disk refuses what is written and nothing that is read, and is forgotten when there is room",
  ignore: !canMount,
  async fn() {
    await withSmallDisk(async (disk) => {
      const ballast = join(disk, "ballast");
      await Deno.writeFile(ballast, new Uint8Array(BALLAST_BYTES));
      const dataDir = join(disk, "data");
      let broker = await BrokerProcess.start(dataDir);
      try {
        const client = await connect(broker.port);
        const configs = { "internal.segment.bytes": "1000000", "index.interval.bytes": "500" };
        await createTopic(client, TOPIC, 1, configs);
        const writer = new Writer(client, await newProducerId(client));
        await accepted("OffsetCommit", () => commit(client, "readers", TOPIC, new Map([[0, 1]])));

        // Until nothing fits any more: large batches first, then ever smaller ones.
        for (const bytes of [100_000, 10_000, 1000, 1]) {
          let errorCode: number = ErrorCode.NONE;
          while (errorCode === ErrorCode.NONE) errorCode = await writer.write(3, bytes);
          assertEquals(errorName(errorCode), "KAFKA_STORAGE_ERROR");
        }
        const full = writer.acknowledged.length;
        assert(full > 30, `the disk was full after ${full} records`);
        assertEquals((await readWhole(client, TOPIC, 0)).labels, writer.acknowledged);

        // A commit fits into what its file has left of its last page, or is refused so that the client tries again.
        let last = 1;
        for (;;) {
          const errorCode = await commit(client, "readers", TOPIC, new Map([[0, last + 1]]));
          if (errorCode !== ErrorCode.NONE) {
            assertEquals(errorName(errorCode), "NOT_COORDINATOR");
            break;
          }
          last++;
        }
        assertEquals((await committed(client, "readers", TOPIC, [0])).get(0), last);
        const refusal = await createTopic(client, "another", 1).then(() => "made", String);
        assert(/disk is full/.test(refusal), `a topic that there is no room for: ${refusal}`);
        assertEquals([...(await topicIds(client)).keys()].sort(), ["__consumer_offsets", TOPIC]);

        await Deno.remove(ballast);
        assertEquals(errorName(await writer.write(3, 1000)), "NONE");
        for (let i = 0; i < 25; i++) assertEquals(errorName(await writer.write(3, 30_000)), "NONE");
        await accepted("OffsetCommit", () => commit(client, "readers", TOPIC, new Map([[0, ++last]])));
        await createTopic(client, "another", 1);
        await client.close();

        await broker.end("SIGKILL");
        broker = await BrokerProcess.start(dataDir);
        const again = await connect(broker.port);
        assertEquals((await readWhole(again, TOPIC, 0)).labels, writer.acknowledged);
        assertEquals((await committed(again, "readers", TOPIC, [0])).get(0), last);
        await again.close();
        const { code } = await broker.end("SIGTERM");
        assertEquals(code, 0);
      } catch (error) {
        throw new Error(broker.described(error instanceof Error ? error.stack! : String(error)), {
          cause: error,
        });
      } finally {
        broker.signal("SIGKILL");
        await broker.exit();
      }
    });
  },
});

Deno.test({
  name: "a broker whose disk is full ends in time on SIGTERM and starts again on the full disk",
  ignore: !canMount,
  async fn() {
    await withSmallDisk(async (disk) => {
      const dataDir = join(disk, "data");
      let broker = await BrokerProcess.start(dataDir);
      try {
        const client = await connect(broker.port);
        await createTopic(client, TOPIC, 1, { "internal.segment.bytes": "1000000" });
        const writer = new Writer(client, await newProducerId(client));
        for (const bytes of [100_000, 1000, 1]) {
          while (await writer.write(3, bytes) === ErrorCode.NONE);
        }
        await client.close();
        const { code } = await broker.end("SIGTERM");
        assertEquals(code, 0);
        broker = await BrokerProcess.start(dataDir);
        const again = await connect(broker.port);
        assertEquals((await readWhole(again, TOPIC, 0)).labels, writer.acknowledged);
        await again.close();
      } catch (error) {
        throw new Error(broker.described(error instanceof Error ? error.stack! : String(error)), {
          cause: error,
        });
      } finally {
        broker.signal("SIGKILL");
        await broker.exit();
      }
    });
  },
});
