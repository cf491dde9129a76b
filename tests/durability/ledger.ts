/** Holds a whole log against what producers and consumers know of it. */
import { assertEquals } from "@std/assert/equals";
import { assert } from "../../src/base/assert.ts";
import type { Client } from "../../src/client/client.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import type { SeenLog } from "./consumers.ts";
import { labelOf, type SentBatch } from "./producers.ts";
import { EARLIEST, fetchFrom, LATEST, offsetFor } from "./requests.ts";

/** A partition as it was read in one go. */
export interface WholeLog {
  readonly labels: SeenLog;
  readonly timestamps: number[];
}

/** Reads a partition from its first offset to its last; offsets must be dense from 0 on, and end where ListOffsets says. */
export async function readWhole(client: Client, topic: string, partition: number): Promise<WholeLog> {
  const labels: string[] = [];
  const timestamps: number[] = [];
  const name = `${topic}-${partition}`;
  const end = await offsetFor(client, topic, partition, LATEST);
  assertEquals(await offsetFor(client, topic, partition, EARLIEST), 0, `the earliest offset of ${name}`);
  while (labels.length < end) {
    const from = labels.length;
    const { errorCode, batches, highWatermark } = await fetchFrom(client, topic, partition, from);
    assert(errorCode === ErrorCode.NONE, `Fetch of ${name} from ${from}: ${errorName(errorCode)}`);
    assertEquals(highWatermark, end, `the high watermark of ${name}, against ListOffsets`);
    assert(batches.length > 0, `${name} ends at ${from}, but ListOffsets says ${end}`);
    for (const batch of batches) {
      assertEquals(batch.baseOffset, labels.length, `the next batch of ${name}`);
      for (const record of batch.records()) {
        assertEquals(record.offset, labels.length, `the next record of ${name}`);
        labels.push(labelOf(record.value!));
        timestamps.push(record.timestamp);
      }
    }
  }
  assertEquals(labels.length, end, `the end of ${name}`);
  return { labels, timestamps };
}

/** Every batch is where its acknowledgement said, whole; everything was acknowledged in the end. */
export function checkAcknowledged(log: WholeLog, batches: Iterable<SentBatch>): void {
  for (const { producer, partition, first, count, offset } of batches) {
    assert(offset !== null, `${producer}: number ${first} of partition ${partition} was never acknowledged`);
    const expected = Array.from({ length: count }, (_, i) => `${producer} ${first + i}`);
    assertEquals(
      log.labels.slice(offset, offset + count),
      expected,
      `the batch of ${producer} that was acknowledged at ${offset} of partition ${partition}`,
    );
  }
}

/**
 * The records of one producer in one partition: in order, none missing, none that was not sent; each exactly once, or,
 * with `repeats`, a whole batch as often as it was sent at most, before anything that came after it.
 */
export function checkOrder(
  log: WholeLog,
  producer: string,
  batches: readonly SentBatch[],
  repeats: boolean,
): void {
  const found = log.labels.filter((label) => label.startsWith(`${producer} `));
  let at = 0;
  for (const { first, count, attempts } of batches) {
    const expected = Array.from({ length: count }, (_, i) => `${producer} ${first + i}`);
    let times = 0;
    const mostTimes = repeats ? attempts : 1;
    while (times < mostTimes && found[at] === expected[0]) {
      assertEquals(found.slice(at, at + count), expected, `what follows "${expected[0]}"`);
      at += count;
      times++;
    }
    assert(times > 0, `after "${found[at - 1]}" of ${producer} comes "${found[at]}", not "${expected[0]}"`);
  }
  assert(at === found.length, `"${found[at]}" of ${producer} is there again, or was never sent`);
}

/** What a consumer saw on the way is what is there now. */
export function checkSeen(log: WholeLog, seen: SeenLog): void {
  seen.forEach((label, offset) => {
    if (label !== log.labels[offset]) {
      throw new Error(`At ${offset} is "${log.labels[offset]}", where a consumer has read "${label}"`);
    }
  });
}

/** ListOffsets by time agrees with the records, for the time of each of `offsets` and for one after all. */
export async function checkTimes(
  client: Client,
  topic: string,
  partition: number,
  { timestamps }: WholeLog,
  offsets: readonly number[],
): Promise<void> {
  const latest = timestamps.reduce((max, timestamp) => Math.max(max, timestamp), -1);
  for (const timestamp of [...offsets.map((offset) => timestamps[offset]), latest + 1]) {
    const expected = timestamps.findIndex((other) => other >= timestamp);
    const found = await offsetFor(client, topic, partition, BigInt(timestamp));
    assertEquals(found, expected, `the first offset of ${topic}-${partition} at or after ${timestamp}`);
  }
}
