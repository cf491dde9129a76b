/** WriteTxnMarkers: what a coordinator on another broker, or an administrator, has written into partitions. */
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { writeTxnMarkers } from "../../../src/codec/messages/write_txn_markers.ts";
import type { DecodedResponseOf, EncodableRequestOf } from "../../../src/codec/schema.ts";
import { coordinatorPartition } from "../../../src/coordinators/partitioner.ts";
import { type Broker, scenario } from "../scenario.ts";
import { newGroup } from "../setup/groups.ts";
import {
  end,
  named,
  type Producer,
  stageOffset,
  tellLog,
  transactional,
  write,
} from "../setup/transactions.ts";
import { createTopic, metadataOf } from "../setup/topics.ts";

type Request = EncodableRequestOf<typeof writeTxnMarkers>;
type Marker = Request["markers"][number];

const VERSIONS = [1, 2];

/** A marker that commits the producer's transaction in partitions of topics. */
function marking(
  { producerId, producerEpoch }: Producer,
  topics: [name: string, ...partitions: number[]][],
  more: Partial<Marker> = {},
): Marker {
  return {
    producerId,
    producerEpoch,
    transactionResult: true,
    coordinatorEpoch: 0,
    topics: topics.map(([name, ...partitionIndexes]) => ({ name, partitionIndexes })),
    ...more,
  };
}

/** Each producer's partitions with their errors, in an order of their own: Kafka's is that of hash tables. */
const results = (broker: Broker) => (r: DecodedResponseOf<typeof writeTxnMarkers>) =>
  r.markers.map((marker) => ({
    id: named(broker, marker.producerId),
    results: marker.topics.flatMap(({ name, partitions }) =>
      partitions.map((p) => `${name} ${p.partitionIndex}: ${p.errorCode}`)
    ).sort(),
  })).sort((a, b) => a.id < b.id ? -1 : 1);

async function ask(broker: Broker, version: number, label: string, ...markers: Marker[]): Promise<void> {
  await broker.ask(writeTxnMarkers, version, { markers }, results(broker), label);
}

/** The partition of the offsets topic that holds the group. */
async function partitionOf(broker: Broker, groupId: string): Promise<number> {
  const answer = await broker.send(metadata, 12, metadataOf(["__consumer_offsets"]));
  return coordinatorPartition(groupId, answer!.topics[0].partitions.length);
}

export const scenarios = [
  scenario(
    "WriteTxnMarkers ends a transaction in its partitions, whatever the coordinator thinks",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 2);
      for (const [version, isCommit] of [[1, true], [2, false]] as const) {
        const producer = await transactional(broker, `p${version}`);
        await write(broker, producer, topic, [`${version}`]);
        await write(broker, producer, topic, [`${version}`], 0, { index: 1 });
        await ask(
          broker,
          version,
          "both",
          marking(producer, [[topic, 0, 1]], { transactionResult: isCommit }),
        );
        for (const partition of [0, 1]) await tellLog(broker, topic, `v${version} ${partition}`, partition);
        await end(broker, producer, true);
        await tellLog(broker, topic, `v${version}, when the coordinator has ended it too`);
      }
    },
  ),
  scenario("WriteTxnMarkers answers each partition, also those that do not exist", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const [one, two] = [await transactional(broker, "one"), await transactional(broker, "two")];
    const missing = broker.name("missing");
    for (const version of VERSIONS) {
      await ask(broker, version, "no topic", marking(one, [[missing, 0, 1]]));
      await ask(broker, version, "no partition", marking(one, [[topic, 2, -1]]));
      await ask(broker, version, "some", marking(one, [[topic, 0, 7], [missing, 0], [topic, 1]]));
      await ask(broker, version, "two producers", marking(one, [[topic, 0]]), marking(two, [[topic, 0, 9]]));
      await ask(broker, version, "one twice", marking(one, [[topic, 0]]), marking(one, [[topic, 1, 8]]));
      await ask(broker, version, "nothing");
      await ask(broker, version, "nothing of a producer", marking(one, []));
      await ask(broker, version, "nothing of a topic", marking(one, [[topic]]));
      await ask(broker, version, "offsets that do not exist", marking(one, [["__consumer_offsets", 9999]]));
    }
  }),
  scenario("WriteTxnMarkers goes by epochs of producer and coordinator", async (broker) => {
    for (const version of VERSIONS) {
      const topic = await createTopic(broker, `t${version}`);
      const producer = await transactional(broker, `p${version}`);
      const at = (producerEpoch: number, coordinatorEpoch: number, transactionVersion = 0) =>
        marking(producer, [[topic, 0]], { producerEpoch, coordinatorEpoch, transactionVersion });
      for (
        const [label, marker] of Object.entries({
          "the first": at(5, 3),
          "again": at(5, 3),
          "of an earlier coordinator": at(5, 2),
          "of a later coordinator": at(5, 4),
          "of an earlier epoch": at(4, 4),
          "of a later epoch": at(6, 4),
          "of version 1": at(6, 4, 1),
          "of version 2, again": at(6, 4, 2),
          "of version 2, raised": at(7, 4, 2),
          "of no coordinator": at(7, -1),
          "of the next": at(8, 5),
        })
      ) await ask(broker, version, label, marker);
      await tellLog(broker, topic, `v${version}`);
    }
  }),
  scenario("WriteTxnMarkers ends a transaction in the offsets of groups", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const [version, transactionResult] of [[1, true], [2, false]] as const) {
      const group = await newGroup(broker, `g${version}`);
      const at = await partitionOf(broker, group);
      const producer = await transactional(broker, `p${version}`);
      await stageOffset(broker, producer, group, topic);
      const told = async (label: string) => {
        const request = {
          groupId: group,
          topics: [{ name: topic, partitionIndexes: [0] }],
          groups: [],
          requireStable: true,
        };
        await broker.ask(offsetFetch, 7, request, (r) => r.topics[0].partitions, label);
      };
      await told("pending");
      // Which partition it is depends on the name.
      const answer = await broker.send(writeTxnMarkers, version, {
        markers: [marking(producer, [["__consumer_offsets", at]], { transactionResult })],
      });
      broker.note("marked", answer!.markers[0].topics[0].partitions.map((p) => p.errorCode));
      await told("ended");
      await end(broker, producer, true);
      await told("ended by the coordinator too");
    }
  }),
];
