/** CreateTopics and DeleteTopics: names, counts, assignments, settings, and what is looked at first. */
import { createPartitions } from "../../../src/codec/messages/create_partitions.ts";
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import type { DecodedResponseOf, EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { type Broker, eventually, scenario } from "../scenario.ts";
import { createTopic, creating, metadataOf, NO_SUCH_ID, ready, topicsOnly } from "../setup/topics.ts";

type Topic = ReturnType<typeof creating>;
type Deletion = EncodableRequestOf<typeof deleteTopics>;

/** The answer without the settings, of which there are many. */
function brief(response: DecodedResponseOf<typeof createTopics>) {
  const topics = response.topics.map(({ configs, ...topic }) => ({
    ...topic,
    configs: configs?.length ?? null,
  }));
  return { topics };
}

/** Asks for each topic in a request of its own. */
async function createEach(
  broker: Broker,
  versions: number | number[],
  topics: Record<string, Topic>,
  more = {},
) {
  const requests = Object.entries(topics).map(([label, topic]) => [label, { topics: [topic], ...more }]);
  await broker.askEach(createTopics, versions, Object.fromEntries(requests), brief);
}

const manual = (assignments: number[][], first = 0): Partial<Topic> => ({
  numPartitions: -1,
  replicationFactor: -1,
  assignments: assignments.map((brokerIds, i) => ({ partitionIndex: first + i, brokerIds })),
});

const byName = (...topicNames: string[]): Deletion => ({ topics: [], topicNames, timeoutMs: 5000 });
const byTopic = (...topics: { name?: string | null; topicId?: string }[]): Deletion => ({
  topics: topics.map(({ name = null, topicId = ZERO_UUID }) => ({ name, topicId })),
  topicNames: [],
  timeoutMs: 5000,
});

export const scenarios = [
  scenario("CreateTopics in every version, refused and not", async (broker) => {
    for (const version of [2, 3, 4, 5, 6, 7]) {
      const name = broker.name(`v${version}`);
      await createEach(broker, version, {
        "good": creating(name),
        "again": creating(name),
        "bad name": creating("a b"),
        "no partitions": creating(`${name}-none`, { numPartitions: 0 }),
      });
    }
  }),
  scenario("CreateTopics takes the broker's defaults for -1 from version 4 on", async (broker) => {
    for (const version of [2, 3, 4, 7]) {
      await createEach(broker, version, {
        "both": creating(broker.name(`both${version}`), { numPartitions: -1, replicationFactor: -1 }),
        "partitions": creating(broker.name(`partitions${version}`), { numPartitions: -1 }),
        "replicas": creating(broker.name(`replicas${version}`), { replicationFactor: -1 }),
      });
    }
  }),
  scenario("CreateTopics judges names by their characters and their length", async (broker) => {
    const room = 249 - broker.name("").length;
    await createEach(broker, 7, {
      "longest": creating(broker.name("x".repeat(room))),
      "too long": creating(broker.name("x".repeat(room + 1))),
      "all allowed": creating(broker.name("aZ09._-")),
      "empty": creating(""),
      "one dot": creating("."),
      "two dots": creating(".."),
      "space": creating(broker.name(" ")),
      "slash": creating(broker.name("/")),
      "colon": creating(broker.name(":")),
      "umlaut": creating(broker.name("ü")),
      "zero": creating(broker.name("\u0000")),
      "new line": creating(broker.name("\n")),
      "internal": creating("__consumer_offsets"),
      "transactions": creating("__cluster_metadata"),
    });
  }),
  scenario("CreateTopics counts partitions and replicas from 1 on", async (broker) => {
    const counts: [number, number][] = [
      [0, 1],
      [-2, 1],
      [1, 0],
      [1, -2],
      [1, 2],
      [0, 0],
      [-2, 2],
      [2 ** 31 - 1, 2],
      [1, 32767],
    ];
    const topics = counts.map(([numPartitions, replicationFactor]) => {
      const label = `${numPartitions}x${replicationFactor}`;
      return [label, creating(broker.name(label), { numPartitions, replicationFactor })];
    });
    await createEach(broker, 7, Object.fromEntries(topics));
  }),
  scenario("CreateTopics refuses names that differ from another's only in . and _", async (broker) => {
    await createTopic(broker, "a.b_c");
    await createEach(broker, 7, {
      "underscores": creating(broker.name("a_b_c")),
      "dots": creating(broker.name("a.b.c")),
      "swapped": creating(broker.name("a_b.c")),
      "none": creating(broker.name("abc")),
    });
    const both = [creating(broker.name("x.y")), creating(broker.name("x_y"))];
    await broker.ask(createTopics, 7, { topics: both }, brief, "two in one request");
  }),
  scenario("CreateTopics with an assignment goes by it, or refuses it", async (broker) => {
    await createEach(broker, 7, {
      "good": creating(broker.name("a1"), manual([[1]])),
      "three": creating(broker.name("a2"), manual([[1], [1], [1]])),
      "counts beside it": creating(broker.name("a3"), {
        ...manual([[1]]),
        numPartitions: 1,
        replicationFactor: 1,
      }),
      "one count beside it": creating(broker.name("a4"), { ...manual([[1]]), numPartitions: 1 }),
      "another beside it": creating(broker.name("a5"), { ...manual([[1]]), replicationFactor: 1 }),
      "no replicas": creating(broker.name("a6"), manual([[]])),
      "unknown broker": creating(broker.name("a7"), manual([[9]])),
      "broker -1": creating(broker.name("a8"), manual([[-1]])),
      "twice the same": creating(broker.name("a9"), manual([[1, 1]])),
      "known and unknown": creating(broker.name("a10"), manual([[1, 2]])),
      "differing counts": creating(broker.name("a11"), manual([[1], [1, 2]])),
      "from 1 on": creating(broker.name("a12"), manual([[1]], 1)),
      "from -1 on": creating(broker.name("a13"), manual([[1], [1]], -1)),
    });
    const twice = [{ partitionIndex: 0, brokerIds: [1] }, { partitionIndex: 0, brokerIds: [1] }];
    const gap = [{ partitionIndex: 0, brokerIds: [1] }, { partitionIndex: 2, brokerIds: [1] }];
    await createEach(broker, 7, {
      "partition twice": creating(broker.name("a14"), { ...manual([]), assignments: twice }),
      "a gap": creating(broker.name("a15"), { ...manual([]), assignments: gap }),
    });
  }),
  scenario(
    "CreateTopics looks at the name, then whether it is there, then at settings, then at counts",
    async (broker) => {
      const there = await createTopic(broker, "there");
      const badSetting = { configs: [{ name: "retention.ms", value: "x" }] };
      const badCount = { numPartitions: 0 };
      await createEach(broker, 7, {
        "bad name, bad setting": creating("a b", badSetting),
        "bad name, bad count": creating("a b", badCount),
        "there, bad setting": creating(there, badSetting),
        "there, bad count": creating(there, badCount),
        "bad setting, bad count": creating(broker.name("x1"), { ...badSetting, ...badCount }),
        "bad setting, bad assignment": creating(broker.name("x2"), { ...badSetting, ...manual([[9]]) }),
        "bad setting, many replicas": creating(broker.name("x3"), { ...badSetting, replicationFactor: 5 }),
        "bad partitions, bad replicas": creating(broker.name("x4"), { ...badCount, replicationFactor: 0 }),
      });
    },
  ),
  scenario("CreateTopics validates only: nothing is there afterwards", async (broker) => {
    const name = broker.name("only");
    await createEach(broker, [2, 4, 7], {
      "good": creating(name, { numPartitions: 2 }),
      "bad": creating(name, { numPartitions: 0 }),
      "with an assignment": creating(name, manual([[1], [1]])),
    }, { validateOnly: true });
    const twice = { topics: [creating(name), creating(name)], validateOnly: true };
    await broker.ask(createTopics, 7, twice, brief, "twice");
    await broker.ask(metadata, 12, metadataOf([name]), topicsOnly);
  }),
  scenario("CreateTopics of several: each is created or refused by itself", async (broker) => {
    const there = await createTopic(broker, "there");
    const topics = [
      creating(broker.name("good")),
      creating(there),
      creating("a b"),
      creating(broker.name("twice")),
      creating(broker.name("zero"), { numPartitions: 0 }),
      creating(broker.name("twice"), { numPartitions: 0 }),
      creating(broker.name("setting"), { configs: [{ name: "no.such", value: "1" }] }),
      creating(broker.name("other")),
    ];
    await broker.ask(createTopics, 7, { topics }, brief);
    await broker.ask(createTopics, 7, { topics: [] }, brief, "none");
  }),
  scenario("CreateTopics takes settings as text, and refuses what is not one", async (broker) => {
    const values: [string, string | null][] = [
      ["retention.ms", "-1"],
      ["retention.ms", "-2"],
      ["retention.ms", " 5 "],
      ["retention.ms", ""],
      ["retention.ms", "1.5"],
      ["retention.ms", "9223372036854775807"],
      ["retention.ms", "9223372036854775808"],
      ["segment.bytes", "1048576"],
      ["segment.bytes", "1048575"],
      ["cleanup.policy", ""],
      ["cleanup.policy", "compact,delete"],
      ["cleanup.policy", "delete,delete"],
      ["cleanup.policy", "Delete"],
      ["compression.type", "zstd"],
      ["compression.type", "none"],
      ["min.insync.replicas", "0"],
      ["min.insync.replicas", "2"],
      ["preallocate", "yes"],
      ["preallocate", "TRUE"],
      ["min.cleanable.dirty.ratio", "1.01"],
      ["min.cleanable.dirty.ratio", "0"],
      ["max.message.bytes", "-1"],
      ["max.message.bytes", "0"],
      ["message.timestamp.type", "CreateTime"],
      ["message.timestamp.type", "createtime"],
      ["flush.messages", "0"],
      ["no.such.setting", "1"],
      ["", "1"],
      ["retention.ms", null],
    ];
    const topics = values.map(([name, value], i) => {
      return [`${name}=${value}`, creating(broker.name(`s${i}`), { configs: [{ name, value }] })];
    });
    await createEach(broker, 7, Object.fromEntries(topics), { validateOnly: true });
  }),
  scenario(
    "CreateTopics with one setting twice, and with lags that contradict each other",
    async (broker) => {
      const of = (...pairs: [string, string][]) => ({
        configs: pairs.map(([name, value]) => ({ name, value })),
      });
      await createEach(broker, 7, {
        "twice": creating(broker.name("c1"), of(["retention.ms", "1"], ["retention.ms", "2"])),
        "twice, the first bad": creating(broker.name("c2"), of(["retention.ms", "x"], ["retention.ms", "2"])),
        "lags": creating(
          broker.name("c3"),
          of(["min.compaction.lag.ms", "10"], ["max.compaction.lag.ms", "5"]),
        ),
        "local retention": creating(
          broker.name("c4"),
          of(["retention.ms", "10"], ["local.retention.ms", "20"]),
        ),
      }, { validateOnly: true });
    },
  ),
  scenario(
    "CreateTopics, DeleteTopics and CreatePartitions with a timeout that is over at once",
    async (broker) => {
      const there = await createTopic(broker, "there");
      for (const timeoutMs of [0, -1, -(2 ** 31)]) {
        const topics = [creating(broker.name(`t${timeoutMs}`)), creating("a b"), creating(there)];
        await broker.ask(createTopics, 7, { topics, timeoutMs }, brief, `${timeoutMs} ms`);
        const topicNames = [broker.name("missing"), "", ""];
        await broker.ask(
          deleteTopics,
          5,
          { topics: [], topicNames, timeoutMs },
          undefined,
          `${timeoutMs} ms`,
        );
        const growing = [{ name: there, count: 1, assignments: null }];
        const grow = { topics: growing, timeoutMs, validateOnly: false };
        await broker.ask(createPartitions, 3, grow, undefined, `${timeoutMs} ms`);
      }
    },
  ),
  scenario("CreateTopics, DeleteTopics and CreatePartitions with the longest timeout", async (broker) => {
    const name = broker.name("t"), timeoutMs = 2 ** 31 - 1;
    await broker.ask(createTopics, 7, { topics: [creating(name)], timeoutMs }, brief);
    await ready(broker, name);
    const topics = [{ name, count: 2, assignments: null }];
    await broker.ask(createPartitions, 3, { topics, timeoutMs, validateOnly: false });
    await broker.ask(deleteTopics, 5, { topics: [], topicNames: [name], timeoutMs });
  }),
  scenario("DeleteTopics in every version, of what is there and what is not", async (broker) => {
    for (const version of [1, 2, 3, 4, 5]) {
      const name = await createTopic(broker, `v${version}`);
      await broker.ask(deleteTopics, version, byName(name, broker.name("missing")));
    }
  }),
  scenario("DeleteTopics 6 by name, by id, by both, by neither", async (broker) => {
    const [a, b, c] = [
      await createTopic(broker, "a"),
      await createTopic(broker, "b"),
      await createTopic(broker, "c"),
    ];
    const ids = [await ready(broker, a), await ready(broker, b)];
    await broker.askEach(deleteTopics, 6, {
      "nothing": byTopic(),
      "neither": byTopic({}),
      "both, that fit": byTopic({ name: a, topicId: ids[0] }),
      "both, that do not": byTopic({ name: a, topicId: ids[1] }),
      "unknown id": byTopic({ topicId: NO_SUCH_ID }),
      "unknown name": byTopic({ name: broker.name("missing") }),
      "empty name": byTopic({ name: "" }),
      "name twice": byTopic({ name: a }, { name: a }),
      "id twice": byTopic({ topicId: ids[0] }, { topicId: ids[0] }),
      "name and id of one": byTopic({ name: a }, { topicId: ids[0] }),
      "the reserved id": byTopic({ topicId: "AAAAAAAAAAAAAAAAAAAAAQ" }),
      "one good among bad": byTopic({ name: c }, { topicId: NO_SUCH_ID }, {}),
    });
  }),
  scenario(
    "DeleteTopics names topics twice, without a name, and bad ones, in the old versions",
    async (broker) => {
      const [a, b] = [await createTopic(broker, "a"), await createTopic(broker, "b")];
      await broker.askEach(deleteTopics, [1, 5], {
        "nothing": byName(),
        "empty": byName(""),
        "bad": byName("a b", ".."),
        "twice": byName(a, a),
      });
      await broker.ask(deleteTopics, 5, byName(b, broker.name("missing"), a));
    },
  ),
  scenario("DeleteTopics is over when another topic may take the name, under another id", async (broker) => {
    const name = await createTopic(broker, "t", {}, 3);
    const before = await ready(broker, name);
    await broker.ask(deleteTopics, 6, byTopic({ name }));
    await eventually("the topic stays", async () => {
      const named = await broker.send(metadata, 12, metadataOf([name]));
      return named!.topics[0].errorCode !== 0 ? true : null;
    });
    await broker.ask(deleteTopics, 6, byTopic({ name }), undefined, "again");
    await broker.ask(deleteTopics, 6, byTopic({ topicId: before }), undefined, "by the old id");
    await createTopic(broker, "t", {}, 1);
    broker.note("another id", await ready(broker, name) !== before);
    await broker.ask(metadata, 12, metadataOf([name]), topicsOnly);
    await broker.ask(
      metadata,
      12,
      { ...metadataOf([]), topics: [{ name: null, topicId: before }] },
      (r) => r.topics,
    );
  }),
];
