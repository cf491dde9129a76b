/**
 * The loads that go at a pace, and give a time for each record: from sending it to having it through a fetch that waits,
 * or to its acknowledgement.
 */
import { RawConnection } from "./connection.ts";
import { fetchAnswer, fetchFrame, produceError, produceFrame } from "./frames.ts";
import { openConnections, partitionsOf, type Target } from "./load.ts";

/**
 * Sends `count` batches of one record, each when the one before has been read by a waiting fetch; gives the
 * milliseconds from sending each to having it.
 */
export async function oneInFlight(target: Target, count: number): Promise<Float64Array> {
  const times = new Float64Array(count);
  await withReader(target, (producer, reader, done) => {
    const frame = produceFrame(target.topic, [0], target.batch);
    let acknowledged = 0, read = 0, sentAt = 0;
    const next = () => {
      if (acknowledged !== read) return;
      if (read === count) return done();
      reader.ask();
      sentAt = performance.now();
      producer.send(frame);
    };
    reader.onAcknowledged = () => {
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
    const frame = produceFrame(target.topic, [0], target.batch);
    const sentAt = new Float64Array(count);
    let read = 0;
    reader.onBatches = (batches) => {
      const now = performance.now();
      for (const end = read + batches; read < end; read++) times[read] = now - sentAt[read];
      if (read === count) done();
      else reader.ask();
    };
    reader.ask();
    paced(count, everyMs, (i) => {
      sentAt[i] = performance.now();
      producer.send(frame);
    });
  });
  return times;
}

interface Reader {
  /** Asks for what comes next, waiting for it. */
  ask(): void;
  onBatches: (batches: number) => void;
  onAcknowledged: () => void;
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
        ask: () => consumer.send(fetchFrame(topic, [[0, offset]])),
        onBatches: () => {},
        onAcknowledged: () => {},
      };
      producer.onAnswer = (head) => {
        const error = produceError(head, topic);
        if (error !== 0) return reject(new Error(`produce to ${topic}-0: error ${error}`));
        reader.onAcknowledged();
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

/**
 * Sends a batch of one record every `everyMs`, each through the next of all connections; gives the milliseconds from
 * sending each to its acknowledgement.
 */
export async function acknowledgedAtRate(
  target: Target,
  count: number,
  everyMs: number,
): Promise<Float64Array> {
  const { topic, batch, partitions, acks } = target;
  const times = new Float64Array(count);
  const connections = await openConnections(target.port, target.connections, { readBytes: 4096 });
  const frames = connections.map((_, number) =>
    produceFrame(topic, partitionsOf(number, connections.length, partitions), batch, acks)
  );
  try {
    await new Promise<void>((resolve, reject) => {
      const sentAt = connections.map((): number[] => []);
      let answered = 0;
      for (const [number, connection] of connections.entries()) {
        connection.onFailure = reject;
        connection.onAnswer = (head) => {
          const error = produceError(head, topic);
          if (error !== 0) return reject(new Error(`produce to ${topic}: error ${error}`));
          times[answered++] = performance.now() - sentAt[number].shift()!;
          if (answered === count) resolve();
        };
      }
      paced(count, everyMs, (i) => {
        const number = i % connections.length;
        sentAt[number].push(performance.now());
        connections[number].send(frames[number]);
      });
    });
  } finally {
    for (const connection of connections) connection.close();
  }
  return times;
}

/** Calls `send` with 0, 1, 2, … up to `count` of them, as many as are due: timers are late, the rate must not be. */
function paced(count: number, everyMs: number, send: (i: number) => void): void {
  const started = performance.now();
  let sent = 0;
  const tick = () => {
    while (sent < count && performance.now() - started >= sent * everyMs) send(sent++);
    if (sent < count) setTimeout(tick, Math.max(0, started + sent * everyMs - performance.now()));
  };
  tick();
}
