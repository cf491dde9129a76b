/** Epochs are 16 bits: what becomes of a producer whose transactional id has used them up. */
import { addPartitionsToTxn } from "../../../src/codec/messages/add_partitions_to_txn.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { type Broker, scenario } from "../scenario.ts";
import { endOf, STATE, tellFacts } from "../setup/stored.ts";
import { createTopic } from "../setup/topics.ts";
import {
  add,
  added,
  adding,
  appended,
  askEnd,
  askInit,
  initialized,
  initializing,
  producing,
  settled,
  tellState,
  told,
  transactional,
  write,
} from "../setup/transactions.ts";

/** Raises a transactional id's epoch by so many; the connection is served in order, so that nothing is concurrent. */
async function raise(broker: Broker, transactionalId: string, by: number): Promise<void> {
  const client = await broker.client();
  for (let left = by; left > 0; left -= 1000) {
    const count = Math.min(1000, left);
    await Promise.all(
      Array.from({ length: count }, () => client.send(initProducerId, 4, initializing(transactionalId))),
    );
  }
}

export const scenarios = [
  scenario("Epochs end at 32,767: the next producer has another id", async (broker) => {
    const { transactionalId, producerId } = await transactional(broker);
    await raise(broker, transactionalId, 32_760);
    for (let i = 0; i < 8; i++) await askInit(broker, 4, transactionalId, {}, `${i}`);
    await tellState(broker, { transactionalId, producerId, producerEpoch: 0 });
  }),
  scenario("Epochs of ends are used up: EndTxn 5 gives another id", async (broker) => {
    const topic = await createTopic(broker, "t");
    const { transactionalId } = await transactional(broker);
    await raise(broker, transactionalId, 32_760);
    let producer = await initialized(broker, transactionalId);
    const place = await endOf(broker, STATE, transactionalId);
    for (let i = 0; i < 8; i++) {
      const before = producer;
      await write(broker, producer, topic, ["a"]);
      producer = await askEnd(broker, 5, producer, i % 2 === 0, `${i}`);
      await tellState(broker, producer);
      if (producer.producerId !== before.producerId) {
        await askEnd(broker, 5, before, i % 2 === 0, "again");
        await askEnd(broker, 5, before, i % 2 !== 0, "the other way");
        await broker.ask(produce, 12, producing(before, topic, ["b"], 1), appended, "the old id");
        await broker.ask(addPartitionsToTxn, 3, adding(before, [topic, 0]), added, "the old id");
        const { producerId, producerEpoch } = before;
        await broker.ask(
          initProducerId,
          4,
          initializing(transactionalId, { producerId, producerEpoch }),
          told(broker),
          "the old id",
        );
      }
    }
    await askInit(broker, 4, transactionalId);
    await tellFacts(broker, place, transactionalId);
  }),
  scenario("Epochs are used up while a transaction is open: its abort needs one more", async (broker) => {
    const topic = await createTopic(broker, "t");
    const { transactionalId } = await transactional(broker);
    await raise(broker, transactionalId, 32_765);
    const place = await endOf(broker, STATE, transactionalId);
    for (let i = 0; i < 2; i++) {
      const producer = await initialized(broker, transactionalId);
      await add(broker, producer, [topic, 0]);
      broker.note("open in epoch", producer.producerEpoch);
      await broker.ask(initProducerId, 4, initializing(transactionalId), told(broker), "first");
      await settled(broker, producer);
      await tellState(broker, producer);
      await askInit(broker, 4, transactionalId, {}, "then");
    }
    await tellFacts(broker, place, transactionalId);
  }),
];
