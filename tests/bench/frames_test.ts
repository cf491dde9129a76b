/** What the load generator reads out of answers by position, held against the codec that writes them. */
import { assertEquals } from "@std/assert/equals";
import {
  batchOf,
  FETCH_VERSION,
  fetchAnswer,
  fetchFrame,
  logText,
  PRODUCE_VERSION,
  produceError,
  produceFrame,
  VALUE_BYTES,
} from "../../bench/lib/frames.ts";
import { AnswerCutter, HEAD_BYTES } from "../../bench/lib/connection.ts";
import { BatchView, checkBatch, Compression } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { encodeResponse, requestHeaderVersion } from "../../src/codec/framing.ts";
import { requestHeader } from "../../src/codec/headers.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { Reader } from "../../src/codec/reader.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { concatChunks } from "../../src/codec/writer.ts";

const TOPIC = "256k-lz4-12345";

function produceAnswerOf(errorCode: number): Uint8Array {
  const partition = { index: 0, errorCode, baseOffset: 1, recordErrors: [] };
  return concatChunks(encodeResponse(produce, PRODUCE_VERSION, 7, {
    responses: [{ name: TOPIC, topicId: ZERO_UUID, partitionResponses: [partition] }],
  }));
}

function fetchAnswerOf(errorCode: number, records: Uint8Array, abortedTransactions: null | []): Uint8Array {
  const offsets = { highWatermark: 9, lastStableOffset: 9, logStartOffset: 0 };
  const partition = { partitionIndex: 0, errorCode, ...offsets, abortedTransactions, records };
  return concatChunks(encodeResponse(fetch, FETCH_VERSION, 7, {
    errorCode: ErrorCode.NONE,
    responses: [{ topic: TOPIC, topicId: ZERO_UUID, partitions: [partition] }],
  }));
}

Deno.test("produceError() finds the error code in an answer of the codec", () => {
  for (const errorCode of [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.CORRUPT_MESSAGE]) {
    assertEquals(produceError(produceAnswerOf(errorCode).subarray(4), TOPIC), errorCode);
  }
});

Deno.test("fetchAnswer() finds error code and size of the records in the first bytes of an answer", () => {
  for (const size of [0, 1, 126, 127, 128, 20_000, 3_000_000]) {
    for (const aborted of [null, []] as const) {
      const answer = fetchAnswerOf(ErrorCode.NONE, new Uint8Array(size), aborted as null | []);
      const head = answer.subarray(4, 4 + HEAD_BYTES);
      assertEquals(fetchAnswer(head, TOPIC), { errorCode: 0, recordBytes: size });
    }
  }
  const failed = fetchAnswerOf(ErrorCode.OFFSET_OUT_OF_RANGE, new Uint8Array(0), null).subarray(4);
  assertEquals(fetchAnswer(failed, TOPIC).errorCode, ErrorCode.OFFSET_OUT_OF_RANGE);
});

Deno.test("fetchAnswer() gives the error of a whole answer", () => {
  const answer = concatChunks(
    encodeResponse(fetch, FETCH_VERSION, 7, {
      errorCode: ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
      responses: [],
    }),
  );
  assertEquals(fetchAnswer(answer.subarray(4), TOPIC).errorCode, ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
});

Deno.test("produceFrame() is a request that the codec reads, with a batch that the broker takes", () => {
  for (const compression of [Compression.NONE, Compression.LZ4]) {
    const batch = batchOf(15, compression);
    assertEquals(checkBatch(batch, 0, batch.length), null);
    const frame = produceFrame(TOPIC, 2, batch);
    const reader = new Reader(frame, 4);
    requestHeader.read(reader, requestHeaderVersion(produce as never, PRODUCE_VERSION));
    const request = produce.request.read(reader, PRODUCE_VERSION);
    reader.expectEnd();
    const [{ index, records }] = request.topicData[0].partitionData;
    assertEquals([request.topicData[0].name, index, request.acks], [TOPIC, 2, 1]);
    assertEquals(records, batch);
    const values = [...new BatchView(batch).records()].map((record) => record.value!.length);
    assertEquals(values, new Array(15).fill(VALUE_BYTES));
  }
});

Deno.test("fetchFrame() asks for the offset and the bytes it was told", () => {
  const frame = fetchFrame(TOPIC, 1, 4_000_000_000, { maxWaitMs: 500, minBytes: 1, partitionMaxBytes: 4096 });
  const reader = new Reader(frame, 4);
  requestHeader.read(reader, requestHeaderVersion(fetch as never, FETCH_VERSION));
  const { topics: [{ partitions: [asked] }], maxWaitMs } = fetch.request.read(reader, FETCH_VERSION);
  reader.expectEnd();
  assertEquals([asked.fetchOffset, asked.partitionMaxBytes, maxWaitMs], [4_000_000_000n, 4096, 500]);
});

Deno.test("logText() compresses two to four times, as logs of services do", () => {
  const plain = batchOf(100, Compression.NONE).length;
  const ratio = plain / batchOf(100, Compression.LZ4).length;
  assertEquals(ratio > 1.8 && ratio < 4, true, `ratio is ${ratio}`);
  assertEquals(logText(777, 1).length, 777);
});

Deno.test("AnswerCutter gives the head and length of every answer however the stream is cut", () => {
  const answers = [4, 5, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, 700_000, 4].map((length, id) => {
    const answer = new Uint8Array(4 + length).fill(id + 1);
    new DataView(answer.buffer).setInt32(0, length);
    return answer;
  });
  const stream = concatChunks(answers);
  const expected = answers.map((
    answer,
  ) => [answer.length - 4, answer[4], Math.min(answer.length - 4, HEAD_BYTES)]);
  for (const piece of [1, 3, 7, 127, 4096, 1 << 20]) {
    const seen: number[][] = [];
    const cutter = new AnswerCutter((head, length) => seen.push([length, head[0], head.length]));
    for (let at = 0; at < stream.length;) {
      const space = cutter.space();
      const part = stream.subarray(at, at + Math.min(piece, space.length));
      space.set(part);
      cutter.filled(part.length);
      at += part.length;
    }
    assertEquals(seen, expected, `in pieces of ${piece}`);
  }
});
