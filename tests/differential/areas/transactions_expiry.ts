/** transactional.id.expiration.ms: ids that nobody used for long are forgotten, and what their producer then hears. */
import { addPartitionsToTxn } from "../../../src/codec/messages/add_partitions_to_txn.ts";
import { endTxn } from "../../../src/codec/messages/end_txn.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import type { Oracle } from "../areas.ts";
import { scenario } from "../scenario.ts";
import { createTopic } from "../setup/topics.ts";
import {
  add,
  added,
  adding,
  appended,
  askInit,
  code,
  end,
  ending,
  forgotten,
  producing,
  tellState,
  transactional,
} from "../setup/transactions.ts";

export const oracle: Oracle = {
  settings: {
    "transactional.id.expiration.ms": "1000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "100",
  },
};

export const scenarios = [
  scenario("A transactional id that is not used is forgotten", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker);
    await forgotten(broker, one);
    await tellState(broker, one);
    await broker.ask(addPartitionsToTxn, 3, adding(one, [topic, 0]), added);
    await broker.ask(endTxn, 4, ending(one), code);
    await broker.ask(endTxn, 5, ending(one, false), code);
    await broker.ask(produce, 11, producing(one, topic, ["a"]), appended);
    await broker.ask(produce, 12, producing(one, topic, ["a"]), appended);
    const { producerId, producerEpoch } = one;
    await askInit(broker, 4, one.transactionalId, { producerId, producerEpoch });
  }),
  scenario(
    "Transactional ids are forgotten after a commit and an abort, but not while something is open",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const open = await transactional(broker, "open");
      await add(broker, open, [topic, 0]);
      for (const committed of [true, false]) {
        const one = await transactional(broker, `${committed}`);
        await add(broker, one, [topic, 0]);
        await end(broker, one, committed);
        await forgotten(broker, one);
        await tellState(broker, one);
      }
      await tellState(broker, open);
      await end(broker, open, true);
    },
  ),
];
