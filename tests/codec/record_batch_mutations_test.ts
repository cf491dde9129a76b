/**
 * Mutated batches and message sets: whatever the bytes, every function of the codec gives a value or the error that it
 * documents, in little memory. The run is the same every time; the seed is in the name of what fails.
 */

import { Allowance } from "../../src/codec/allowance.ts";
import { assert } from "@std/assert/assert";
import { Prng } from "../../src/base/prng.ts";
import { batchesIn, BatchView, checkBatch, checkProducedBatch, checkRecords } from "../../src/codec/batch.ts";
import { retainRecords } from "../../src/codec/batch_filter.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import {
  checkMessage,
  downConvert,
  messagesIn,
  MessageView,
  readMessage,
  upConvert,
} from "../../src/codec/legacy.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { fromHex } from "./record_batch_vectors.ts";

const vectors = Deno.readTextFileSync(new URL("../vectors/RecordBatch.jsonl", import.meta.url)).trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line))
  .filter((line) => line.kind === "valid" && line.hex.length < 8000)
  .map((line) => ({ magic: line.magic as number, bytes: fromHex(line.hex) }));

const maxBytes = 1 << 20;
const roundsPerSeed = 4000;
const expectedCodes: number[] = [
  ErrorCode.CORRUPT_MESSAGE,
  ErrorCode.INVALID_RECORD,
  ErrorCode.INVALID_TIMESTAMP,
  ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
  ErrorCode.MESSAGE_TOO_LARGE,
];

/** Values that lengths and counts are most often wrong about. */
const evil = ["00000000", "ffffffff", "7fffffff", "80000000", "00000001", "fffffffe", "00100000"];

function mutate(prng: Prng, original: Uint8Array, magic: number): Uint8Array<ArrayBuffer> {
  let bytes = new Uint8Array(original);
  for (let i = prng.between(1, 3); i > 0 && bytes.length > 20; i--) {
    switch (prng.int(5)) {
      case 0:
        bytes[prng.int(bytes.length)] ^= 1 << prng.int(8);
        break;
      case 1:
        bytes[prng.int(bytes.length)] = prng.int(256);
        break;
      case 2:
        bytes.set(fromHex(prng.pick(evil)), prng.int(bytes.length - 4));
        break;
      case 3:
        bytes = bytes.slice(0, prng.int(bytes.length) + 1);
        break;
      case 4: {
        const from = prng.int(bytes.length - 16), to = prng.int(bytes.length - 16);
        bytes.copyWithin(to, from, from + prng.int(16));
      }
    }
  }
  // Half of them with length and CRC made right, so that what lies behind the first check is reached.
  if (bytes.length > 61 && prng.chance()) repair(bytes, magic);
  return bytes;
}

function repair(bytes: Uint8Array<ArrayBuffer>, magic: number): void {
  new DataView(bytes.buffer).setInt32(8, bytes.length - 12);
  bytes[16] = magic;
  if (magic === 2) new BatchView(bytes).updateCrc();
  else new DataView(bytes.buffer).setUint32(12, new MessageView(bytes).computeCrc());
}

/** Runs `use` and gives whether it threw MalformedFrame; anything else it throws is a finding. */
function isMalformed(use: () => void): boolean {
  try {
    use();
    return false;
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    return true;
  }
}

function exerciseBatch(bytes: Uint8Array): boolean {
  const problem = checkBatch(bytes, 0, bytes.length);
  isMalformed(() => [...batchesIn(bytes)].forEach((batch) => [...batch.records(maxBytes)]));
  if (problem !== null) {
    assert(expectedCodes.includes(problem.errorCode), problem.text);
    return false;
  }
  const batch = new BatchView(bytes);
  checkProducedBatch(batch);
  const recordProblem = checkRecords(batch, maxBytes);
  assert(recordProblem === null || recordProblem.errorCode === ErrorCode.INVALID_RECORD, recordProblem?.text);
  const isThrown = isMalformed(() => [...batch.records(maxBytes)]);
  assert(isThrown === (recordProblem !== null), "records() and checkRecords() disagree");
  const areBitsThrown = isMalformed(() => [...batch.exactRecords(maxBytes)]);
  assert(isThrown || !areBitsThrown, "records() takes what exactRecords() does not");
  isMalformed(() => retainRecords(batch, (record) => record.offset % 2 === 0, { maxBytes }));
  const converted = downConvert(bytes, 1, 0, new Allowance(maxBytes));
  assert(
    converted.problem === null || expectedCodes.includes(converted.problem.errorCode),
    converted.problem?.text,
  );
  return recordProblem === null;
}

function exerciseMessages(bytes: Uint8Array): boolean {
  const problem = checkMessage(bytes, 0, bytes.length);
  assert(problem === null || expectedCodes.includes(problem.errorCode), problem?.text);
  isMalformed(() => {
    for (const message of messagesIn(bytes)) {
      if (checkMessage(bytes, message.start, bytes.length) === null) {
        readMessage(message, new Allowance(maxBytes));
      }
    }
  });
  downConvert(bytes, 0, 0, new Allowance(maxBytes));
  const converted = upConvert(bytes, new Allowance(maxBytes));
  if (converted.problem !== null) {
    assert(expectedCodes.includes(converted.problem.errorCode), converted.problem.text);
    return false;
  }
  assert(
    checkBatch(converted.batch!, 0, converted.batch!.length) === null,
    "upConvert() made a batch that is refused",
  );
  return true;
}

for (const seed of [1, 2, 3]) {
  Deno.test(`mutated batches and message sets give values or documented errors, seed ${seed}`, () => {
    const prng = new Prng(seed);
    const before = Deno.memoryUsage().external;
    let taken = 0, refused = 0, most = 0;
    for (let round = 0; round < roundsPerSeed; round++) {
      const { magic, bytes } = prng.pick(vectors);
      const mutated = mutate(prng, bytes, magic);
      const isTaken = magic === 2 ? exerciseBatch(mutated) : exerciseMessages(mutated);
      if (isTaken) taken++;
      else refused++;
      most = Math.max(most, Deno.memoryUsage().external - before);
    }
    assert(taken > 100 && refused > 1000, `${taken} taken, ${refused} refused: the mutations miss one side`);
    // How soon what is done with is given back is up to the collector: 60 MB is usual.
    assert(most < 128 << 20, `external memory grew by ${most} bytes`);
  });
}
