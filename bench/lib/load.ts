/**
 * The loads: produce as fast as answers come, consume as fast as they come, and one record at a time through both.
 * They measure time on the client's side; what the broker spent is measured around them.
 */
import {
  fetchAnswer,
  fetchFrame,
  type FetchLimits,
  produceError,
  produceFrame,
  VALUE_BYTES,
} from "./frames.ts";
import { RawConnection } from "./connection.ts";

/** Whom to load, and with what: every partition has a connection of its own. */
export interface Target {
  readonly port: number;
  readonly topic: string;
  readonly partitions: number;
  readonly batch: Uint8Array;
  readonly recordsPerBatch: number;
}

/** Requests that a producer has out on a connection: what Java clients allow themselves by default. */
const PRODUCES_IN_FLIGHT = 5;
/** What consumers ask for by default, except that they would wait for one byte. */
const CONSUMER_LIMITS: FetchLimits = { maxWaitMs: 500, minBytes: 1, partitionMaxBytes: 1024 * 1024 };

/** Bytes of values in `batches` batches. */
export function valueBytes({ recordsPerBatch }: Target, batches: number): number {
  return batches * recordsPerBatch * VALUE_BYTES;
}

/** Sends `batchesEach` batches to every partition; gives the seconds from the first byte to the last answer. */
export function produceLoad(target: Target, batchesEach: number): Promise<number> {
  return withConnections(target, (connection, partition, done, fail) => {
    const frame = produceFrame(target.topic, partition, target.batch);
    let sent = 0, answered = 0;
    const send = () => {
      sent++;
      connection.send(frame);
    };
    connection.onAnswer = (head) => {
      const error = produceError(head, target.topic);
      if (error !== 0) return fail(new Error(`produce to ${target.topic}-${partition}: error ${error}`));
      if (++answered === batchesEach) done();
      else if (sent < batchesEach) send();
    };
    while (sent < Math.min(PRODUCES_IN_FLIGHT, batchesEach)) send();
  });
}

/** Reads `batchesEach` batches of every partition from its beginning, `passes` times over; gives seconds. */
export function consumeLoad(target: Target, batchesEach: number, passes: number): Promise<number> {
  const { topic, recordsPerBatch } = target;
  return withConnections(target, (connection, partition, done, fail) => {
    let batches = 0, passesLeft = passes;
    const ask = () => {
      connection.send(fetchFrame(topic, partition, batches * recordsPerBatch, CONSUMER_LIMITS));
    };
    connection.onAnswer = (head) => {
      const { errorCode, recordBytes } = fetchAnswer(head, topic);
      if (errorCode !== 0) return fail(new Error(`fetch from ${topic}-${partition}: error ${errorCode}`));
      batches += Math.floor(recordBytes / target.batch.length);
      if (batches >= batchesEach) {
        if (--passesLeft === 0) return done();
        batches = 0;
      }
      ask();
    };
    ask();
  });
}

/** One connection for each partition, until `run` has called `done` for all; gives the seconds that took. */
async function withConnections(
  { port, partitions }: Target,
  run: (connection: RawConnection, partition: number, done: () => void, fail: (error: Error) => void) => void,
): Promise<number> {
  const connections = await Promise.all(
    Array.from({ length: partitions }, () => RawConnection.connect(port)),
  );
  try {
    const started = performance.now();
    await Promise.all(connections.map((connection, partition) =>
      new Promise<void>((resolve, reject) => {
        connection.onFailure = reject;
        run(connection, partition, resolve, reject);
      })
    ));
    return (performance.now() - started) / 1000;
  } finally {
    for (const connection of connections) connection.close();
  }
}

/**
 * Sends `count` batches of one record, each when the one before has been read by a waiting fetch; gives the
 * milliseconds from sending each to having it.
 */
export async function oneInFlight(target: Target, count: number): Promise<Float64Array> {
  const times = new Float64Array(count);
  await withReader(target, (producer, reader, done) => {
    const frame = produceFrame(target.topic, 0, target.batch);
    let acknowledged = 0, read = 0, sentAt = 0;
    const next = () => {
      if (acknowledged !== read) return;
      if (read === count) return done();
      reader.ask();
      sentAt = performance.now();
      producer.send(frame);
    };
    producer.onAnswer = () => {
      acknowledged++;
      next();
    };
    reader.onBatches = (batches) => {
      if (batches === 0) return reader.ask();
      times[read++] = performance.now() - sentAt;
      next();
    };
    next();
  });
  return times;
}

/**
 * Sends a batch of one record every `everyMs`, whatever has come of those before; gives the milliseconds from sending
 * each to having it.
 */
export async function atRate(target: Target, count: number, everyMs: number): Promise<Float64Array> {
  const times = new Float64Array(count);
  await withReader(target, (producer, reader, done) => {
    const frame = produceFrame(target.topic, 0, target.batch);
    const sentAt = new Float64Array(count);
    let sent = 0, read = 0;
    const started = performance.now();
    const tick = () => {
      // As many as are due: timers are late now and then, the rate must not be.
      while (sent < count && performance.now() - started >= sent * everyMs) {
        sentAt[sent++] = performance.now();
        producer.send(frame);
      }
      if (sent < count) setTimeout(tick, Math.max(0, started + sent * everyMs - performance.now()));
    };
    reader.onBatches = (batches) => {
      const now = performance.now();
      for (const end = read + batches; read < end; read++) times[read] = now - sentAt[read];
      if (read === count) done();
      else reader.ask();
    };
    reader.ask();
    tick();
  });
  return times;
}

interface Reader {
  /** Asks for what comes next, waiting for it. */
  ask(): void;
  onBatches: (batches: number) => void;
}

/** A producer's and a consumer's connection to partition 0, the consumer at the beginning of a topic that must be new. */
async function withReader(
  { port, topic, batch, recordsPerBatch }: Target,
  run: (producer: RawConnection, reader: Reader, done: () => void) => void,
): Promise<void> {
  const [producer, consumer] = await Promise.all([RawConnection.connect(port), RawConnection.connect(port)]);
  try {
    await new Promise<void>((resolve, reject) => {
      let offset = 0;
      const reader: Reader = {
        ask: () => consumer.send(fetchFrame(topic, 0, offset, CONSUMER_LIMITS)),
        onBatches: () => {},
      };
      consumer.onAnswer = (head) => {
        const { errorCode, recordBytes } = fetchAnswer(head, topic);
        if (errorCode !== 0) return reject(new Error(`fetch from ${topic}-0: error ${errorCode}`));
        const batches = Math.floor(recordBytes / batch.length);
        offset += batches * recordsPerBatch;
        reader.onBatches(batches);
      };
      producer.onFailure = consumer.onFailure = reject;
      run(producer, reader, resolve);
    });
  } finally {
    producer.close();
    consumer.close();
  }
}
