/** What transactions leave in the internal topics, record by record: other brokers and tools read it. */
import { describeConfigs } from "../../../src/codec/messages/describe_configs.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { offsetCommitKey, offsetCommitValue } from "../../../src/codec/records/offsets.ts";
import { scenario } from "../scenario.ts";
import { committed, newGroup } from "../setup/groups.ts";
import { batchOf, produceTo } from "../setup/records.ts";
import { body, endOf, OFFSETS, STATE, storedFrom, tellFacts, time } from "../setup/stored.ts";
import { createTopic, metadataOf } from "../setup/topics.ts";
import {
  add,
  end,
  initialized,
  initializing,
  named,
  settled,
  stageOffset,
  transactional,
  write,
} from "../setup/transactions.ts";

export const scenarios = [
  scenario("Each step of a transaction of version 1 is a record in __transaction_state", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    await transactional(broker, "other");
    const place = await endOf(broker, STATE, broker.name("x"));
    const one = await transactional(broker);
    await add(broker, one, [topic, 0]);
    await add(broker, one, [topic, 0]);
    await add(broker, one, [topic, 1]);
    await end(broker, one, true, 4);
    await add(broker, one, [topic, 0]);
    await end(broker, one, false, 4);
    await end(broker, one, false, 4);
    await initialized(broker, one.transactionalId);
    await tellFacts(broker, place, one.transactionalId);
  }),
  scenario("Each step of a transaction of version 2 is a record in __transaction_state", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    await transactional(broker, "other");
    const place = await endOf(broker, STATE, broker.name("x"));
    const one = await transactional(broker);
    await write(broker, one, topic, ["a"]);
    await write(broker, one, topic, ["b"], 1);
    const two = await end(broker, one, true);
    await write(broker, two, topic, ["a"]);
    const three = await end(broker, two, false);
    await end(broker, three, false);
    await initialized(broker, one.transactionalId);
    await tellFacts(broker, place, one.transactionalId);
  }),
  scenario("A producer that is fenced is a record in __transaction_state", async (broker) => {
    const topic = await createTopic(broker, "t");
    await transactional(broker, "other");
    const place = await endOf(broker, STATE, broker.name("x"));
    const one = await transactional(broker);
    const { producerId, producerEpoch } = one;
    await add(broker, one, [topic, 0]);
    await broker.send(initProducerId, 4, initializing(one.transactionalId));
    await settled(broker, one);
    const two = await initialized(broker, one.transactionalId, { transactionTimeoutMs: 30_000 });
    await initialized(broker, one.transactionalId, { producerId, producerEpoch: two.producerEpoch });
    await initialized(broker, one.transactionalId, { producerId, producerEpoch: two.producerEpoch });
    await tellFacts(broker, place, one.transactionalId);
    broker.note("began with", producerEpoch);
  }),
  scenario(
    "Offsets of transactions are transactional records in __consumer_offsets, with a marker",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const group = await newGroup(broker);
      await committed(broker, group, topic, { offset: 1n });
      const place = await endOf(broker, OFFSETS, group);
      const one = await transactional(broker);
      await stageOffset(broker, one, group, topic, { offset: 5n });
      await stageOffset(broker, one, group, topic, { offset: 6n, metadata: "again" });
      const two = await end(broker, one, true);
      await stageOffset(broker, two, group, topic, { offset: 7n });
      await end(broker, two, false);
      const own = (await storedFrom(broker, place)).filter((r) => r.producerId === one.producerId);
      for (const [i, { key, value, ...batch }] of own.entries()) {
        const whose = { ...batch, producerId: undefined, id: named(broker, batch.producerId) };
        if (batch.isControl) {
          broker.note(`${i}`, { ...whose, type: key.getInt16(2), coordinatorEpoch: value!.getInt32(2) });
          continue;
        }
        const { group, topic, partition } = offsetCommitKey.decode(body(key), 0);
        const version = value!.getInt16(0);
        const { offset, leaderEpoch, metadata, commitTimestamp } = offsetCommitValue.decode(
          body(value!),
          version,
        );
        broker.note(`${i}`, {
          ...whose,
          key: [key.getInt16(0), group, topic, partition],
          value: [version, offset, leaderEpoch, metadata, time(commitTimestamp)],
        });
      }
    },
  ),
  scenario(
    "__transaction_state is internal: it is told so, kept compact, and not to be written to",
    async (broker) => {
      const one = await transactional(broker);
      await broker.ask(metadata, 12, metadataOf([STATE]), (r) =>
        r.topics.map((
          { name, isInternal, errorCode, partitions },
        ) => [name, isInternal, errorCode, partitions.length]));
      await broker.ask(produce, 11, produceTo(STATE, batchOf(["a"])));
      await broker.ask(
        produce,
        12,
        produceTo(
          STATE,
          batchOf(["a"], { producerId: Number(one.producerId), producerEpoch: 0, baseSequence: 0 }),
        ),
      );
      const configurationKeys = [
        "cleanup.policy",
        "compression.type",
        "segment.bytes",
        "unclean.leader.election.enable",
      ];
      await broker.ask(describeConfigs, 4, {
        resources: [{ resourceType: 2, resourceName: STATE, configurationKeys }],
        includeSynonyms: false,
        includeDocumentation: false,
      });
    },
  ),
];
