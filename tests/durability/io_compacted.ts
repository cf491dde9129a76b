/**
 * What must hold of a compacted log after its broker ended in some way: what is left of each batch is part of what was
 * written there, no offset has changed, and of each key the last record is there, unless it is a tombstone that has nothing
 * left to hide.
 */

import { type BatchView, BatchView as View } from "../../src/codec/batch.ts";
import type { Log } from "../../src/storage/log/log.ts";
import { type End, type Entry, type Ledger, must, producersOf } from "./io_ledger.ts";

/** The topic that is compacted. */
export const KEYED = "keyed";

interface Held {
  offset: number;
  /** Null is a tombstone. */
  value: string | null;
}

/**
 * The batches as they are, and those that were once written in their place and between them, up to the last one, which is
 * never cleaned: it tells what it was written behind.
 */
export function matchedCompacted(
  batches: readonly BatchView[],
  log: Log,
  ledger: Ledger,
  end: End,
): { entries: Entry[]; originals: Entry[] } {
  const { name } = ledger;
  const originals = chainOf(batches.at(-1), ledger, name);
  const byOffset = new Map(originals.map((entry) => [entry.baseOffset, entry]));
  const promised = ledger.promisedEnd(end);
  const entries: Entry[] = [];
  let next = 0;
  for (const batch of batches) {
    const { baseOffset, lastOffset } = batch;
    const original = byOffset.get(baseOffset);
    must(baseOffset >= next, `${name} goes on at ${baseOffset} after ${next - 1}`);
    must(
      original !== undefined && original.lastOffset === lastOffset &&
        isPartOf(batch, new View(original.bytes)),
      `${name} has something at offset ${baseOffset} that was never written there`,
    );
    entries.push({ ...original, maxTimestamp: batch.maxTimestamp, bytes: batch.toBytes() });
    next = lastOffset + 1;
  }
  for (const entry of originals) {
    must(
      entry.baseOffset >= promised || ledger.written.includes(entry),
      `${name} goes on from what was cut off or refused at ${entry.baseOffset}, instead of what was promised`,
    );
  }
  checkKeys(batches, originals, log);
  return { entries, originals };
}

/** What was written up to the batch that is the last one now. */
function chainOf(last: BatchView | undefined, ledger: Ledger, name: string): Entry[] {
  if (last === undefined) return [];
  const bytes = last.toBytes();
  const found = [...ledger.written, ...ledger.doubtful].find((entry) =>
    entry.baseOffset === last.baseOffset && sameBytes(entry.bytes, bytes)
  );
  must(
    found !== undefined,
    `${name} ends with something at offset ${last.baseOffset} that was never written`,
  );
  const chain: Entry[] = [];
  // Where all of a log was lost, the next one knows of what was there before.
  const isBefore = (entry: Entry) => chain.length === 0 || entry.lastOffset < chain.at(-1)!.baseOffset;
  for (let entry: Entry | null = found; entry !== null && isBefore(entry); entry = entry.before) {
    chain.push(entry);
  }
  return chain.reverse();
}

function isPartOf(batch: BatchView, original: BatchView): boolean {
  const isSame = batch.producerId === original.producerId && batch.producerEpoch === original.producerEpoch &&
    batch.baseSequence === original.baseSequence && batch.recordCount <= original.recordCount;
  const written = new Map([...original.records()].map((record) => [record.offset, JSON.stringify(record)]));
  return isSame &&
    [...batch.records()].every((record) => written.get(record.offset) === JSON.stringify(record));
}

function checkKeys(batches: readonly BatchView[], originals: readonly Entry[], log: Log): void {
  const expected = lastOfKeys(originals.map(({ bytes }) => new View(bytes)), log.logStartOffset);
  const found = lastOfKeys(batches, log.logStartOffset);
  for (const [key, last] of expected) {
    const there = found.get(key);
    const isGone = last.value === null && there === undefined;
    must(
      isGone || (there?.offset === last.offset && there.value === last.value),
      `${log.name} has of key "${key}" last ${JSON.stringify(there)}, written was ${JSON.stringify(last)}`,
    );
  }
}

function lastOfKeys(batches: readonly BatchView[], from: number): Map<string, Held> {
  const decoder = new TextDecoder();
  const last = new Map<string, Held>();
  for (const batch of batches) {
    for (const { offset, key, value } of batch.records()) {
      if (offset < from) continue;
      last.set(decoder.decode(key!), { offset, value: value === null ? null : decoder.decode(value) });
    }
  }
  return last;
}

/** Of each producer the last batch is known; of those before it may be gone what was compacted. */
export function checkCompactedProducers(log: Log, originals: readonly Entry[]): void {
  const expected = producersOf(originals);
  const told = new Map(log.activeProducers().map((entry) => [entry.producerId, entry]));
  for (const [producerId, { epoch, batches }] of expected) {
    const last = batches.at(-1)!;
    if (last.lastOffset < log.logStartOffset) continue;
    const known = told.get(producerId);
    must(
      known?.producerEpoch === epoch && known.batches.at(-1)?.lastOffset === last.lastOffset &&
        known.batches.at(-1)?.lastSequence === last.lastSequence,
      `${log.name} remembers of producer ${producerId} ${JSON.stringify(known)}, written was ${
        JSON.stringify(last)
      }`,
    );
  }
  const ends = new Set(
    originals.map(({ bytes, lastOffset }) => `${new View(bytes).producerId} ${lastOffset}`),
  );
  for (const { producerId, batches } of told.values()) {
    must(
      batches.every(({ lastOffset }) => ends.has(`${producerId} ${lastOffset}`)),
      `${log.name} remembers of producer ${producerId} what was not written: ${JSON.stringify(batches)}`,
    );
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
