/** What the load generator reads out of answers by position, held against the codec that writes them. */
import { assertEquals } from "@std/assert/equals";
import {
  batchOf,
  CONSUMER_LIMITS,
  FETCH_VERSION,
  fetchAnswer,
  fetchedPartitions,
  fetchFrame,
  logText,
  PRODUCE_VERSION,
  produceError,
  produceErrors,
  produceFrame,
  VALUE_BYTES,
} from "../../bench/lib/frames.ts";
import { recordsOf } from "../../bench/lib/throughput.ts";
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

function produceAnswerOf(...errorCodes: number[]): Uint8Array {
  const partitionResponses = errorCodes.map((errorCode, index) => (
    { index, errorCode, baseOffset: 1, recordErrors: [] }
  ));
  return concatChunks(encodeResponse(produce, PRODUCE_VERSION, 7, {
    responses: [{ name: TOPIC, topicId: ZERO_UUID, partitionResponses }],
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

Deno.test("produceErrors() gives the error code of each partition", () => {
  assertEquals(produceErrors(produceAnswerOf(0, ErrorCode.CORRUPT_MESSAGE, 0).subarray(4)), [
    ...[0, ErrorCode.CORRUPT_MESSAGE, 0],
  ]);
});

Deno.test("fetchAnswer() finds error code, high watermark and size of the records in the first bytes of an answer", () => {
  for (const size of [0, 1, 126, 127, 128, 20_000, 3_000_000]) {
    for (const aborted of [null, []] as const) {
      const answer = fetchAnswerOf(ErrorCode.NONE, new Uint8Array(size), aborted as null | []);
      const head = answer.subarray(4, 4 + HEAD_BYTES);
      assertEquals(fetchAnswer(head, TOPIC), { errorCode: 0, highWatermark: 9, recordBytes: size });
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

Deno.test("fetchedPartitions() gives a whole answer's session and partitions", () => {
  const answer = fetchAnswerOf(ErrorCode.NONE, new Uint8Array(500), null);
  const { errorCode, sessionId, partitions } = fetchedPartitions(answer.subarray(4));
  assertEquals([errorCode, sessionId, partitions.length, partitions[0].records?.length], [0, 0, 1, 500]);
});

Deno.test("produceFrame() is a request that the codec reads, with a batch that the broker takes", () => {
  for (const compression of [Compression.NONE, Compression.LZ4, Compression.ZSTD]) {
    const batch = batchOf(15, compression);
    assertEquals(checkBatch(batch, 0, batch.length), null);
    const frame = produceFrame(TOPIC, [2, 5], batch, -1);
    const reader = new Reader(frame, 4);
    requestHeader.read(reader, requestHeaderVersion(produce as never, PRODUCE_VERSION));
    const request = produce.request.read(reader, PRODUCE_VERSION);
    reader.expectEnd();
    const [{ name, partitionData }] = request.topicData;
    assertEquals([name, request.acks, ...partitionData.map(({ index }) => index)], [TOPIC, -1, 2, 5]);
    for (const { records } of partitionData) assertEquals(records, batch);
    const values = [...new BatchView(batch).records()].map((record) => record.value!.length);
    assertEquals(values, new Array(15).fill(VALUE_BYTES));
  }
});

Deno.test("fetchFrame() asks for the offsets, the bytes and the session it was told", () => {
  const limits = { ...CONSUMER_LIMITS, partitionMaxBytes: 4096 };
  const frame = fetchFrame(TOPIC, [[1, 4_000_000_000], [4, 7]], limits, { id: 9, epoch: 3 });
  const reader = new Reader(frame, 4);
  requestHeader.read(reader, requestHeaderVersion(fetch as never, FETCH_VERSION));
  const { topics, maxWaitMs, sessionId, sessionEpoch } = fetch.request.read(reader, FETCH_VERSION);
  reader.expectEnd();
  const asked = topics[0].partitions.map((p) => [p.partition, p.fetchOffset, p.partitionMaxBytes]);
  assertEquals(asked, [[1, 4_000_000_000n, 4096], [4, 7n, 4096]]);
  assertEquals([maxWaitMs, sessionId, sessionEpoch], [500, 9, 3]);
});

Deno.test("logText() compresses two to four times, as logs of services do", () => {
  const plain = batchOf(100, Compression.NONE).length;
  const ratio = plain / batchOf(100, Compression.LZ4).length;
  assertEquals(ratio > 1.8 && ratio < 4, true, `ratio is ${ratio}`);
  assertEquals(logText(777, 1).length, 777);
});

Deno.test("AnswerCutter gives the head and length of every answer however the stream is cut", () => {
  cutsAnswers(HEAD_BYTES);
});

Deno.test("AnswerCutter gives whole answers, larger than what it reads at once too, where that is wanted", () => {
  cutsAnswers(Infinity);
});

function cutsAnswers(headBytes: number): void {
  const answers = [4, 5, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, 700_000, 4].map((length, id) => {
    const answer = new Uint8Array(4 + length).fill(id + 1);
    new DataView(answer.buffer).setInt32(0, length);
    return answer;
  });
  const stream = concatChunks(answers);
  const expected = answers.map((
    answer,
  ) => [answer.length - 4, answer[4], answer.at(-1)!, Math.min(answer.length - 4, headBytes)]);
  for (const piece of [1, 3, 7, 127, 4096, 1 << 20]) {
    const seen: number[][] = [];
    const cutter = new AnswerCutter(
      (head, length) => seen.push([length, head[0], head.at(-1)!, head.length]),
      headBytes,
    );
    for (let at = 0; at < stream.length;) {
      const space = cutter.space();
      const part = stream.subarray(at, at + Math.min(piece, space.length));
      space.set(part);
      cutter.filled(part.length);
      at += part.length;
    }
    assertEquals(seen, expected, `in pieces of ${piece}`);
  }
}

Deno.test("recordsOf() fills a batch and does not overfill it", () => {
  for (const batchBytes of [16 * 1024, 256 * 1024, 1024 * 1024]) {
    for (const valueBytes of [100, VALUE_BYTES, 10 * 1024]) {
      const records = recordsOf({ batchBytes, valueBytes, compression: Compression.NONE });
      const { length } = batchOf(records, Compression.NONE, valueBytes);
      assertEquals(
        length <= batchBytes && length > batchBytes - valueBytes - 8 * records - 200,
        true,
        `${length}`,
      );
    }
  }
});
