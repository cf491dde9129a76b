/**
 * A disk that runs full under a broker. Producers and commits are refused with errors that they may retry, readers do
 * not notice, and when there is room again everything goes on without a restart; what was acknowledged is there after
 * a kill. The disk is a small tmpfs; where nobody may mount one the tests are left out, and fail in CI.
 */
import { assertEquals } from "@std/assert/equals";
import { join } from "node:path";
import { assert } from "../../src/base/assert.ts";
import type { Client } from "../../src/client/client.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { fillUp, type SmallDisk, smallDisk, whyNoSmallDisk } from "../lib/small_disk.ts";
import { BrokerProcess, FROM_SOURCE } from "./broker_process.ts";
import { readWhole } from "./ledger.ts";
import { labelled } from "./producers.ts";
import {
  accepted,
  alterTopic,
  commit,
  committed,
  connect,
  createTopic,
  deleteTopic,
  newProducerId,
  produceTo,
  Refused,
  topicIds,
  topicSetting,
} from "./requests.ts";

const TOPIC = "orders";
const DISK_BYTES = 12 << 20;
/** What is taken away from the disk so that there is room again. */
const BALLAST_BYTES = 6 << 20;

const reason = await whyNoSmallDisk();
if (reason !== null) console.log(`Tests of a full disk are left out: ${reason}`);

/** A broker on a small disk, and what a test does to both. */
class Place {
  broker!: BrokerProcess;

  constructor(readonly disk: SmallDisk, private readonly settings: Record<string, string>) {}

  /** The data directory as the test sees it. */
  get dataDir(): string {
    return join(this.disk.outside, "data");
  }

  private get options() {
    return {
      command: [...this.disk.prefix, ...FROM_SOURCE],
      args: Object.entries(this.settings).flatMap(([name, value]) => ["--set", `${name}=${value}`]),
    };
  }

  async start(): Promise<void> {
    this.broker = await BrokerProcess.start(join(this.disk.path, "data"), 0, this.options);
  }

  /** Starts a broker and does not wait until it is up. */
  spawn(): void {
    this.broker = BrokerProcess.spawn(join(this.disk.path, "data"), 0, this.options);
  }

  connect(): Promise<Client> {
    return connect(this.broker.port);
  }
}

function diskTest(
  name: string,
  settings: Record<string, string>,
  use: (place: Place) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore: reason !== null,
    async fn() {
      await using disk = await smallDisk(DISK_BYTES);
      const place = new Place(disk, settings);
      try {
        await use(place);
      } catch (error) {
        const text = error instanceof Error ? error.stack! : String(error);
        throw new Error(place.broker?.described(text) ?? text, { cause: error });
      } finally {
        await place.broker?.end("SIGKILL");
      }
    },
  });
}

/** An idempotent producer that knows what was acknowledged, in the order of the log. */
class Writer {
  readonly acknowledged: string[] = [];
  private next = 0;

  constructor(private readonly client: Client, readonly producerId: number) {}

  /** The same producer over another connection. */
  over(client: Client): Writer {
    const writer = new Writer(client, this.producerId);
    writer.acknowledged.push(...this.acknowledged);
    writer.next = this.next;
    return writer;
  }

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

diskTest(
  "a full disk refuses what is written and nothing that is read, and is forgotten when there is room",
  {},
  async (place) => {
    const ballast = join(place.disk.outside, "ballast");
    await Deno.writeFile(ballast, new Uint8Array(BALLAST_BYTES));
    await place.start();
    const client = await place.connect();
    await createTopic(client, TOPIC, 1, {
      "internal.segment.bytes": "1000000",
      "index.interval.bytes": "500",
    });
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
    assertEquals(directoriesOf(place, "another"), []);

    await Deno.remove(ballast);
    assertEquals(errorName(await writer.write(3, 1000)), "NONE");
    for (let i = 0; i < 25; i++) assertEquals(errorName(await writer.write(3, 30_000)), "NONE");
    await accepted("OffsetCommit", () => commit(client, "readers", TOPIC, new Map([[0, ++last]])));
    await createTopic(client, "another", 1);
    await client.close();

    await place.broker.end("SIGKILL");
    await place.start();
    const again = await place.connect();
    assertEquals((await readWhole(again, TOPIC, 0)).labels, writer.acknowledged);
    assertEquals((await committed(again, "readers", TOPIC, [0])).get(0), last);
    await again.close();
    const { code } = await place.broker.end("SIGTERM");
    assertEquals(code, 0);
  },
);

diskTest(
  "a broker whose disk is full ends in time on SIGTERM and starts again on the full disk",
  {},
  async (place) => {
    await place.start();
    const client = await place.connect();
    await createTopic(client, TOPIC, 1, { "internal.segment.bytes": "1000000" });
    const writer = new Writer(client, await newProducerId(client));
    for (const bytes of [100_000, 1000, 1]) {
      while (await writer.write(3, bytes) === ErrorCode.NONE);
    }
    await client.close();
    const { code } = await place.broker.end("SIGTERM");
    assertEquals(code, 0);
    await place.start();
    const again = await place.connect();
    assertEquals((await readWhole(again, TOPIC, 0)).labels, writer.acknowledged);
    await again.close();
  },
);

diskTest(
  "a broker that was killed starts on a disk that was filled up since, serves what is there, and goes on when there is room",
  {},
  async (place) => {
    await place.start();
    const client = await place.connect();
    await createTopic(client, TOPIC, 1, { "internal.segment.bytes": "20000", "index.interval.bytes": "500" });
    const writer = new Writer(client, await newProducerId(client));
    for (let i = 0; i < 30; i++) assertEquals(errorName(await writer.write(3, 1000)), "NONE");
    await accepted("OffsetCommit", () => commit(client, "readers", TOPIC, new Map([[0, 50]])));
    await client.close();
    await place.broker.end("SIGKILL");
    const ballast = await fillUp(place.disk.outside);

    await place.start();
    const full = await place.connect();
    assertEquals((await readWhole(full, TOPIC, 0)).labels, writer.acknowledged);
    await accepted("OffsetFetch", async () => {
      assertEquals((await committed(full, "readers", TOPIC, [0])).get(0), 50);
      return ErrorCode.NONE;
    });
    const again = writer.over(full);
    let errorCode: number = ErrorCode.NONE;
    while (errorCode === ErrorCode.NONE) errorCode = await again.write(3, 2000);
    assertEquals(errorName(errorCode), "KAFKA_STORAGE_ERROR");
    await Deno.remove(ballast);
    assertEquals(errorName(await again.write(3, 2000)), "NONE");
    assertEquals((await readWhole(full, TOPIC, 0)).labels, again.acknowledged);
    await full.close();
    const { code } = await place.broker.end("SIGTERM");
    assertEquals(code, 0);
  },
);

diskTest(
  "a broker whose new data directory has no room says so in one line and ends with 1, and starts when there is room",
  {},
  async (place) => {
    const ballast = await fillUp(place.disk.outside);
    place.spawn();
    const { code } = await place.broker.exit();
    assertEquals(code, 1);
    const said = place.broker.said.filter((line) => line.trim() !== "");
    assert(said.length <= 2 && /full|ENOSPC|space/i.test(said.join(" ")), `it said ${said.length} lines`);
    await Deno.remove(ballast);
    await place.start();
    const client = await place.connect();
    await createTopic(client, TOPIC, 1);
    await client.close();
  },
);

/** Room for so many more pages is left in turn, so that each kind of write (segment, index, snapshot, checkpoint, SQLite) is the first that does not fit. */
const PAGES_LEFT = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40];
const PAGE_BYTES = 4096;

diskTest(
  "whatever write is the first that finds the disk full: what was accepted stays, what was refused leaves nothing",
  { "log.flush.offset.checkpoint.interval.ms": "100", "log.retention.check.interval.ms": "100" },
  async (place) => {
    await place.start();
    const client = await place.connect();
    await createTopic(client, TOPIC, 1, { "internal.segment.bytes": "30000", "index.interval.bytes": "500" });
    const writer = new Writer(client, await newProducerId(client));
    assertEquals(errorName(await writer.write(3, 1000)), "NONE");
    let position = 0;
    await accepted("OffsetCommit", () => commit(client, "readers", TOPIC, new Map([[0, position]])));
    let maxMessageBytes = 1_000_000;
    await alterTopic(client, TOPIC, { "max.message.bytes": String(maxMessageBytes) });
    const refusals = new Set<string>();

    for (const pages of PAGES_LEFT) {
      const ballast = await fillUp(place.disk.outside);
      await Deno.truncate(ballast, (await Deno.stat(ballast)).size - pages * PAGE_BYTES);
      const name = `beside-${pages}`;
      const isMade = await tried(refusals, () => createTopic(client, name, 2));
      if (
        await tried(
          refusals,
          () => alterTopic(client, TOPIC, { "max.message.bytes": String(maxMessageBytes + 1) }),
        )
      ) {
        maxMessageBytes++;
      }
      let errorCode: number = ErrorCode.NONE;
      while (errorCode === ErrorCode.NONE) errorCode = await writer.write(3, 2000);
      assertEquals(errorName(errorCode), "KAFKA_STORAGE_ERROR", `with ${pages} pages left`);
      for (let i = 0; i < 3; i++) {
        if (await commit(client, "readers", TOPIC, new Map([[0, position + 1]])) === ErrorCode.NONE) {
          position++;
        }
      }

      // While it is full, and when there is room again.
      for (const isFull of [true, false]) {
        if (!isFull) await Deno.remove(ballast);
        assertEquals((await readWhole(client, TOPIC, 0)).labels, writer.acknowledged);
        assertEquals((await committed(client, "readers", TOPIC, [0])).get(0), position);
        assertEquals(
          (await topicIds(client)).has(name),
          isMade,
          `${name}, which was ${isMade ? "made" : "refused"}`,
        );
        assertEquals(await topicSetting(client, TOPIC, "max.message.bytes"), String(maxMessageBytes));
        if (!isMade) assertEquals(directoriesOf(place, name), []);
      }
      assertEquals(errorName(await writer.write(3, 2000)), "NONE", `after ${pages} pages were left`);
      await accepted("OffsetCommit", () => commit(client, "readers", TOPIC, new Map([[0, ++position]])));
      if (!isMade) await createTopic(client, name, 2);
      await deleteTopic(client, name);
    }
    assert(refusals.size > 0, "nothing but records was ever refused");

    // Checkpoints are written now and then, and are tried again.
    assertEquals(errorName(await writer.write(3, 2000)), "NONE");
    const ballast = await fillUp(place.disk.outside);
    await place.broker.saying("Cannot write high watermarks");
    await Deno.remove(ballast);
    assertEquals(errorName(await writer.write(3, 2000)), "NONE");
    await client.close();

    await place.broker.end("SIGKILL");
    await place.start();
    const again = await place.connect();
    assertEquals((await readWhole(again, TOPIC, 0)).labels, writer.acknowledged);
    assertEquals((await committed(again, "readers", TOPIC, [0])).get(0), position);
    assertEquals(await topicSetting(again, TOPIC, "max.message.bytes"), String(maxMessageBytes));
    assertEquals([...(await topicIds(again)).keys()].sort(), ["__consumer_offsets", TOPIC]);
    await again.close();
    const { code } = await place.broker.end("SIGTERM");
    assertEquals(code, 0);
    assertEquals(place.broker.warnings.filter((line) => !/cut \d+ bytes off/.test(line)), []);
  },
);

/** Whether a request was accepted; what it was refused with is noted. */
async function tried(refusals: Set<string>, request: () => Promise<unknown>): Promise<boolean> {
  try {
    await request();
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    refusals.add(errorName(error.errorCode));
    return false;
  }
}

/** Directories of a topic, as far as they do not wait for their deletion. */
function directoriesOf(place: Place, topic: string): string[] {
  return [...Deno.readDirSync(place.dataDir)].map(({ name }) => name)
    .filter((name) => name.startsWith(`${topic}-`) && /-\d+$/.test(name)).sort();
}
