/**
 * Which producer ids are in use, by what another broker has left: those that partitions remember, and those that the
 * transaction coordinator gave to transactional ids, whose producers may not have written for long.
 */
import { TRANSACTIONS_TOPIC } from "../cluster/topic_names.ts";
import { batchesIn } from "../codec/batch.ts";
import { MalformedFrame } from "../codec/malformed.ts";
import { Reader } from "../codec/reader.ts";
import { transactionLogValue } from "../codec/records/transactions.ts";
import type { Log } from "../storage/log/log.ts";
import { readWhole } from "./internal_log.ts";

/** The highest producer id in a log; -1 when there is none. Throws `IoError` when the log cannot be read. */
export function lastProducerIdIn(log: Log): number {
  let last = -1;
  for (const { producerId } of log.activeProducers()) last = Math.max(last, producerId);
  if (log.topic !== TRANSACTIONS_TOPIC) return last;
  for (const bytes of readWhole(log)) {
    for (const batch of batchesIn(bytes)) {
      const cursor = batch.cursor();
      while (!batch.isControl && cursor.next()) last = Math.max(last, lastIdOf(cursor.value));
    }
  }
  return last;
}

/** Of the ids that a transactional id has, had, or goes on with. -1: of what cannot be read the coordinator will tell. */
function lastIdOf(value: Uint8Array | null): number {
  if (value === null) return -1;
  try {
    const reader = new Reader(value);
    const version = Math.min(reader.int16(), transactionLogValue.versions[1]);
    const { producerId, previousProducerId, nextProducerId } = transactionLogValue.read(reader, version);
    return Math.max(Number(producerId), Number(previousProducerId), Number(nextProducerId));
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    return -1;
  }
}
