/**
 * The batches of a segment as compaction reads them: each one checked before it is believed, since a batch that is written
 * anew gets a new checksum, and what was damaged would look whole. Messages of formats 0 and 1, which old Kafka wrote, come
 * as batches of format 2.
 */

import { DEFAULT_MAX_DECOMPRESSED_BYTES } from "../../codec/allowance.ts";
import { BatchView, buildBatch, TimestampType } from "../../codec/batch.ts";
import { MAGIC_AT } from "../../codec/batch_format.ts";
import { MessageView, readMessage } from "../../codec/legacy.ts";
import { MalformedFrame } from "../../codec/malformed.ts";
import { isIntact, scanBatches } from "../segment/batch_scan.ts";
import type { Segment } from "../segment/segment.ts";
import type { Pace } from "./pace.ts";

/** A place in the log that cannot be read: the text names it. */
export class DamagedLog extends Error {
  override name = "DamagedLog";
}

/** Who can take a batch of this size from a client has room for it here too. */
export const MAX_BATCH_PAYLOAD_BYTES = DEFAULT_MAX_DECOMPRESSED_BYTES;

/** `position` is where it begins in the file; `isConverted` says that the file has it in another form. False ends. */
export type VisitBatch = (batch: BatchView, position: number, isConverted: boolean) => boolean;

/** Visits the batches from `from` to `to`, as far as `visit` goes on. Throws {@link DamagedLog}, `IoError`. */
export function readSegment(
  segment: Segment,
  from: number,
  to: number,
  bufferBytes: number,
  pace: Pace,
  visit: VisitBatch,
): void {
  let goesOn = true;
  const end = scanBatches(
    segment.log,
    from,
    to,
    (bytes, at, size, position) => {
      pace.moved(size);
      if (!isIntact(bytes, at, size)) return false;
      try {
        const isLegacy = bytes[at + MAGIC_AT] !== 2;
        goesOn = visit(isLegacy ? converted(bytes, at) : new BatchView(bytes, at), position, isLegacy);
      } catch (error) {
        if (!(error instanceof MalformedFrame)) throw error;
        throw damagedAt(segment, position, error.message);
      }
      return goesOn;
    },
    Infinity,
    bufferBytes,
  );
  if (goesOn && end !== to) throw damagedAt(segment, end, "there is no intact batch");
}

function damagedAt({ log }: Segment, position: number, why: string): DamagedLog {
  return new DamagedLog(`${log.path} is damaged at position ${position}: ${why}`);
}

/** A message, or a compressed set of them, as a batch with the same offsets. */
function converted(bytes: Uint8Array, at: number): BatchView {
  const message = new MessageView(bytes, at);
  const { records, problem } = readMessage(message);
  if (problem !== null) throw new MalformedFrame(problem.text);
  const baseOffset = records[0].offset;
  const isLogAppendTime = message.timestampType === TimestampType.LOG_APPEND_TIME;
  return new BatchView(buildBatch(records, {
    baseOffset,
    compression: message.compression,
    timestampType: message.timestampType,
    logAppendTime: isLogAppendTime ? message.timestamp : undefined,
  }));
}
