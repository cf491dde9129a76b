/**
 * How the damaged lines of RecordBatch.jsonl are judged. The rules know what Java's reader made of a line, not its name,
 * since names and bytes depend on the seed:
 *
 * - Java failed: the codec refuses, with CORRUPT_MESSAGE where Java saw damage (CorruptRecordException, or a length that
 *   leads nowhere) and with INVALID_RECORD where the CRC was right. Where Java failed before it looked at records, so
 *   does the codec.
 * - Java read on without an error, because it does not look or takes the damage for the incomplete end of a fetch: the
 *   codec reads as many batches and records, or refuses with one of the two codes. A broker that takes records has to
 *   look: what it dropped here it would have acknowledged. An incomplete end is both: whoever reads a log stops there,
 *   and checkBatch() and checkMessage() call it CORRUPT_MESSAGE.
 */

import { batchesIn, type BatchProblem, checkBatch, checkRecords } from "../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { checkMessage, messagesIn, readMessage } from "../../src/codec/legacy.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";

/** What Java's reader did with a damaged line. */
export interface JavaOutcome {
  batches: number;
  records: number;
  /** Where it failed: going from batch to batch, at a batch's CRC and size, or reading its records. */
  failedAt: "batches" | "ensureValid" | "records" | null;
  error: string | null;
}

/** What the codec does with it. */
export interface Outcome {
  /** Whole batches or messages that iteration finds, whatever is in them. */
  batches: number;
  /** Records up to the first refusal. */
  records: number;
  refusal: Refusal | null;
}

/** `check` is checkBatch() or checkMessage() on a whole one, `tail` the same on what iteration left over. */
interface Refusal {
  stage: "check" | "records" | "tail";
  errorCode: number;
  text: string;
}

/** Reads what iteration finds, one after the other, as far as the first that is refused. */
export function readDamaged(magic: number, bytes: Uint8Array): Outcome {
  const isLegacy = magic === 0 || magic === 1;
  const check = isLegacy ? checkMessage : checkBatch;
  let batches = 0, records = 0, end = 0;
  let refusal: Refusal | null = null;
  const refuse = (stage: Refusal["stage"], problem: BatchProblem | null) => {
    if (problem !== null) refusal ??= { stage, ...problem };
    return problem !== null;
  };
  try {
    for (const unit of isLegacy ? messagesIn(bytes) : batchesIn(bytes)) {
      batches++;
      end = unit.start + unit.sizeInBytes;
      if (refusal !== null || refuse("check", check(bytes, unit.start, bytes.length))) continue;
      if ("offset" in unit) {
        const content = readMessage(unit);
        if (!refuse("records", content.problem)) records += content.records!.length;
      } else if (!refuse("records", checkRecords(unit))) {
        records += unit.recordCount;
      }
    }
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
  }
  if (end < bytes.length) refuse("tail", check(bytes, end, bytes.length));
  return { batches, records, refusal };
}

/** What breaks the rules above. */
export function damageFailures(magic: number, bytes: Uint8Array, java: JavaOutcome): string[] {
  const ours = readDamaged(magic, bytes);
  return java.error === null ? failuresWherePassed(ours, java) : failuresWhereFailed(ours, java, java.error);
}

function failuresWhereFailed(ours: Outcome, java: JavaOutcome, error: string): string[] {
  const { refusal } = ours;
  if (refusal === null) return [`read without an objection, Java failed at ${java.failedAt}: ${error}`];
  const failures: string[] = [];
  const isDamage = java.failedAt !== "records" || error.startsWith("CorruptRecordException");
  const expected = isDamage ? ErrorCode.CORRUPT_MESSAGE : ErrorCode.INVALID_RECORD;
  if (refusal.errorCode !== expected) failures.push(`${described(refusal)}, not ${errorName(expected)}`);
  if (java.failedAt !== "records" && refusal.stage === "records") {
    failures.push(`${described(refusal)}, Java failed at ${java.failedAt} already`);
  }
  // Where Java failed inside of a batch it did not look for the next.
  if (java.failedAt === "batches" && ours.batches !== java.batches) {
    failures.push(`iteration found ${ours.batches}, Java's ${java.batches}`);
  }
  return failures;
}

function failuresWherePassed({ batches, records, refusal }: Outcome, java: JavaOutcome): string[] {
  const failures: string[] = [];
  if (batches !== java.batches) failures.push(`iteration found ${batches}, Java's ${java.batches}`);
  const isRead = refusal === null || refusal.stage === "tail";
  if (isRead && records !== java.records) failures.push(`${records} records, Java read ${java.records}`);
  const allowed: number[] = refusal?.stage === "tail"
    ? [ErrorCode.CORRUPT_MESSAGE]
    : [ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD];
  if (refusal !== null && !allowed.includes(refusal.errorCode)) failures.push(described(refusal));
  return failures;
}

function described({ stage, errorCode, text }: Refusal): string {
  return `refused at ${stage} as ${errorName(errorCode)} (${text})`;
}
