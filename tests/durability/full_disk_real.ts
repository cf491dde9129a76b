/**
 * Unmodified Kafka clients on a broker whose disk runs full under them, again and again. What is refused they send again
 * by themselves; what is there they read on; and when there is room they go on, all of them, without a restart.
 */
import { assert } from "../../src/base/assert.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { AdapterFailure } from "../clients/adapter.ts";
import { type Course, type CourseOptions, type CourseResult, pause, runCourse } from "../clients/course.ts";
import { fillUp } from "../lib/small_disk.ts";
import { labelled } from "./producers.ts";
import { createTopic, produceTo } from "./requests.ts";

export const DISK_BYTES = 64 << 20;
const CONFIGS = { "internal.segment.bytes": "200000", "index.interval.bytes": "500" };
const PAGE_BYTES = 4096;
/** A topic for what the test itself appends, to see whether the disk takes anything. */
const PROBED = "probed";

/** Fills the disk at `directory` so many times, each time leaving other pages free. */
export async function runFullDisk(
  options: CourseOptions,
  directory: string,
  times: number,
): Promise<CourseResult> {
  const { adapters, librdkafka, say } = options;
  return await runCourse({ configs: CONFIGS, refusesBatches: true, ...options }, async (course) => {
    const { random } = course;
    await course.withClient((client) => createTopic(client, PROBED, 1));
    for (let i = 0; i < times; i++) {
      await pause(random.between(200, 1500));
      course.note("full");
      const ballast = await fillUp(directory);
      await Deno.truncate(ballast, (await Deno.stat(ballast)).size - random.int(20) * PAGE_BYTES);
      await untilRefused(course);
      // Clients are left alone with it for a while.
      await pause(random.between(1000, 3000));
      const refusal = await adapters.run(librdkafka, "create", { topic: `beside-${i}`, partitions: 3 })
        .then(() => null, (error) => error);
      assert(refusal instanceof AdapterFailure, `a topic was made on a full disk`);
      const [{ topics }] = await adapters.run(librdkafka, "list");
      assert(!topics.includes(`beside-${i}`), `beside-${i} is there, though it was refused`);
      await readThrough(options, course);
      await course.askCommitted();
      course.note("room");
      const from = performance.now();
      await Deno.remove(ballast);
      await course.resumed();
      say(`full, and all clients got on ${Math.round(performance.now() - from)} ms after there was room`);
    }
  });
}

/** Appends ever smaller batches until not even one record fits. */
async function untilRefused(course: Course): Promise<void> {
  await course.withClient(async (client) => {
    for (const bytes of [100_000, 1000, 1]) {
      let errorCode: number = ErrorCode.NONE;
      while (errorCode === ErrorCode.NONE) {
        const batch = buildBatch([{ timestamp: Date.now(), key: null, value: labelled("probe", 0, bytes) }]);
        [{ errorCode }] = await produceTo(client, PROBED, [{ partition: 0, batch }]);
      }
      assert(
        errorCode === ErrorCode.KAFKA_STORAGE_ERROR,
        `a batch on a full disk was answered with ${errorName(errorCode)}`,
      );
    }
  });
}

/** A new consumer reads all that is there, while the disk is full. */
async function readThrough({ adapters, librdkafka }: CourseOptions, course: Course): Promise<void> {
  const ends = [...(await course.bounds()).values()];
  const count = ends.reduce((sum, { start, end }) => sum + end - start, 0);
  const lines = await adapters.run(librdkafka, "consume", { topic: course.topic, count, from: "beginning" });
  assert(lines.at(-1)?.done === count, `${lines.length - 1} of ${count} records were read from a full disk`);
}
