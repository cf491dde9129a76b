/**
 * How long a broker with a large log takes to start: after an orderly stop, and after `kill -9`, when only what follows
 * the recovery points may be read again. Counts the bytes that the process reads until its first answers.
 *
 *     deno run -A bench/start_big_log.ts [GIGABYTES] [PARTITIONS]
 *
 * Needs room for the log in the temporary directory (TMPDIR), and removes it at the end. Ends with 1 when a start took
 * longer than a second, or a start after a kill read more than what was in doubt. PORT is the port, 21600 if not set.
 */
import { join } from "node:path";
import { Client } from "../src/client/client.ts";
import { batchesIn, buildBatch } from "../src/codec/batch.ts";
import { createTopics } from "../src/codec/messages/create_topics.ts";
import { fetch } from "../src/codec/messages/fetch.ts";
import { listOffsets } from "../src/codec/messages/list_offsets.ts";
import { metadata } from "../src/codec/messages/metadata.ts";
import { produce } from "../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../src/codec/uuid.ts";
import { type RunningBroker, trackway } from "./lib/brokers.ts";
import { bytesRead, residentBytes } from "./lib/process_stats.ts";

const TOPIC = "large";
const RECORD_BYTES = 1000;
const BATCH_RECORDS = 1000;
const IN_FLIGHT = 4;
/** What is written to each partition after the last checkpoint, before the kill. */
const TAIL_BATCHES = 12;
/** What a start may read in each partition beyond what is in doubt: ends of indexes, a snapshot, a batch or two. */
const SLACK_BYTES = 3_000_000;
const MOST_MS = 1000;

const gigabytes = Number(Deno.args[0] ?? 10);
const partitions = Array.from({ length: Number(Deno.args[1] ?? 8) }, (_, i) => i);
const kind = trackway(new URL("..", import.meta.url).pathname);
const port = Number(Deno.env.get("PORT") ?? 21600);
const random = crypto.getRandomValues(new Uint8Array(RECORD_BYTES));
const template = buildBatch(
  Array.from({ length: BATCH_RECORDS }, () => ({ timestamp: Date.now(), key: null, value: random })),
);
const failures: string[] = [];

function report(what: string, value: string): void {
  console.log(`${what.padEnd(52)} ${value}`);
}
const ms = (from: number) => `${(performance.now() - from).toFixed(0)} ms`;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

function connect(): Promise<Client> {
  return Client.connect({ hostname: "127.0.0.1", port }, "big-log");
}

/** Appends so many batches to each partition, some requests at a time. */
async function write(client: Client, batchesEach: number): Promise<void> {
  let left = batchesEach;
  const send = async () => {
    while (left-- > 0) {
      const { responses: [{ partitionResponses }] } = await client.send(produce, 9, {
        acks: 1,
        timeoutMs: 60_000,
        topicData: [{
          name: TOPIC,
          topicId: ZERO_UUID,
          partitionData: partitions.map((index) => ({ index, records: template })),
        }],
      });
      const refused = partitionResponses.find(({ errorCode }) => errorCode !== 0);
      if (refused) throw new Error(`Produce was refused with ${refused.errorCode}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, send));
}

/** What a client asks first: metadata, where the partitions end, and the first and last batch of each. */
async function firstAnswers(end: number): Promise<void> {
  const client = await connect();
  let since = performance.now();
  const { topics } = await client.send(metadata, 9, {
    topics: null,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  if (topics.find(({ name }) => name === TOPIC)?.partitions.length !== partitions.length) {
    failures.push("the topic is not whole");
  }
  report("  then Metadata", ms(since));
  since = performance.now();
  const listed = await client.send(listOffsets, 6, {
    replicaId: -1,
    isolationLevel: 0,
    timeoutMs: 0,
    topics: [{
      name: TOPIC,
      partitions: partitions.map((partitionIndex) => ({ partitionIndex, timestamp: -1n })),
    }],
  });
  for (const { partitionIndex, offset } of listed.topics[0].partitions) {
    if (Number(offset) !== end) failures.push(`partition ${partitionIndex} ends at ${offset}, not ${end}`);
  }
  for (const offset of [0, end - 1]) {
    for (const partition of partitions) {
      const answer = await client.send(fetch, 11, {
        maxWaitMs: 0,
        minBytes: 1,
        topics: [{
          topic: TOPIC,
          topicId: ZERO_UUID,
          partitions: [{ partition, fetchOffset: offset, partitionMaxBytes: 1 }],
        }],
        forgottenTopicsData: [],
      });
      const [batch] = batchesIn(answer.responses[0].partitions[0].records!);
      if (batch.recordCount !== BATCH_RECORDS) failures.push(`nothing at ${offset} of ${partition}`);
    }
  }
  report("  then ListOffsets and 2 fetches of each partition", ms(since));
  await client.close();
}

async function start(what: string, dataDir: string): Promise<RunningBroker> {
  const broker = await kind.start(port, dataDir);
  report(`${what}: start to first answer`, `${broker.startMs.toFixed(0)} ms`);
  if (broker.startMs > MOST_MS) failures.push(`${what}: ${broker.startMs} ms are more than ${MOST_MS}`);
  return broker;
}

/** Takes the log's files out of the page cache, as after a boot of the machine. */
async function forgetCache(dataDir: string): Promise<void> {
  const script =
    `find "$0" -type f -exec sh -c 'for f; do dd if="$f" iflag=nocache count=0 status=none; done' _ {} +`;
  const { success } = await new Deno.Command("sh", { args: ["-c", `sync; ${script}`, dataDir] }).output();
  if (!success) throw new Error("the page cache could not be cleared of the log");
}

async function run(dataDir: string): Promise<void> {
  let broker = await start("an empty directory", dataDir);
  const programBytes = bytesRead(broker.pid);
  let client = await connect();
  await client.send(createTopics, 4, {
    topics: [{
      name: TOPIC,
      numPartitions: partitions.length,
      replicationFactor: 1,
      assignments: [],
      configs: [],
    }],
  });
  const batchesEach = Math.ceil(gigabytes * 1e9 / template.length / partitions.length);
  let since = performance.now();
  await write(client, batchesEach);
  await client.close();
  const written = batchesEach * partitions.length * template.length;
  const seconds = (performance.now() - since) / 1000;
  report(
    `${(written / 1e9).toFixed(1)} GB written to ${partitions.length} partitions`,
    `${(written / 1e6 / seconds).toFixed(0)} MB/s`,
  );
  report("  resident memory", megabytes(residentBytes(broker.pid)));
  since = performance.now();
  await broker.stop();
  report("an orderly stop", ms(since));

  for (const cache of ["cold", "warm"]) {
    if (cache === "cold") await forgetCache(dataDir);
    broker = await start(`after an orderly stop, ${cache} cache`, dataDir);
    const read = bytesRead(broker.pid) - programBytes;
    await firstAnswers(batchesEach * BATCH_RECORDS);
    report("  read until the first answer, beside the program", megabytes(read));
    if (cache === "cold") await broker.stop();
  }

  client = await connect();
  await write(client, TAIL_BATCHES);
  await client.close();
  Deno.kill(broker.pid, "SIGKILL");
  await broker.ended;
  broker = await start("after a kill", dataDir);
  const read = bytesRead(broker.pid) - programBytes;
  const inDoubt = TAIL_BATCHES * partitions.length * template.length;
  report("  read until the first answer, beside the program", megabytes(read));
  report("  of that in doubt, after the recovery points", megabytes(inDoubt));
  if (read < inDoubt) failures.push("a start after a kill did not look at all that was in doubt");
  if (read > inDoubt + partitions.length * SLACK_BYTES) {
    failures.push(`a start after a kill read ${megabytes(read)}`);
  }
  await firstAnswers((batchesEach + TAIL_BATCHES) * BATCH_RECORDS);
  await broker.stop();
}

const home = await Deno.makeTempDir({ prefix: "trackway-big-" });
try {
  await run(join(home, "data"));
} finally {
  await Deno.remove(home, { recursive: true });
}
for (const failure of failures) console.error(`FAILED: ${failure}`);
Deno.exit(failures.length === 0 ? 0 : 1);
