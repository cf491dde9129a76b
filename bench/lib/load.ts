/**
 * The loads that go as fast as answers come: produce and consume. They measure time on the client's side; what the
 * broker spent is measured around them.
 */
import { type ConnectionOptions, RawConnection } from "./connection.ts";
import {
  fetchAnswer,
  fetchedPartitions,
  fetchFrame,
  produceError,
  produceErrors,
  produceFrame,
} from "./frames.ts";

/** Whom to load, and with what. */
export interface Target {
  readonly port: number;
  readonly topic: string;
  readonly partitions: number;
  /** Spread over the partitions; where there are fewer of them, each has several partitions to itself. */
  readonly connections: number;
  readonly batch: Uint8Array;
  readonly recordsPerBatch: number;
  readonly valueBytes: number;
  readonly acks: number;
}

/** What was moved, and in how long: from the first byte to the last answer. */
export interface Moved {
  readonly bytes: number;
  readonly seconds: number;
}

/** Requests that a producer has out on a connection: what Java clients allow themselves by default. */
const PRODUCES_IN_FLIGHT = 5;
/** Batches of several partitions go in one request up to here: max.request.size of Java clients. */
const REQUEST_BYTES_MAX = 1024 * 1024;
const MANY_CONNECTIONS = 10;

/** Sends about `batches` batches, the same share through every connection. */
export function produceLoad(target: Target, batches: number): Promise<Moved> {
  const { topic, batch, acks } = target;
  const several = target.partitions > target.connections;
  return withConnections(target, batches, several ? { headBytes: Infinity } : {}, (worker) => {
    const { connection, partitions, share } = worker;
    const perRequest = Math.max(1, Math.floor(REQUEST_BYTES_MAX / batch.length));
    const requests: { frame: Uint8Array; batches: number }[] = [];
    for (let at = 0; at < partitions.length; at += perRequest) {
      const some = partitions.slice(at, at + perRequest);
      requests.push({ frame: produceFrame(topic, some, batch, acks), batches: some.length });
    }
    let next = 0, sent = 0;
    const unanswered: number[] = [];
    const send = () => {
      const request = requests[next++ % requests.length];
      sent += request.batches;
      unanswered.push(request.batches);
      connection.send(request.frame);
    };
    connection.onAnswer = (head) => {
      const error = several ? produceErrors(head).find((code) => code !== 0) ?? 0 : produceError(head, topic);
      if (error !== 0) return worker.fail(new Error(`produce to ${topic}: error ${error}`));
      if (worker.move(unanswered.shift()!)) worker.done();
      else if (sent < share) send();
    };
    while (sent < share && unanswered.length < PRODUCES_IN_FLIGHT) send();
  });
}

/**
 * Reads about `batches` batches, the same share through every connection, each from the beginning and over again.
 * `onMoved` is told of every answer's.
 */
export function consumeLoad(
  target: Target,
  batches: number,
  onMoved?: (batches: number) => void,
): Promise<Moved> {
  if (target.partitions > target.connections) return consumeSeveral(target, batches, onMoved);
  const { topic, recordsPerBatch } = target;
  return withConnections(target, batches, {}, (worker) => {
    const { connection, partitions: [partition] } = worker;
    let offset = 0;
    const ask = () => connection.send(fetchFrame(topic, [[partition, offset]]));
    connection.onAnswer = (head) => {
      const { errorCode, highWatermark, recordBytes } = fetchAnswer(head, topic);
      if (errorCode !== 0) {
        return worker.fail(new Error(`fetch from ${topic}-${partition}: error ${errorCode}`));
      }
      // The last batch of an answer may be cut short.
      const whole = Math.floor(recordBytes / target.batch.length);
      if (worker.move(whole)) return worker.done();
      offset += whole * recordsPerBatch;
      if (offset >= highWatermark) offset = 0;
      ask();
    };
    ask();
  }, onMoved);
}

/** The same with several partitions to a connection, in one request and a fetch session, as consumers ask. */
function consumeSeveral(
  target: Target,
  batches: number,
  onMoved?: (batches: number) => void,
): Promise<Moved> {
  const { topic, recordsPerBatch } = target;
  return withConnections(target, batches, { headBytes: Infinity }, (worker) => {
    const { connection, partitions } = worker;
    const offsets = new Map(partitions.map((partition) => [partition, 0]));
    const ended = new Set<number>();
    let session = { id: 0, epoch: 0 };
    const ask = (moved: Iterable<number>) => {
      const asked = Array.from(moved, (partition) => [partition, offsets.get(partition)!] as const);
      connection.send(fetchFrame(topic, asked, undefined, session));
    };
    connection.onAnswer = (answer) => {
      const fetched = fetchedPartitions(answer);
      const failed = [fetched, ...fetched.partitions].find(({ errorCode }) => errorCode !== 0);
      if (failed) return worker.fail(new Error(`fetch from ${topic}: error ${failed.errorCode}`));
      session = { id: fetched.sessionId, epoch: session.epoch + 1 };
      const moved = new Set<number>();
      let enough = false;
      for (const { partitionIndex, records, highWatermark } of fetched.partitions) {
        const whole = Math.floor((records?.length ?? 0) / target.batch.length);
        if (whole === 0) continue;
        enough = worker.move(whole);
        const offset = offsets.get(partitionIndex)! + whole * recordsPerBatch;
        offsets.set(partitionIndex, offset);
        moved.add(partitionIndex);
        if (offset >= Number(highWatermark)) ended.add(partitionIndex);
      }
      if (enough) return worker.done();
      if (ended.size < offsets.size) return ask(moved);
      for (const partition of partitions) offsets.set(partition, 0);
      ended.clear();
      ask(partitions);
    };
    ask(partitions);
  }, onMoved);
}

/** A connection at work. */
interface Worker {
  readonly connection: RawConnection;
  readonly partitions: readonly number[];
  /** Batches that it has to move. */
  readonly share: number;
  /** Counts batches; whether its share is done. */
  readonly move: (batches: number) => boolean;
  readonly done: () => void;
  readonly fail: (error: Error) => void;
}

/** Lends out every connection until each has called `done`. */
async function withConnections(
  target: Target,
  batches: number,
  options: ConnectionOptions,
  run: (worker: Worker) => void,
  onMoved: (batches: number) => void = () => {},
): Promise<Moved> {
  const { port, connections: count, partitions } = target;
  const readBytes = count > MANY_CONNECTIONS ? 32 * 1024 : undefined;
  const connections = await openConnections(port, count, { ...options, readBytes });
  const share = Math.ceil(batches / count);
  let movedByAll = 0;
  try {
    const started = performance.now();
    await Promise.all(connections.map((connection, number) =>
      new Promise<void>((resolve, reject) => {
        connection.onFailure = reject;
        let moved = 0;
        const move = (batches: number) => {
          movedByAll += batches;
          onMoved(batches);
          return (moved += batches) >= share;
        };
        const own = partitionsOf(number, count, partitions);
        run({ connection, partitions: own, share, move, done: resolve, fail: reject });
      })
    ));
    const seconds = (performance.now() - started) / 1000;
    return { seconds, bytes: movedByAll * target.recordsPerBatch * target.valueBytes };
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** Which partitions connection `number` of `connections` has: together all of them, and none has none. */
export function partitionsOf(number: number, connections: number, partitions: number): number[] {
  if (connections >= partitions) return [number % partitions];
  const own: number[] = [];
  for (let partition = number; partition < partitions; partition += connections) own.push(partition);
  return own;
}

/** Some at a time, since a burst of a thousand would overflow a listener's queue. */
export async function openConnections(
  port: number,
  count: number,
  options: ConnectionOptions = {},
): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  while (connections.length < count) {
    const some = Math.min(50, count - connections.length);
    connections.push(
      ...await Promise.all(Array.from({ length: some }, () => RawConnection.connect(port, options))),
    );
  }
  return connections;
}
