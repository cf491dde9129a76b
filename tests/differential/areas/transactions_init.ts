/** InitProducerId with a transactional id, and where its coordinator is: ids, epochs, and who is fenced by them. */
import { endTxn } from "../../../src/codec/messages/end_txn.ts";
import { findCoordinator } from "../../../src/codec/messages/find_coordinator.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { scenario } from "../scenario.ts";
import {
  add,
  appended,
  askEnd,
  askInit,
  code,
  end,
  ending,
  inEpoch,
  initialized,
  initializing,
  type Producer,
  producing,
  settled,
  tellState,
  told,
  transactional,
  V1,
  write,
} from "../setup/transactions.ts";
import { createTopic } from "../setup/topics.ts";

const ALL = [0, 1, 2, 3, 4, 5];

export const scenarios = [
  scenario(
    "InitProducerId of a transactional id gives the next epoch each time, in every version",
    async (broker) => {
      const { transactionalId } = await transactional(broker);
      for (const version of ALL) await askInit(broker, version, transactionalId);
    },
  ),
  scenario("InitProducerId of an empty transactional id", async (broker) => {
    await transactional(broker);
    await broker.askEach(initProducerId, ALL, { empty: initializing("") }, told(broker));
  }),
  scenario(
    "InitProducerId holds the timeout against its bounds, with a transactional id alone",
    async (broker) => {
      await transactional(broker);
      for (const transactionTimeoutMs of [1, 0, -1, 900_000, 900_001, 2 ** 31 - 1]) {
        await askInit(
          broker,
          4,
          broker.name(`t${transactionTimeoutMs}`),
          { transactionTimeoutMs },
          `${transactionTimeoutMs} ms`,
        );
        const alone = initializing(null, { transactionTimeoutMs });
        await broker.ask(
          initProducerId,
          4,
          alone,
          code,
          `${transactionTimeoutMs} ms without transactional id`,
        );
      }
    },
  ),
  scenario("InitProducerId takes the timeout that came last", async (broker) => {
    const { transactionalId } = await transactional(broker);
    for (const transactionTimeoutMs of [5000, 900_001, 7000]) {
      await askInit(broker, 4, transactionalId, { transactionTimeoutMs }, `${transactionTimeoutMs} ms`);
      await tellState(broker, await sameAs(transactionalId));
    }
  }),
  scenario("InitProducerId with an id and an epoch goes on with them, or is fenced", async (broker) => {
    for (const version of [3, 4, 5]) {
      const one = await transactional(broker, `x${version}`);
      const ask = (label: string, producerId: bigint, producerEpoch: number) =>
        askInit(broker, version, one.transactionalId, { producerId, producerEpoch }, label);
      await ask("right", one.producerId, 0);
      await ask("the same again", one.producerId, 0);
      await ask("right again", one.producerId, 1);
      await ask("two bumps ago", one.producerId, 0);
      await ask("ahead", one.producerId, 3);
      await ask("another id", one.producerId + 1_000_000n, 2);
      await ask("another id, older epoch", one.producerId + 1_000_000n, 1);
      await ask("right after all", one.producerId, 2);
      await tellState(broker, one);
    }
  }),
  scenario("InitProducerId with an id and an epoch that do not go together", async (broker) => {
    const one = await transactional(broker);
    await broker.askEach(initProducerId, [3, 4, 5], {
      "id alone": initializing(one.transactionalId, { producerId: one.producerId }),
      "epoch alone": initializing(one.transactionalId, { producerEpoch: 0 }),
      "negative id": initializing(one.transactionalId, { producerId: -2n, producerEpoch: 0 }),
      "negative epoch": initializing(one.transactionalId, { producerId: one.producerId, producerEpoch: -2 }),
    }, told(broker));
  }),
  scenario(
    "InitProducerId with an id and an epoch of a transactional id that is not known",
    async (broker) => {
      const one = await transactional(broker);
      for (const version of [3, 4, 5]) {
        await askInit(broker, version, broker.name(`new${version}`), {
          producerId: one.producerId,
          producerEpoch: 0,
        }, "unknown");
        await askInit(broker, version, broker.name(`new${version}`), {}, "then without");
      }
    },
  ),
  scenario("InitProducerId with an id and an epoch, without a transactional id", async (broker) => {
    const one = await transactional(broker);
    await broker.askEach(
      initProducerId,
      [3, 4, 5],
      {
        "both": initializing(null, { producerId: one.producerId, producerEpoch: 0 }),
        "id alone": initializing(null, { producerId: one.producerId }),
        "epoch alone": initializing(null, { producerEpoch: 0 }),
      },
      (r) => ({
        errorCode: r.errorCode,
        fresh: r.producerId >= 0n && r.producerId !== one.producerId,
        epoch: r.producerEpoch,
      }),
    );
  }),
  scenario(
    "InitProducerId retried after the epoch went on is fenced, also by a newer producer",
    async (broker) => {
      const one = await transactional(broker);
      const two = await initialized(broker, one.transactionalId);
      for (const version of [3, 4]) {
        await askInit(
          broker,
          version,
          one.transactionalId,
          { producerId: one.producerId, producerEpoch: 0 },
          "the first",
        );
      }
      await askInit(broker, 4, one.transactionalId, {
        producerId: two.producerId,
        producerEpoch: two.producerEpoch,
      }, "the second");
    },
  ),
  ...["v1", "v2"].flatMap((protocol) =>
    [1, 5].map((version) =>
      scenario(
        `InitProducerId ${version} aborts a transaction of protocol ${protocol}, whose producer is fenced`,
        async (broker) => {
          const topic = await createTopic(broker, "t");
          const one = await transactional(broker);
          if (protocol === "v1") await add(broker, one, [topic, 0]);
          await write(broker, one, topic, ["a"], 0, { version: protocol === "v1" ? V1.produce : undefined });
          await broker.ask(initProducerId, version, initializing(one.transactionalId), told(broker), "first");
          await settled(broker, one);
          await tellState(broker, one, "settled");
          const two = await askInit(broker, version, one.transactionalId, {}, "then");
          await tellState(broker, one, "after");
          await broker.askEach(produce, [11, 12], {
            "the old producer": producing(one, topic, ["b"], 1),
            "an epoch later": producing(inEpoch(one, 1), topic, ["b"], 0),
          }, appended);
          await broker.askEach(endTxn, [1, 2, 4, 5], {
            "the old producer, commit": ending(one, true),
            "the old producer, abort": ending(one, false),
            "an epoch later, commit": ending(inEpoch(one, 1), true),
          }, code);
          const at = await write(broker, two, topic, ["c"]);
          broker.note("the new producer writes at", at);
          await askEnd(broker, 5, two, true, "the new producer");
        },
      )
    )
  ),
  ...["v1", "v2"].flatMap((protocol) =>
    [3, 4].map((version) =>
      scenario(
        `InitProducerId ${version} by the producer itself aborts its transaction of protocol ${protocol}`,
        async (broker) => {
          const topic = await createTopic(broker, "t");
          const one = await transactional(broker);
          if (protocol === "v1") await add(broker, one, [topic, 0]);
          await write(broker, one, topic, ["a"], 0, { version: protocol === "v1" ? V1.produce : undefined });
          const own = { producerId: one.producerId, producerEpoch: one.producerEpoch };
          await broker.ask(
            initProducerId,
            version,
            initializing(one.transactionalId, own),
            told(broker),
            "first",
          );
          await settled(broker, one);
          await tellState(broker, one, "settled");
          const two = await askInit(broker, version, one.transactionalId, own, "then");
          await tellState(broker, one, "after");
          await askInit(broker, version, one.transactionalId, own, "once more");
          await broker.ask(produce, 12, producing(two, topic, ["b"]), appended, "goes on");
          await broker.ask(produce, 12, producing(one, topic, ["b"], 1), appended, "as before");
        },
      )
    )
  ),
  scenario(
    "InitProducerId with an older epoch aborts what is ongoing, and is fenced after that",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const one = await transactional(broker);
      const two = await initialized(broker, one.transactionalId);
      const three = await initialized(broker, one.transactionalId);
      await write(broker, three, topic, ["a"]);
      const of = ({ producerId, producerEpoch }: Producer) =>
        initializing(one.transactionalId, { producerId, producerEpoch });
      await broker.ask(initProducerId, 4, of(one), told(broker), "two epochs ago");
      await settled(broker, three);
      await tellState(broker, three);
      await broker.ask(initProducerId, 4, of(two), told(broker), "the epoch before");
      await tellState(broker, three);
      await askEnd(broker, 5, three, true);
    },
  ),
  scenario("InitProducerId after a transaction of either protocol ended", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const version of [4, 5]) {
      for (const committed of [true, false]) {
        const one = await transactional(broker, `x${version}${committed}`);
        await add(broker, one, [topic, 0]);
        const after = await end(broker, one, committed, version);
        const label = `EndTxn ${version} ${committed ? "commits" : "aborts"}`;
        await tellState(broker, one, label);
        const { producerId, producerEpoch } = after;
        const next = await askInit(
          broker,
          4,
          one.transactionalId,
          { producerId, producerEpoch },
          `${label}, with id`,
        );
        await askInit(broker, 4, one.transactionalId, {}, `${label}, without id`);
        await askInit(broker, 4, one.transactionalId, {
          producerId: next.producerId,
          producerEpoch: next.producerEpoch,
        }, `${label}, an old one`);
      }
    }
  }),
  scenario("InitProducerId 6 is not there before it is stable", async (broker) => {
    const one = await transactional(broker);
    await broker.ask(initProducerId, 6, initializing(one.transactionalId), told(broker));
  }),
  scenario("FindCoordinator of transactional ids, in every version", async (broker) => {
    const { transactionalId } = await transactional(broker);
    for (const version of [1, 2, 3]) {
      await broker.ask(
        findCoordinator,
        version,
        { key: transactionalId, keyType: 1, coordinatorKeys: [] },
        undefined,
        "one",
      );
      await broker.ask(
        findCoordinator,
        version,
        { key: "", keyType: 1, coordinatorKeys: [] },
        undefined,
        "empty",
      );
    }
    for (const version of [4, 5, 6]) {
      const ask = (label: string, ...coordinatorKeys: string[]) =>
        broker.ask(
          findCoordinator,
          version,
          { key: "", keyType: 1, coordinatorKeys },
          (r) =>
            r.coordinators.map(({ host, port, ...c }) => ({ ...c, host, port })).sort((a, b) =>
              a.key < b.key ? -1 : 1
            ),
          label,
        );
      await ask("one", transactionalId);
      await ask("empty", "");
      await ask("several", transactionalId, broker.name("y"), "");
      await ask("none");
      await ask("twice", transactionalId, transactionalId);
    }
  }),
  scenario("FindCoordinator of key types that there are not", async (broker) => {
    await transactional(broker);
    for (const keyType of [3, -1, 127]) {
      for (const version of [1, 3]) {
        await broker.ask(
          findCoordinator,
          version,
          { key: "k", keyType, coordinatorKeys: [] },
          undefined,
          `type ${keyType}`,
        );
      }
      for (const version of [4, 6]) {
        await broker.ask(
          findCoordinator,
          version,
          { key: "", keyType, coordinatorKeys: ["k"] },
          undefined,
          `type ${keyType}`,
        );
      }
    }
  }),
];

const sameAs = (transactionalId: string) => ({ transactionalId, producerId: -1n, producerEpoch: -1 });
