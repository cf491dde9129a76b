/** Metadata, DescribeTopicPartitions, DescribeCluster, CreatePartitions: what there is, and more of it. */
import { createPartitions } from "../../../src/codec/messages/create_partitions.ts";
import { describeCluster } from "../../../src/codec/messages/describe_cluster.ts";
import { describeTopicPartitions } from "../../../src/codec/messages/describe_topic_partitions.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import type { DecodedResponseOf, EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { eventually, scenario } from "../scenario.ts";
import { createTopic, metadataOf, NO_SUCH_ID, ready, topicsOnly } from "../setup/topics.ts";

const everyVersion = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

const byId = (...ids: string[]) => ({
  ...metadataOf([]),
  topics: ids.map((topicId) => ({ name: null, topicId })),
});

function growing(
  name: string,
  count: number,
  assignments: number[][] | null = null,
): EncodableRequestOf<typeof createPartitions>["topics"][number] {
  return { name, count, assignments: assignments?.map((brokerIds) => ({ brokerIds })) ?? null };
}

export const scenarios = [
  scenario(
    "Metadata in every version: brokers, controller, a topic with three partitions",
    async (broker) => {
      const name = await createTopic(broker, "t", {}, 3);
      for (const version of everyVersion) {
        await broker.ask(
          metadata,
          version,
          metadataOf([name], { operations: true }),
        );
      }
    },
  ),
  scenario("Metadata of bad names, in old and new versions", async (broker) => {
    await broker.askEach(metadata, [1, 4, 9, 12, 13], {
      "empty": metadataOf([""]),
      "dots": metadataOf([".", ".."]),
      "characters": metadataOf(["a b", "ä", "a/b"]),
      "too long": metadataOf(["x".repeat(250)]),
    });
    const longest = broker.name("x".repeat(249 - broker.name("").length));
    await broker.askEach(metadata, [4, 12], { "longest": metadataOf([longest]) });
  }),
  scenario("Metadata of bad names that may be created", async (broker) => {
    const request = metadataOf(["", "a b", "x".repeat(250), ".."], { allowAutoTopicCreation: true });
    for (const version of [4, 12]) await broker.ask(metadata, version, request, topicsOnly);
  }),
  scenario("Metadata creates a topic that is missing when it may", async (broker) => {
    for (const version of [1, 4, 12]) {
      const name = broker.name(`t${version}`);
      await eventually(`${name} is not made`, async () => {
        const named = await broker.send(
          metadata,
          version,
          metadataOf([name], { allowAutoTopicCreation: true }),
        );
        return named!.topics[0].errorCode === 0 && named!.topics[0].partitions.every((p) => p.errorCode === 0)
          ? true
          : null;
      });
      await broker.ask(metadata, version, metadataOf([name]), topicsOnly);
    }
  }),
  scenario("Metadata does not create topics that it is asked for by another's leave", async (broker) => {
    const name = broker.name("t");
    for (const version of [4, 12]) {
      await broker.ask(metadata, version, metadataOf([name]), topicsOnly, "first");
      await broker.ask(metadata, version, metadataOf([name]), topicsOnly, "second");
    }
  }),
  scenario("Metadata of no topics, and of all", async (broker) => {
    const name = await createTopic(broker, "t");
    for (const version of [1, 4, 9, 12, 13]) {
      await broker.ask(metadata, version, metadataOf([]), undefined, "none");
      const all = { ...metadataOf([]), topics: null };
      await broker.ask(
        metadata,
        version,
        all,
        (r) => ({ topics: r.topics.filter((t) => t.name === name) }),
        "all",
      );
    }
    // Version 0 has no null: an empty list is all of them.
    await broker.ask(
      metadata,
      0,
      metadataOf([]),
      (r) => ({ topics: r.topics.filter((t) => t.name === name) }),
      "all",
    );
  }),
  scenario("Metadata of a topic that is named twice is given once", async (broker) => {
    const name = await createTopic(broker, "t");
    const missing = broker.name("missing");
    for (const version of [4, 9, 12]) {
      await broker.ask(metadata, version, metadataOf([name, missing, name, missing]), topicsOnly);
    }
  }),
  scenario("Metadata by id in the versions that have ids", async (broker) => {
    const topicId = await ready(broker, await createTopic(broker, "t"));
    await broker.askEach(metadata, [12, 13], {
      "known": byId(topicId),
      "twice": byId(topicId, topicId),
      "unknown": byId(NO_SUCH_ID),
      "known and unknown": byId(topicId, NO_SUCH_ID),
      "neither id nor name": byId(ZERO_UUID),
    });
    await broker.askEach(metadata, [10, 11], { "known": byId(topicId) });
  }),
  scenario("Metadata by a name and an id that do not belong together", async (broker) => {
    const name = await createTopic(broker, "t");
    const topicId = await ready(broker, await createTopic(broker, "u"));
    const of = (topics: { name: string | null; topicId: string }[]) => ({ ...metadataOf([]), topics });
    await broker.askEach(metadata, [10, 12], {
      "name and another's id": of([{ name, topicId }]),
      "name and no such id": of([{ name, topicId: NO_SUCH_ID }]),
    });
  }),
  scenario("Metadata tells which operations are allowed only when it is asked", async (broker) => {
    const name = await createTopic(broker, "t");
    for (const version of [8, 10, 11, 13]) {
      for (const [cluster, topic] of [[true, false], [false, true]]) {
        await broker.ask(metadata, version, {
          topics: [{ name, topicId: ZERO_UUID }],
          includeClusterAuthorizedOperations: cluster,
          includeTopicAuthorizedOperations: topic,
        }, (r) => [r.clusterAuthorizedOperations, r.topics[0].topicAuthorizedOperations]);
      }
    }
  }),
  scenario("Metadata of an internal topic says that it is", async (broker) => {
    for (const version of [1, 12]) {
      await broker.ask(
        metadata,
        version,
        metadataOf(["__consumer_offsets"]),
        (r) =>
          r.topics.map((
            { name, isInternal, errorCode, partitions },
          ) => [name, isInternal, errorCode, partitions.length]),
      );
    }
  }),
  scenario("DescribeTopicPartitions of a topic with its partitions and operations", async (broker) => {
    const name = await createTopic(broker, "t", {}, 3);
    await broker.ask(describeTopicPartitions, 0, { topics: [{ name }] });
    await broker.ask(
      describeTopicPartitions,
      0,
      { topics: [{ name: "__consumer_offsets" }] },
      (r) => r.topics.map((t) => [t.isInternal, t.errorCode, t.partitions.length]),
    );
  }),
  scenario("DescribeTopicPartitions of no topics is of all", async (broker) => {
    const name = await createTopic(broker, "t");
    // From its name on, for there may be more before it than fit on a page.
    const request = { topics: [], cursor: { topicName: name, partitionIndex: 0 } };
    const own = (topic: { name: string | null }) => topic.name === name;
    await broker.ask(describeTopicPartitions, 0, request, (r) => ({ topics: r.topics.filter(own) }));
  }),
  scenario("DescribeTopicPartitions sorts topics, and gives one that is named twice once", async (broker) => {
    const names = ["c", "a", "b"];
    for (const text of names) await createTopic(broker, text);
    const topics = [...names, "a", "missing"].map((text) => ({ name: broker.name(text) }));
    await broker.ask(
      describeTopicPartitions,
      0,
      { topics },
      (r) => r.topics.map((t) => [t.name, t.errorCode]),
    );
  }),
  scenario("DescribeTopicPartitions pages with any limit", async (broker) => {
    const [a, b] = [await createTopic(broker, "a", {}, 3), await createTopic(broker, "b", {}, 2)];
    const topics = [{ name: a }, { name: b }];
    for (const responsePartitionLimit of [-1, 0, 1, 2, 3, 4, 5, 6, 2000, 2001, 2 ** 31 - 1]) {
      await broker.ask(describeTopicPartitions, 0, { topics, responsePartitionLimit }, (r) => [
        r.topics.map((t) => t.partitions.length),
        r.nextCursor,
      ], `limit ${responsePartitionLimit}`);
    }
  }),
  scenario("DescribeTopicPartitions goes on from any cursor", async (broker) => {
    const [a, b] = [await createTopic(broker, "a", {}, 3), await createTopic(broker, "b", {}, 2)];
    const topics = [{ name: a }, { name: b }];
    const cursors = [
      [a, 0],
      [a, 1],
      [a, 3],
      [a, 9],
      [a, -1],
      [b, 0],
      [b, 1],
      [b, 2],
      [broker.name("aa"), 0],
      [broker.name("A"), 1],
      [broker.name("z"), 0],
      ["", 0],
      ["a b", 0],
    ] as const;
    for (const [topicName, partitionIndex] of cursors) {
      const cursor = { topicName, partitionIndex };
      await broker.ask(describeTopicPartitions, 0, { topics, cursor, responsePartitionLimit: 2 }, (r) => [
        r.topics.map((t) => [t.name, t.errorCode, t.partitions.map((p) => p.partitionIndex)]),
        r.nextCursor,
      ], `${topicName} ${partitionIndex}`);
    }
  }),
  scenario("DescribeTopicPartitions of all topics goes on from names that are not there", async (broker) => {
    const own = [await createTopic(broker, "a", {}, 2), await createTopic(broker, "c")];
    for (const [text, partitionIndex] of [["a", 1], ["b", 0], ["b", 5], ["A", 0]] as const) {
      const cursor = { topicName: broker.name(text), partitionIndex };
      await broker.ask(describeTopicPartitions, 0, { topics: [], cursor }, (r) => [
        r.topics.filter((t) => own.includes(t.name!)).map((t) => [t.name, t.errorCode, t.partitions.length]),
      ], `${text} ${partitionIndex}`);
    }
  }),
  scenario("DescribeTopicPartitions ends a page before what is missing, too", async (broker) => {
    const name = await createTopic(broker, "b", {}, 2);
    const topics = [name, ...["a", "c", "d"].map((text) => broker.name(text))].map((name) => ({ name }));
    for (const responsePartitionLimit of [1, 2, 3]) {
      const label = `limit ${responsePartitionLimit}`;
      await broker.ask(describeTopicPartitions, 0, { topics, responsePartitionLimit }, undefined, label);
    }
    const cursor = { topicName: broker.name("c"), partitionIndex: 0 };
    await broker.ask(describeTopicPartitions, 0, { topics, cursor, responsePartitionLimit: 2 });
  }),
  scenario("DescribeTopicPartitions of a topic without a name", async (broker) => {
    const name = await createTopic(broker, "t");
    await broker.ask(describeTopicPartitions, 0, { topics: [{ name: "" }, { name }] });
  }),
  scenario("DescribeTopicPartitions reads through all pages", async (broker) => {
    const names = [await createTopic(broker, "a", {}, 3), await createTopic(broker, "b", {}, 4)];
    const topics = [...names, broker.name("missing"), "a b"].map((name) => ({ name }));
    let cursor: { topicName: string; partitionIndex: number } | null = null;
    for (let page = 0; page < 6; page++) {
      const answer: DecodedResponseOf<typeof describeTopicPartitions> | null = await broker.ask(
        describeTopicPartitions,
        0,
        { topics, cursor, responsePartitionLimit: 2 },
      );
      cursor = answer!.nextCursor;
      if (cursor === null) break;
    }
  }),
  scenario("DescribeCluster in every version, with and without operations", async (broker) => {
    for (const version of [0, 1, 2]) {
      for (const asked of [true, false]) {
        await broker.ask(describeCluster, version, {
          includeClusterAuthorizedOperations: asked,
          includeFencedBrokers: asked,
        });
      }
    }
  }),
  scenario(
    "DescribeCluster of brokers only: controllers are told by themselves, other endpoints are none",
    async (broker) => {
      for (const endpointType of [0, 1, 2, 3, -1, 127]) {
        await broker.ask(
          describeCluster,
          1,
          {
            includeClusterAuthorizedOperations: true,
            includeFencedBrokers: false,
            endpointType,
          },
          undefined,
          `type ${endpointType}`,
        );
      }
    },
  ),
  scenario("CreatePartitions in every version, more, as many and fewer", async (broker) => {
    const name = await createTopic(broker, "t", {}, 2);
    const more = { timeoutMs: 5000, validateOnly: false };
    for (const version of [0, 1, 2, 3]) {
      for (const count of [3 + version, 2, 3 + version]) {
        await broker.ask(
          createPartitions,
          version,
          { topics: [growing(name, count)], ...more },
          undefined,
          `${count}`,
        );
      }
    }
    await eventually("partitions do not come", async () => {
      const named = await broker.send(metadata, 12, metadataOf([name]));
      return named!.topics[0].partitions.length === 6 ? true : null;
    });
  }),
  scenario("CreatePartitions holds the assignment against the count", async (broker) => {
    const name = await createTopic(broker, "t");
    const only = { timeoutMs: 5000, validateOnly: true };
    await broker.askEach(createPartitions, 3, {
      "one for one": { topics: [growing(name, 2, [[1]])], ...only },
      "one for two": { topics: [growing(name, 3, [[1]])], ...only },
      "two for one": { topics: [growing(name, 2, [[1], [1]])], ...only },
      "none for one": { topics: [growing(name, 2, [])], ...only },
      "without replicas": { topics: [growing(name, 2, [[]])], ...only },
      "two replicas of one": { topics: [growing(name, 2, [[1, 2]])], ...only },
      "unknown broker": { topics: [growing(name, 2, [[9]])], ...only },
      "twice the same": { topics: [growing(name, 2, [[1, 1]])], ...only },
      "differing": { topics: [growing(name, 3, [[1], [1, 2]])], ...only },
      "as many, with an assignment": { topics: [growing(name, 1, [[1]])], ...only },
    });
  }),
  scenario("CreatePartitions at the limits of a count", async (broker) => {
    const name = await createTopic(broker, "t");
    for (const count of [0, -1, 1, 10_001, 2 ** 31 - 1]) {
      const topics = [growing(name, count)];
      const request = { topics, timeoutMs: 5000, validateOnly: true };
      await broker.ask(createPartitions, 3, request, undefined, `${count}`);
    }
  }),
  scenario("CreatePartitions of several topics: missing, bad, internal, twice", async (broker) => {
    const [a, b] = [await createTopic(broker, "a"), await createTopic(broker, "b")];
    const more = { timeoutMs: 5000, validateOnly: false };
    await broker.ask(createPartitions, 3, {
      topics: [
        growing(a, 2),
        growing(broker.name("missing"), 2),
        growing("a b", 2),
        growing("", 2),
        growing(b, 0),
      ],
      ...more,
    });
    await broker.ask(createPartitions, 3, { topics: [], ...more }, undefined, "nothing");
    const twice = [growing(b, 2), growing(b, 3), growing(a, 5)];
    await broker.ask(createPartitions, 3, { topics: twice, ...more }, undefined, "twice");
    await eventually("partitions do not come", async () => {
      const named = await broker.send(metadata, 12, metadataOf([a]));
      return named!.topics[0].partitions.length === 5 ? true : null;
    });
    await broker.ask(
      metadata,
      12,
      metadataOf([a, b]),
      (r) => r.topics.map((t) => [t.name, t.partitions.length]),
    );
  }),
  scenario("CreatePartitions that validates only changes nothing", async (broker) => {
    const name = await createTopic(broker, "t");
    const topics = [growing(name, 4)];
    await broker.ask(createPartitions, 3, { topics, timeoutMs: 5000, validateOnly: true });
    await broker.ask(metadata, 12, metadataOf([name]), (r) => r.topics[0].partitions.length);
  }),
];
