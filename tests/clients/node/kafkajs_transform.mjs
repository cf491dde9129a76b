/**
 * kafkajs in the course of tests/clients/transactions. Its transactions know a group by its name only, and its members
 * send a heartbeat when they are asked to.
 */

import kafkajs from "kafkajs";
import { randomUUID } from "node:crypto";
import { heartbeatIntervalMs, sessionTimeoutMs } from "./adapter.mjs";
import { main, mostRecords } from "./transform.mjs";

const { Kafka, logLevel } = kafkajs;

/** Long enough for a broker that is started again. */
const retry = { initialRetryTime: 200, maxRetryTime: 1000, retries: 60 };

function connect(bootstrap) {
  const kafka = new Kafka({
    clientId: "kafkajs-transform",
    brokers: [bootstrap],
    retry,
    logLevel: logLevel.WARN,
    logCreator: () => ({ namespace, log }) => console.error(namespace, log.message, log.error ?? ""),
  });

  async function producerOf(t) {
    const producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      transactionalId: t.transactionalId,
      transactionTimeout: t.transactionTimeoutMs,
    });
    await producer.connect();
    // Only a transaction has it ask for its id. Of one without anything in it the broker is told nothing.
    await (await producer.transaction()).abort();
    return producer;
  }

  const ending = (transaction, topic) => ({
    write: (copies) => transaction.send({ topic, acks: -1, messages: copies }),
    commit: () => transaction.commit(),
    abort: () => transaction.abort(),
  });

  return {
    isFenced: ({ type, cause }) =>
      [type, cause?.type].some((said) => ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"].includes(said)),

    async transform(t) {
      const producer = await producerOf(t);
      t.ready();
      const consumer = kafka.consumer({
        groupId: t.group,
        sessionTimeout: sessionTimeoutMs,
        heartbeatInterval: heartbeatIntervalMs,
        maxWaitTimeInMs: 200,
      });
      consumer.on(
        consumer.events.CRASH,
        ({ payload }) => payload.restart || t.fail(payload.error),
      );
      await consumer.connect();
      await consumer.subscribe({ topic: t.input, fromBeginning: true });
      const { input: topic, output, group: consumerGroupId } = t;
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async (
          { batch, isRunning, isStale, heartbeat, resolveOffset },
        ) => {
          const { partition } = batch;
          for (
            let from = 0;
            from < batch.messages.length;
            from += mostRecords
          ) {
            if (!isRunning() || isStale()) return;
            const messages = batch.messages.slice(from, from + mostRecords);
            const next = (BigInt(messages.at(-1).offset) + 1n).toString();
            const begin = async () => {
              const transaction = await producer.transaction();
              const topics = [{
                topic,
                partitions: [{ partition, offset: next }],
              }];
              return {
                ...ending(transaction, output),
                sendOffsets: () => transaction.sendOffsets({ consumerGroupId, topics }),
              };
            };
            const stay = () => heartbeat().catch((error) => console.error("heartbeat:", error.message));
            const records = messages.map(({ offset, value }) => ({
              partition,
              offset,
              value,
            }));
            if (!await t.transact(records, begin, stay)) {
              consumer.seek({ topic, partition, offset: messages[0].offset });
              return;
            }
            resolveOffset(messages.at(-1).offset);
            await heartbeat();
          }
        },
      });
      await t.stopped;
      await consumer.disconnect();
      await producer.disconnect();
    },

    async producer(t) {
      const producer = await producerOf(t);
      return {
        begin: async () => ending(await producer.transaction(), t.output),
      };
    },

    /** The library reads in a group only. */
    async follow(t, emit) {
      const consumer = kafka.consumer({
        groupId: `follow-${randomUUID()}`,
        maxWaitTimeInMs: 200,
        readUncommitted: !t.committedOnly,
      });
      await consumer.connect();
      await consumer.subscribe({ topic: t.topic, fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachMessage: ({ partition, message: { offset, value } }) => {
          emit(partition, offset, value);
          return Promise.resolve();
        },
      });
      await t.stopped;
      await consumer.disconnect();
    },
  };
}

await main(connect);
