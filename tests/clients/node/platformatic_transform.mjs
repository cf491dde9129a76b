/**
 * @platformatic/kafka in the course of tests/clients/transactions. What was aborted by wish is tried again at once; what
 * an error has had aborted is read again, from where the group has committed.
 */

import {
  Consumer,
  FetchIsolationLevels,
  ProduceAcks,
  Producer,
  stringDeserializers,
  stringSerializers,
} from "@platformatic/kafka";
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { heartbeatIntervalMs, sessionTimeoutMs } from "./adapter.mjs";
import { main, mostRecords } from "./transform.mjs";

const retryPauseMs = 300;
/** Long enough for a broker that is started again. */
const retries = 100;
/** Without these the library asks to go on as producer 0 at epoch 0. */
const newId = { producerId: -1n, producerEpoch: -1 };

function connect(bootstrap) {
  const base = {
    bootstrapBrokers: [bootstrap],
    clientId: "platformatic-transform",
    retries,
    retryDelay: 200,
  };
  const openConsumer = (groupId) =>
    new Consumer({
      ...base,
      groupId,
      deserializers: stringDeserializers,
      autocommit: false,
      maxWaitTime: 200,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
    });

  const isFenced = (error) =>
    ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"].includes(error?.apiId) ||
    [...(error?.errors ?? []), ...(error?.cause ? [error.cause] : [])].some(
      isFenced,
    );

  /** Reads until `stopped`; `take` gets what has come, up to `most`, and says whether to go on with this stream. */
  async function read(consumer, options, most, stopped, take) {
    let running = true;
    let stream;
    stopped.then(() => {
      running = false;
      stream?.close();
    });
    while (running) {
      try {
        stream = await consumer.consume(options());
        let batch = [];
        for await (const message of stream) {
          batch.push(message);
          if (batch.length < most && stream.readableLength > 0) continue;
          if (!running || !await take(batch)) break;
          batch = [];
        }
        await stream.close();
      } catch (error) {
        if (!running) return;
        console.error("stream:", error); // as when the broker restarts
        await setTimeout(retryPauseMs);
      }
    }
  }

  async function producerOf(t) {
    const producer = new Producer({
      ...base,
      serializers: stringSerializers,
      idempotent: true,
      transactionalId: t.transactionalId,
      timeout: t.transactionTimeoutMs,
    });
    // Only a transaction has it ask for its id. The broker is told nothing of this one.
    await (await producer.beginTransaction(newId)).cancel();
    return producer;
  }

  const ending = (transaction, topic) => ({
    write: (copies) =>
      transaction.send({
        acks: ProduceAcks.ALL,
        messages: copies.map((copy) => ({ topic, ...copy })),
      }),
    commit: () => transaction.commit(),
    abort: () => transaction.abort(),
  });

  return {
    isFenced,

    async transform(t) {
      const producer = await producerOf(t);
      t.ready();
      const consumer = openConsumer(t.group);
      const committed = () => ({
        topics: [t.input],
        mode: "committed",
        fallbackMode: "earliest",
      });
      await read(
        consumer,
        committed,
        mostRecords,
        t.stopped,
        async (messages) => {
          const lasts = new Map(
            messages.map((message) => [message.partition, message]),
          );
          const begin = async () => {
            const transaction = await producer.beginTransaction(newId);
            return {
              ...ending(transaction, t.output),
              async sendOffsets() {
                await transaction.addConsumer(consumer);
                for (const message of lasts.values()) {
                  await transaction.addOffset(message);
                }
              },
            };
          };
          return await t.transact(messages, begin);
        },
      );
      await consumer.close(true);
      await producer.close();
    },

    async producer(t) {
      const producer = await producerOf(t);
      return {
        begin: async () => ending(await producer.beginTransaction(newId), t.output),
      };
    },

    /** The library reads in a group only. */
    async follow(t, emit) {
      const next = new Map();
      const consumer = openConsumer(`follow-${randomUUID()}`);
      const options = () => ({
        topics: [t.topic],
        mode: "manual",
        isolationLevel: t.committedOnly
          ? FetchIsolationLevels.READ_COMMITTED
          : FetchIsolationLevels.READ_UNCOMMITTED,
        offsets: Array.from({ length: t.partitions }, (_, partition) => ({
          topic: t.topic,
          partition,
          offset: next.get(partition) ?? 0n,
        })),
      });
      await read(consumer, options, Infinity, t.stopped, (messages) => {
        for (const { partition, offset, value } of messages) {
          emit(partition, offset, value);
          next.set(partition, offset + 1n);
        }
        return true;
      });
      await consumer.close(true);
    },
  };
}

await main(connect);
