/**
 * Producers that number what they send, keep book of what was acknowledged, and send again what was not. An idempotent
 * one has up to five batches on the way to a partition, as Kafka's clients do; a plain one has one, for with more a
 * retry could overtake.
 */
import { assertEquals } from "@std/assert/equals";
import type { Prng } from "../../src/base/prng.ts";
import type { Client } from "../../src/client/client.ts";
import { buildBatch, Compression } from "../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { newProducerId, type Produced, produceTo } from "./requests.ts";
import type { Progress, Target } from "./target.ts";

/** A batch that was sent, and what is known of it. */
export interface SentBatch {
  readonly producer: string;
  readonly partition: number;
  /** Number of its first record among those of the producer in the partition. */
  readonly first: number;
  readonly count: number;
  readonly bytes: Uint8Array;
  /** How often it was sent. */
  attempts: number;
  /** Offset of its first record, once acknowledged. */
  offset: number | null;
}

/** Batches on the way to a partition at once; the broker knows so many of each producer. */
const WINDOW = 5;
const BATCH_RECORDS = [1, 1, 2, 10, 60, 250];
const COMPRESSIONS = [
  Compression.NONE,
  Compression.NONE,
  Compression.LZ4,
  Compression.SNAPPY,
  Compression.ZSTD,
];
const encoder = new TextEncoder();

/** What record `number` of a producer says; a consumer reads it back with {@link labelOf}. */
export function labelled(producer: string, number: number, padding: number): Uint8Array {
  return encoder.encode(`${producer} ${number} ${".".repeat(padding)}`);
}

/** "producer number" */
export function labelOf(value: Uint8Array): string {
  const text = new TextDecoder().decode(value);
  return text.slice(0, text.lastIndexOf(" "));
}

export interface ProducerOptions {
  readonly name: string;
  readonly topic: string;
  readonly partitions: readonly number[];
  readonly random: Prng;
  readonly target: Target;
  readonly progress: Progress;
}

abstract class Producer {
  /** By partition, in the order in which they were first sent. */
  readonly sent: Map<number, SentBatch[]>;
  private readonly compression: number;

  constructor(protected readonly o: ProducerOptions) {
    this.sent = new Map(o.partitions.map((partition) => [partition, []]));
    this.compression = o.random.pick(COMPRESSIONS);
  }

  get name(): string {
    return this.o.name;
  }

  /** Sends until the target is to stop and everything is acknowledged. */
  run(): Promise<void> {
    return this.o.target.keepConnected(this.name, (client) => this.work(client));
  }

  protected abstract work(client: Client): Promise<void>;

  protected make(partition: number, producerId = -1): SentBatch {
    const { random, name } = this.o;
    const list = this.sent.get(partition)!;
    const last = list.at(-1);
    const first = last === undefined ? 0 : last.first + last.count;
    const count = random.pick(BATCH_RECORDS);
    const timestamp = Date.now();
    const records = Array.from({ length: count }, (_, i) => ({
      timestamp: timestamp + i,
      key: i % 3 === 0 ? null : encoder.encode(String(first + i)),
      value: labelled(name, first + i, random.int(120)),
    }));
    const identity = producerId < 0 ? {} : { producerId, producerEpoch: 0, baseSequence: first };
    const batch: SentBatch = {
      producer: name,
      partition,
      first,
      count,
      bytes: buildBatch(records, { compression: this.compression, ...identity }),
      attempts: 0,
      offset: null,
    };
    list.push(batch);
    return batch;
  }

  protected took(batch: SentBatch, { errorCode, errorMessage, baseOffset }: Produced): void {
    if (errorCode !== ErrorCode.NONE) {
      throw new Error(
        `${this.name}: batch of ${batch.count} from number ${batch.first} on (attempt ${batch.attempts}) was refused by ` +
          `${this.o.topic}-${batch.partition}: ${errorName(errorCode)} ${errorMessage ?? ""}`,
      );
    }
    batch.offset = baseOffset;
    this.o.progress.step();
  }
}

export class PlainProducer extends Producer {
  /** One request for all partitions, and the next when it is answered. */
  protected async work(client: Client): Promise<void> {
    const { topic, partitions, target } = this.o;
    for (;;) {
      let batches = [...this.sent.values()].flatMap((list) => list.filter((batch) => batch.offset === null));
      if (batches.length === 0) {
        if (target.isStopping) return;
        batches = partitions.map((partition) => this.make(partition));
      }
      for (const batch of batches) batch.attempts++;
      const parts = batches.map(({ partition, bytes }) => ({ partition, batch: bytes.slice() }));
      const answers = await produceTo(client, topic, parts, 1);
      batches.forEach((batch, i) => this.took(batch, answers[i]));
    }
  }
}

export class IdempotentProducer extends Producer {
  producerId = -1;

  protected async work(client: Client): Promise<void> {
    if (this.producerId < 0) this.producerId = await newProducerId(client);
    await Promise.all(this.o.partitions.map(async (partition) => {
      await this.probe(client, partition);
      await this.pump(client, partition);
    }));
  }

  /** After a restart: the broker still knows what it has, and where this producer goes on. */
  private async probe(client: Client, partition: number): Promise<void> {
    const list = this.sent.get(partition)!;
    const last = list.at(-1);
    if (last === undefined || last.offset === null) return;
    const [again] = await produceTo(client, this.o.topic, [{ partition, batch: last.bytes.slice() }]);
    assertEquals(
      [errorName(again.errorCode), again.baseOffset],
      ["NONE", last.offset],
      `${this.name}: the last acknowledged batch, sent again after a restart`,
    );
    const gap = buildBatch([{ timestamp: Date.now(), key: null, value: labelled(this.name, -1, 0) }], {
      producerId: this.producerId,
      producerEpoch: 0,
      baseSequence: last.first + last.count + 1,
    });
    const [refused] = await produceTo(client, this.o.topic, [{ partition, batch: gap }]);
    assertEquals(
      errorName(refused.errorCode),
      "OUT_OF_ORDER_SEQUENCE_NUMBER",
      `${this.name}: a batch that leaves a sequence number out, after a restart`,
    );
  }

  private async pump(client: Client, partition: number): Promise<void> {
    const { target } = this.o;
    const unacknowledged = this.sent.get(partition)!.filter((batch) => batch.offset === null);
    const underWay: Promise<void>[] = [];
    for (;;) {
      const batch = unacknowledged.shift() ??
        (target.isStopping ? null : this.make(partition, this.producerId));
      if (batch === null) break;
      const answered = this.send(client, batch);
      // All that are under way fail together; the first one is waited for.
      answered.catch(() => {});
      underWay.push(answered);
      if (underWay.length >= WINDOW) await underWay.shift();
    }
    await Promise.all(underWay);
  }

  private async send(client: Client, batch: SentBatch): Promise<void> {
    batch.attempts++;
    const parts = [{ partition: batch.partition, batch: batch.bytes.slice() }];
    const [answer] = await produceTo(client, this.o.topic, parts);
    this.took(batch, answer);
  }
}
