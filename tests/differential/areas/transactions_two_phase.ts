/** InitProducerId 6 where it is enabled (KIP-939): transactions without a timeout, and those that are kept for their producer. */
import { endTxn } from "../../../src/codec/messages/end_txn.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import type { DecodedResponseOf } from "../../../src/codec/schema.ts";
import type { Oracle } from "../areas.ts";
import { type Broker, scenario } from "../scenario.ts";
import { createTopic } from "../setup/topics.ts";
import {
  appended,
  askEnd,
  ending,
  initializing,
  named,
  producing,
  settled,
  tellState,
  told,
  transactional,
  write,
} from "../setup/transactions.ts";

export const oracle: Oracle = {
  settings: { "unstable.api.versions.enable": "true", "transaction.two.phase.commit.enable": "true" },
};

/** With what is still open, where the producer asked to keep it. */
const kept = (broker: Broker) => (r: DecodedResponseOf<typeof initProducerId>) => ({
  ...told(broker)(r),
  ongoing: named(broker, r.ongoingTxnProducerId),
  ongoingEpoch: r.ongoingTxnProducerEpoch,
});

export const scenarios = [
  scenario("InitProducerId 6 without two phases is as version 5", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker);
    await broker.ask(initProducerId, 6, initializing(one.transactionalId), kept(broker));
    await broker.ask(
      initProducerId,
      6,
      initializing(null),
      ({ errorCode, producerEpoch }) => ({ errorCode, producerEpoch }),
      "no transactional id",
    );
    await broker.ask(initProducerId, 6, initializing(""), kept(broker), "empty");
    const two = await transactional(broker);
    await write(broker, two, topic, ["a"]);
    await broker.ask(initProducerId, 6, initializing(one.transactionalId), kept(broker), "ongoing");
    await settled(broker, two);
    await broker.ask(initProducerId, 6, initializing(one.transactionalId), kept(broker), "aborted");
  }),
  scenario("InitProducerId 6 with two phases takes no timeout", async (broker) => {
    const one = await transactional(broker);
    for (const transactionTimeoutMs of [60_000, 0, -1, 2 ** 31 - 1]) {
      await broker.ask(
        initProducerId,
        6,
        initializing(one.transactionalId, { enable2Pc: true, transactionTimeoutMs }),
        kept(broker),
        `${transactionTimeoutMs} ms`,
      );
      await tellState(broker, one);
    }
    await broker.ask(
      initProducerId,
      5,
      initializing(one.transactionalId),
      told(broker),
      "version 5 after that",
    );
    await tellState(broker, one);
  }),
  ...[true, false].map((enable2Pc) =>
    scenario(
      `InitProducerId 6 keeps what is prepared, ${enable2Pc ? "with" : "without"} two phases`,
      async (broker) => {
        const topic = await createTopic(broker, "t");
        const one = await transactional(broker);
        const keeping = initializing(one.transactionalId, { enable2Pc, keepPreparedTxn: true });
        await broker.ask(initProducerId, 6, keeping, kept(broker), "nothing is open");
        await tellState(broker, one);
        const own = (await broker.ask(
          initProducerId,
          6,
          initializing(one.transactionalId, { enable2Pc }),
          kept(broker),
          "anew",
        ))!;
        const two = { ...one, producerId: own.producerId, producerEpoch: own.producerEpoch };
        if (own.errorCode !== 0) return;
        await write(broker, two, topic, ["a"]);
        const next = (await broker.ask(initProducerId, 6, keeping, kept(broker), "open"))!;
        await tellState(broker, one);
        await broker.ask(initProducerId, 6, keeping, kept(broker), "open, again");
        await tellState(broker, one);
        await broker.ask(produce, 12, producing(two, topic, ["b"], 1), appended, "the one before");
        await broker.ask(endTxn, 5, ending(two), told(broker), "the one before");
        if (next.errorCode !== 0) return;
        await askEnd(
          broker,
          5,
          { ...two, producerEpoch: next.producerEpoch },
          true,
          "the epoch that was given",
        );
        await askEnd(
          broker,
          5,
          { ...two, producerEpoch: next.producerEpoch + 1 },
          true,
          "the epoch after that",
        );
        await tellState(broker, one);
      },
    )
  ),
];
