/**
 * A partition of an internal topic as a coordinator uses it: records in, everything out again when it is loaded.
 * Its records are appended as one batch each time; nobody else writes there.
 */
import { buildBatch } from "../codec/batch.ts";
import { ErrorCode, errorName } from "../codec/errors.ts";
import { IoError } from "../storage/files/files.ts";
import type { Log } from "../storage/log/log.ts";
import type { Partition, PartitionAppend } from "./partition.ts";
import type { TransactionMarker } from "./transaction_marker.ts";

/** How much is read at once when the log is loaded. */
const LOAD_BYTES = 1024 * 1024;

/** `offset` is that of the first record. */
export interface InternalAppend {
  readonly errorCode: number;
  readonly offset: number;
  readonly committed: Promise<number> | null;
}

export class InternalLog {
  constructor(private readonly partition: Partition) {}

  /** Appends the records as one batch, or nothing; in a producer's transaction if one is given. */
  append(
    records: readonly { readonly key: Uint8Array; readonly value: Uint8Array | null }[],
    nowMs: number,
    transaction?: { readonly producerId: number; readonly producerEpoch: number },
  ): InternalAppend {
    const batch = buildBatch(
      records.map(({ key, value }) => ({ timestamp: nowMs, key, value })),
      // Nobody looks at the sequence of what a coordinator writes; Kafka's begins anew each time.
      transaction && { ...transaction, isTransactional: true, baseSequence: 0 },
    );
    return appended(this.partition.append(batch, "coordinator", nowMs));
  }

  /** Appends the end of a transaction. */
  appendMarker(marker: TransactionMarker, nowMs: number): InternalAppend {
    return appended(this.partition.appendMarker(marker, nowMs));
  }

  /** Tries once more to commit what a disk that failed has kept from it. Gives an error code. */
  recommit(): Promise<number> {
    return this.partition.recommit();
  }

  /** See {@link readWhole}. */
  readAll(): Iterable<Uint8Array> {
    return readWhole(this.partition.log);
  }
}

/** Everything in the log, oldest first, in pieces of whole batches. Throws `IoError` when the log cannot be read. */
export function* readWhole(log: Log): Iterable<Uint8Array> {
  // Before that its end is not known, and state that is taken from half a log is worse than none.
  if (!log.open()) throw new IoError("read", log.name, log.offline ?? "the disk under it failed");
  let offset = log.logStartOffset;
  while (offset < log.nextOffset) {
    const read = log.read(offset, { maxBytes: LOAD_BYTES, maxOffset: log.nextOffset, minOneMessage: true });
    if (read.errorCode !== ErrorCode.NONE) {
      throw new IoError("read", log.name, `offset ${offset} gives ${errorName(read.errorCode)}`);
    }
    if (read.bytes.length === 0) return;
    yield read.bytes;
    offset = read.nextOffset;
  }
}

function appended({ errorCode, baseOffset, committed }: PartitionAppend): InternalAppend {
  return { errorCode, offset: baseOffset, committed };
}
