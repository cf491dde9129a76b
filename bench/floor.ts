/**
 * The floor: what must be done for the benchmark's Produce and Fetch requests on this machine and in this runtime, and
 * nothing else. It reads the socket, checks a batch's CRC, sets its offset and writes it to a file; a Fetch is one read and
 * one write. No other client can use it. `deno task bench --against floor` compares Trackway with it.
 *
 *     deno run -A bench/floor.ts PORT DIRECTORY
 */
import { openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32c } from "../src/codec/crc32c.ts";
import { encodeResponse, requestHeaderVersion } from "../src/codec/framing.ts";
import { requestHeader } from "../src/codec/headers.ts";
import { createTopics } from "../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../src/codec/messages/delete_topics.ts";
import { listOffsets } from "../src/codec/messages/list_offsets.ts";
import { Reader } from "../src/codec/reader.ts";
import type { Api } from "../src/codec/schema.ts";
import { ZERO_UUID } from "../src/codec/uuid.ts";
import { concatChunks } from "../src/codec/writer.ts";

/** A partition: a file of batches, and where each begins. */
class Partition {
  readonly offsets: number[] = [];
  readonly positions: number[] = [];
  end = 0;
  bytes = 0;
  /** Fetches that found nothing yet. */
  waiting: (() => void)[] = [];
  constructor(readonly file: number) {}
}

const [port, directory] = [Number(Deno.args[0]), Deno.args[1]];
await Deno.mkdir(directory, { recursive: true });
const partitions = new Map<string, Partition>();

function partitionOf(topic: string, index: number): Partition {
  const name = `${topic}-${index}`;
  let partition = partitions.get(name);
  if (partition === undefined) {
    partition = new Partition(openSync(join(directory, `${name}.log`), "w+"));
    partitions.set(name, partition);
  }
  return partition;
}

const READ_BYTES = 1024 * 1024;

async function serve(connection: Deno.TcpConn): Promise<void> {
  let buffer = new Uint8Array(READ_BYTES), held = 0;
  let writing = Promise.resolve();
  const send = (bytes: Uint8Array) => {
    writing = writing.then(async () => {
      for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
    });
    return writing;
  };
  for (;;) {
    const read = await connection.read(buffer.subarray(held));
    if (read === null) return connection.close();
    const end = held + read;
    let at = 0, size = 0;
    while (end - at >= 4 && end - at >= 4 + (size = new DataView(buffer.buffer, at).getInt32(0))) {
      await answer(buffer.subarray(at + 4, at + 4 + size), send);
      at += 4 + size;
    }
    held = end - at;
    if (4 + size > buffer.length) {
      const larger = new Uint8Array(4 + size + READ_BYTES);
      larger.set(buffer.subarray(at, end));
      buffer = larger;
    } else buffer.copyWithin(0, at, end);
  }
}

type Send = (bytes: Uint8Array) => Promise<void>;

async function answer(frame: Uint8Array, send: Send): Promise<void> {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const key = view.getInt16(0);
  // Behind key, version, correlation id, client id and no tags.
  const bodyAt = 10 + view.getInt16(8) + 1;
  if (key === 0) await produce(frame, view, bodyAt, send);
  else if (key === 1) await fetch(frame, view, bodyAt, send);
  else if (key === 18) await send(new Uint8Array([0, 0, 0, 10, ...frame.subarray(4, 8), 0, 0, 0, 0, 0, 0]));
  else await send(administer(frame, view));
}

/** Unsigned variable-length integers, as lengths in flexible versions are. */
let at = 0;
function varint(bytes: Uint8Array): number {
  let value = 0;
  for (let shift = 0;; shift += 7) {
    const byte = bytes[at++];
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}
const utf8 = new TextDecoder();

/** Version 9: one topic, batches of some of its partitions. */
function produce(frame: Uint8Array, view: DataView, bodyAt: number, send: Send): Promise<void> {
  at = bodyAt + 1 + 2 + 4 + 1;
  const nameAt = at, nameEnd = at + frame[at];
  const topic = utf8.decode(frame.subarray(nameAt + 1, nameEnd));
  at = nameEnd;
  const count = varint(frame) - 1;
  const answers: number[] = [];
  for (let i = 0; i < count; i++) {
    const index = view.getInt32(at);
    at += 4;
    const length = varint(frame) - 1;
    const offset = append(partitionOf(topic, index), frame.subarray(at, at + length));
    at += length + 1;
    answers.push(index, offset);
  }
  const bytes = new Uint8Array(4 + 4 + 1 + 1 + (nameEnd - nameAt) + 5 + count * 33 + 6);
  const out = new DataView(bytes.buffer);
  bytes.set(frame.subarray(4, 8), 4);
  bytes[9] = 2;
  bytes.set(frame.subarray(nameAt, nameEnd), 10);
  let to = 10 + nameEnd - nameAt;
  for (let left = count + 1;; left >>>= 7) {
    bytes[to++] = left > 0x7f ? left & 0x7f | 0x80 : left;
    if (left <= 0x7f) break;
  }
  for (let i = 0; i < answers.length; i += 2, to += 33) {
    out.setInt32(to, answers[i]);
    out.setBigInt64(to + 6, BigInt(answers[i + 1]));
    out.setBigInt64(to + 14, -1n);
    bytes[to + 30] = 1;
  }
  // No tags of the topic, no throttling, no tags.
  to += 6;
  out.setInt32(0, to - 4);
  return send(bytes.subarray(0, to));
}

function append(partition: Partition, batch: Uint8Array): number {
  const view = new DataView(batch.buffer, batch.byteOffset, batch.length);
  if (crc32c(batch, 21) !== view.getUint32(17)) throw new Error("a batch with a wrong checksum");
  const offset = partition.end;
  view.setBigInt64(0, BigInt(offset));
  writeSync(partition.file, batch, 0, batch.length, partition.bytes);
  partition.offsets.push(offset);
  partition.positions.push(partition.bytes);
  partition.end += view.getInt32(57);
  partition.bytes += batch.length;
  const { waiting } = partition;
  partition.waiting = [];
  for (const wake of waiting) wake();
  return offset;
}

/** Version 12: one partition, no session. */
async function fetch(frame: Uint8Array, view: DataView, bodyAt: number, send: Send): Promise<void> {
  const maxWaitMs = view.getInt32(bodyAt + 4);
  const nameAt = bodyAt + 26, nameEnd = nameAt + frame[nameAt];
  const name = frame.slice(nameAt, nameEnd), correlation = frame.slice(4, 8);
  const index = view.getInt32(nameEnd + 1), offset = Number(view.getBigInt64(nameEnd + 9));
  const maxBytes = view.getInt32(nameEnd + 29);
  const partition = partitionOf(utf8.decode(name.subarray(1)), index);
  if (offset >= partition.end) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, maxWaitMs);
      partition.waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
  let low = 0, high = partition.offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (partition.offsets[middle] < offset) low = middle + 1;
    else high = middle;
  }
  const from = partition.positions[low] ?? partition.bytes;
  const length = Math.min(partition.bytes - from, maxBytes);
  const recordsAt = 4 + 4 + 1 + 4 + 2 + 4 + 1 + name.length + 1 + 4 + 2 + 24 + 1 + 4 + 5;
  const bytes = new Uint8Array(recordsAt + length + 3);
  const out = new DataView(bytes.buffer);
  out.setInt32(0, bytes.length - 4);
  bytes.set(correlation, 4);
  bytes[19] = 2;
  bytes.set(name, 20);
  let to = 20 + name.length;
  bytes[to] = 2;
  out.setInt32(to + 1, index);
  for (const [i, value] of [partition.end, partition.end, 0].entries()) {
    out.setBigInt64(to + 7 + 8 * i, BigInt(value));
  }
  out.setInt32(to + 32, -1);
  // The length in five bytes, whatever it is, so that it is known where the records begin.
  to += 36;
  for (let i = 0, left = length + 1; i < 5; i++, left >>>= 7) {
    bytes[to + i] = left & 0x7f | (i < 4 ? 0x80 : 0);
  }
  readSync(partition.file, bytes, recordsAt, length, from);
  await send(bytes);
}

/** What the benchmark asks besides: topics are there by being used. */
function administer(frame: Uint8Array, view: DataView): Uint8Array {
  const version = view.getInt16(2), correlationId = view.getInt32(4);
  const api = [createTopics, deleteTopics, listOffsets].find((one) => one.key === view.getInt16(0));
  if (api === undefined) throw new Error(`the floor has no API ${view.getInt16(0)}`);
  const reader = new Reader(frame);
  requestHeader.read(reader, requestHeaderVersion(api as Api, version));
  return concatChunks(encode());

  function encode() {
    if (api === createTopics) {
      const { topics } = createTopics.request.read(reader, version);
      const made = topics.map(({ name, numPartitions, replicationFactor }) => (
        { name, topicId: ZERO_UUID, errorCode: 0, numPartitions, replicationFactor, configs: [] }
      ));
      return encodeResponse(createTopics, version, correlationId, { topics: made });
    }
    if (api === deleteTopics) {
      const { topicNames } = deleteTopics.request.read(reader, version);
      const responses = topicNames.map((name) => ({ name, topicId: ZERO_UUID, errorCode: 0 }));
      return encodeResponse(deleteTopics, version, correlationId, { responses });
    }
    const { topics } = listOffsets.request.read(reader, version);
    const told = topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => (
        { partitionIndex, errorCode: 0, timestamp: -1n, offset: 0n, oldStyleOffsets: [] }
      )),
    }));
    return encodeResponse(listOffsets, version, correlationId, { topics: told });
  }
}

for await (const connection of Deno.listen({ hostname: "127.0.0.1", port })) {
  connection.setNoDelay(true);
  void serve(connection).catch((error) => {
    if (!(error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BadResource)) {
      throw error;
    }
  });
}
