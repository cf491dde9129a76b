/** The stored lines of RecordBatch.jsonl, under the rules for all seeds and with the exact outcome of the damaged ones. */

import { assertEquals } from "@std/assert/equals";
import { errorName } from "../../src/codec/errors.ts";
import { damageFailures, type JavaOutcome, readDamaged } from "./record_batch_damage.ts";
import { checkRecordBatchLine, fromHex } from "./record_batch_vectors.ts";

const lines = Deno.readTextFileSync(new URL("../vectors/RecordBatch.jsonl", import.meta.url)).trimEnd().split(
  "\n",
);

Deno.test("RecordBatch.jsonl has all of its 140 cases", () => assertEquals(lines.length, 140));

for (const text of lines) {
  const line = JSON.parse(text);
  const claim = line.kind === "valid" ? "is read and rebuilt as Java made it" : "is judged as documented";
  Deno.test(`record batch vector ${line.case} ${claim}`, () =>
    assertEquals(checkRecordBatchLine(line), null));
}

/** What Java's reader lets pass: the codec's choice, which the rules leave open. */
const choices: { [name: string]: string } = {
  // Kafka's broker ignores an incomplete end on produce. Here it is damage; reading a log, iteration stops there.
  "truncated-body": "tail CORRUPT_MESSAGE",
  "truncated-header": "tail CORRUPT_MESSAGE",
  "truncated-before-magic": "tail CORRUPT_MESSAGE",
  "truncated-in-length": "tail CORRUPT_MESSAGE",
  "truncated-last-of-three": "tail CORRUPT_MESSAGE",
  "trailing-garbage": "tail CORRUPT_MESSAGE",
  "length-too-large-125": "tail CORRUPT_MESSAGE",
  "length-too-large-1124": "tail CORRUPT_MESSAGE",
  "magic0-truncated-body": "tail CORRUPT_MESSAGE",
  "magic0-truncated-header": "tail CORRUPT_MESSAGE",
  "magic1-truncated-body": "tail CORRUPT_MESSAGE",
  "magic1-truncated-header": "tail CORRUPT_MESSAGE",
  "magic0-wrapper-inner-truncated": "records CORRUPT_MESSAGE",
  "magic1-wrapper-inner-truncated": "records CORRUPT_MESSAGE",
  // As Kafka's broker has it on produce.
  "record-count-0": "check INVALID_RECORD",
  "last-offset-delta-1": "check INVALID_RECORD",
  "last-offset-delta-negative": "check INVALID_RECORD",
  "magic0-wrapper-magic-mismatch": "records INVALID_RECORD",
  "magic1-wrapper-magic-mismatch": "records INVALID_RECORD",
  // What a control record means is not the codec's business, and no bytes are no error.
  "control-type-unknown": "taken",
  "empty": "taken",
};

Deno.test("damaged lines that Java lets pass are refused or taken as chosen", () => {
  const passed = lines.map((text) => JSON.parse(text)).filter(({ kind, java }) =>
    kind === "malformed" && java.error === null
  );
  const outcomes = passed.map(({ case: name, magic, hex }) => {
    const { refusal } = readDamaged(magic, fromHex(hex));
    return [name, refusal === null ? "taken" : `${refusal.stage} ${errorName(refusal.errorCode)}`];
  });
  assertEquals(Object.fromEntries(outcomes), choices);
});

function lineNamed(name: string) {
  return JSON.parse(lines.find((text) => text.includes(`"${name}"`))!);
}

Deno.test("checkRecordBatchLine() notices a changed byte, so that it cannot pass by looking away", () => {
  const line = lineNamed("magic2-none-several");
  line.batches[0].records[0].key = "AAAA";
  assertEquals(checkRecordBatchLine(line)?.includes("key is"), true);
});

Deno.test("damageFailures() notices a batch taken, refused too late or with another code than Java's failure has", () => {
  const failed: JavaOutcome = {
    batches: 0,
    records: 0,
    failedAt: "batches",
    error: "CorruptRecordException",
  };
  const failuresOf = (name: string, java: JavaOutcome) => {
    const { magic, hex } = lineNamed(name);
    return damageFailures(magic, fromHex(hex), java).join("; ");
  };
  const taken = failuresOf("control-type-unknown", failed);
  assertEquals(taken, "read without an objection, Java failed at batches: CorruptRecordException");
  const late = failuresOf("key-length-too-large", failed);
  assertEquals(late.includes("refused at records as INVALID_RECORD"), true);
  assertEquals(late.includes("not CORRUPT_MESSAGE"), true);
  assertEquals(late.includes("Java failed at batches already"), true);
  assertEquals(late.includes("iteration found 1, Java's 0"), true);
  const passed: JavaOutcome = { batches: 2, records: 5, failedAt: null, error: null };
  assertEquals(
    failuresOf("control-type-unknown", passed),
    "iteration found 1, Java's 2; 1 records, Java read 5",
  );
  assertEquals(failuresOf("truncated-last-of-three", passed), "3 records, Java read 5");
});
