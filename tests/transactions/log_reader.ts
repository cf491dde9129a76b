/** A partition as it is in the log, batch by batch, with what was aborted and with the markers: for the checker. */
import type { Client } from "../../src/client/client.ts";
import type { BatchView } from "../../src/codec/batch.ts";
import { EARLIEST, fetchFrom, LATEST, offsetFor } from "../durability/requests.ts";
import type { LogEvent, LoggedBatch } from "./history.ts";

const READ_COMMITTED = 1;
/** What the key of a control record says after its version: 0 aborts, 1 commits. */
const COMMIT = 1;

/** How far a partition goes, and how far it is stable. */
export async function boundsOf(client: Client, topic: string, partition: number) {
  const start = await offsetFor(client, topic, partition, EARLIEST);
  const stable = await offsetFor(client, topic, partition, LATEST, READ_COMMITTED);
  return { start, stable, end: await offsetFor(client, topic, partition, LATEST) };
}

export async function readLog(client: Client, topic: string, partition: number): Promise<LogEvent> {
  const bounds = await boundsOf(client, topic, partition);
  const batches: LoggedBatch[] = [];
  for (let next = bounds.start; next < bounds.end;) {
    const fetched = await fetchFrom(client, topic, partition, next);
    if (fetched.batches.length === 0) break; // the checker says that it ends too early
    for (const batch of fetched.batches) batches.push(logged(batch));
    next = fetched.batches.at(-1)!.nextOffset;
  }
  return { f: "log", place: `${topic}-${partition}`, ...bounds, batches };
}

function logged(batch: BatchView): LoggedBatch {
  const common = { offset: batch.baseOffset, producerId: batch.producerId, epoch: batch.producerEpoch };
  if (!batch.isControl) {
    const decoder = new TextDecoder();
    return { ...common, values: [...batch.records()].map(({ value }) => decoder.decode(value!)) };
  }
  const [{ key }] = [...batch.records()];
  const type = new DataView(key!.buffer, key!.byteOffset, key!.byteLength).getInt16(2);
  return { ...common, marker: type === COMMIT ? "commit" : "abort" };
}

/** The offset of the last committed record, -1 if there is none. */
export function lastCommitted({ batches }: LogEvent): number {
  const open = new Map<number, number>();
  let last = -1;
  for (const batch of batches) {
    if (!("marker" in batch)) {
      open.set(batch.producerId, batch.offset + batch.values.length - 1);
      continue;
    }
    if (batch.marker === "commit") last = Math.max(last, open.get(batch.producerId) ?? -1);
    open.delete(batch.producerId);
  }
  return last;
}
