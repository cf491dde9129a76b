/**
 * A partition of an internal topic as a coordinator uses it: records in, everything out again when it is loaded.
 * Its records are appended as one batch each time; there is no other writer.
 */
import { buildBatch } from "../codec/batch.ts";
import { ErrorCode } from "../codec/errors.ts";
import type { Partition } from "./partition.ts";

/** How much is read at once when the log is loaded. */
const LOAD_BYTES = 1024 * 1024;

export class InternalLog {
  constructor(private readonly partition: Partition) {}

  /** Appends the records as one batch, or nothing.*/
  append(
    records: readonly { readonly key: Uint8Array; readonly value: Uint8Array | null }[],
    nowMs: number,
  ): { errorCode: number; offset: number; committed: Promise<number> | null } {
    const batch = buildBatch(records.map(({ key, value }) => ({ timestamp: nowMs, key, value })));
    const { errorCode, lastOffset, committed } = this.partition.append(batch, "coordinator", nowMs);
    return { errorCode, offset: lastOffset, committed };
  }

  /** Everything in the log, oldest first, in pieces of whole batches. Throws when the log cannot be read. */
  *readAll(): Iterable<Uint8Array> {
    const { log } = this.partition;
    let offset = log.logStartOffset;
    while (offset < log.nextOffset) {
      const read = log.read(offset, { maxBytes: LOAD_BYTES, maxOffset: log.nextOffset, minOneMessage: true });
      if (read.errorCode !== ErrorCode.NONE) {
        throw new Error(`offset ${offset}: error code ${read.errorCode}`);
      }
      if (read.bytes.length === 0) return;
      yield read.bytes;
      offset = read.nextOffset;
    }
  }
}
