import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { assert, AssertionError } from "../../src/base/assert.ts";
import { StartupError } from "../../src/base/startup_error.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { isUuidText } from "../../src/codec/uuid.ts";
import { Cluster } from "../../src/cluster/cluster.ts";
import type { ClusterChange } from "../../src/cluster/image_changes.ts";
import { MemoryStore } from "../../src/cluster/memory.ts";
import { SqliteStore } from "../../src/cluster/sqlite.ts";
import { type CommitResult, StoreFailure, type Transaction } from "../../src/cluster/store.ts";
import { broker, configWith, creatable, idOf, inTempDir, NO_UUID, openCluster } from "./support.ts";

/** The image's topics as "name/partitions". */
function topicsOf(cluster: Cluster): string[] {
  return [...cluster.image.topics.values()].map(({ name, partitions }) => `${name}/${partitions.length}`);
}

function byName(...names: string[]) {
  return names.map((name) => ({ name, topicId: NO_UUID }));
}

function codesOf(results: readonly { readonly errorCode: number }[]): number[] {
  return results.map(({ errorCode }) => errorCode);
}

/** A store that runs `before` ahead of every commit. */
class HookedStore extends MemoryStore {
  before: (transaction: Transaction) => void | Promise<void> = () => {};
  override async commit(transaction: Transaction): Promise<CommitResult> {
    await this.before(transaction);
    return super.commit(transaction);
  }
}

Deno.test("Cluster.open() makes a cluster id once and finds it again", () =>
  inTempDir(async (directory) => {
    const ids: string[] = [];
    for (let start = 0; start < 2; start++) {
      const store = SqliteStore.open(directory);
      ids.push((await openCluster({ store })).image.clusterId);
      await store.close();
    }
    assertEquals(ids[0], ids[1]);
    assert(isUuidText(ids[0]), `cluster id ${ids[0]}`);
  }));

Deno.test("Cluster.open() takes the cluster id of an existing meta.properties over, and refuses another one later", async () => {
  const store = new MemoryStore();
  const clusterId = "m796WXAnSTutbxoEochW_A";
  assertEquals((await openCluster({ store, clusterId })).image.clusterId, clusterId);
  assertEquals((await openCluster({ store })).image.clusterId, clusterId);
  assertEquals((await openCluster({ store, clusterId })).image.clusterId, clusterId);
  const error = await assertRejects(() => openCluster({ store, clusterId: idOf(1) }), StartupError);
  for (const part of [clusterId, idOf(1), "memory"]) assert(error.message.includes(part), error.message);
});

Deno.test("Cluster.open() refuses a row that it cannot read and names it", async () => {
  for (const value of ["{", "3", "{}", `{"id":"x","partitions":[],"configs":{}}`]) {
    const store = new MemoryStore();
    await (await openCluster({ store })).close();
    await store.commit({ compare: [], put: [{ key: "topic/t", value }], delete: [] });
    await assertRejects(() => openCluster({ store }), StartupError, `"topic/t"`);
  }
});

Deno.test("Cluster shows after a restart what it showed before", () =>
  inTempDir(async (directory) => {
    const store = SqliteStore.open(directory);
    const first = await openCluster({ store, brokers: [broker(1), broker(2)] });
    await first.createTopics([
      creatable("a", { numPartitions: 3, replicationFactor: 2 }),
      creatable("b", { configs: [{ name: "retention.ms", value: "5" }] }),
      creatable("c"),
      creatable("__consumer_offsets", { numPartitions: 50 }),
    ]);
    await first.createPartitions([{ name: "b", count: 4, assignments: null }]);
    await first.deleteTopics(byName("c"));
    const set = (resourceType: number, resourceName: string, name: string, value: string) => ({
      resourceType,
      resourceName,
      configs: [{ name, value, configOperation: 0 }],
    });
    const altered = await first.alterConfigs([
      set(2, "a", "retention.ms", "7"),
      set(4, "", "log.retention.ms", "100000"),
      set(4, "1", "log.retention.ms", "200000"),
      set(32, "g/1", "consumer.session.timeout.ms", "50000"),
    ], { incremental: true, validateOnly: false });
    assertEquals(codesOf(altered), [0, 0, 0, 0]);
    await first.close();
    await store.close();

    const again = SqliteStore.open(directory);
    const second = await openCluster({ store: again, brokers: [broker(1), broker(2)] });
    const shown = ({ image }: Cluster) => ({
      topics: new Map([...image.topics].sort()),
      ids: [...image.topicsById.keys()].sort(),
      brokerConfigs: new Map(image.brokerConfigs),
      groupConfigs: new Map(image.groupConfigs),
      partitionCount: image.partitionCount,
      clusterId: image.clusterId,
    });
    assertEquals(shown(second), shown(first));
    assertEquals(second.image.partitionCount, 57);
    assertEquals(second.image.topics.get("__consumer_offsets")!.internal, true);
    assertEquals(second.image.topics.get("a")!.configs, new Map([["retention.ms", "7"]]));
    assertEquals(second.image.groupConfigs.get("g/1"), new Map([["consumer.session.timeout.ms", "50000"]]));
    await again.close();
  }));

Deno.test("Cluster.createTopics() changes the image and its version when the commit is through, not before", async () => {
  const store = new HookedStore();
  const cluster = await openCluster({ store });
  const { version } = cluster.image;
  let seen = "";
  store.before = () => void (seen = `${topicsOf(cluster)} ${cluster.image.version - version}`);
  const [result] = await cluster.createTopics([creatable("t", { numPartitions: 2 })]);
  assertEquals(seen, " 0");
  assertEquals(topicsOf(cluster), ["t/2"]);
  assertEquals(cluster.image.version, version + 1);
  assertEquals(cluster.image.topicsById.get(result.topicId), cluster.image.topics.get("t"));
  assertEquals(cluster.image.partition("t", 1)?.leader, 1);
  assertEquals(cluster.image.partition("t", 2), undefined);
  assertEquals(cluster.image.partition("u", 0), undefined);
});

Deno.test("Cluster.createTopics() with validateOnly answers as if it were done and stores nothing", async () => {
  const store = new MemoryStore();
  const cluster = await openCluster({ store });
  await cluster.createTopics([creatable("old")]);
  const { revision } = await store.list("");
  const results = await cluster.createTopics(
    [creatable("new", { numPartitions: 4 }), creatable("old")],
    true,
  );
  assertEquals(results.map(({ name, errorCode, numPartitions }) => [name, errorCode, numPartitions]), [
    ["new", ErrorCode.NONE, 4],
    ["old", ErrorCode.TOPIC_ALREADY_EXISTS, -1],
  ]);
  const grown = await cluster.createPartitions([{ name: "old", count: 9, assignments: null }], true);
  assertEquals(codesOf(grown), [ErrorCode.NONE]);
  assertEquals(topicsOf(cluster), ["old/1"]);
  assertEquals((await store.list("")).revision, revision);
});

Deno.test("Cluster runs concurrent changes one after the other, each on the image that the one before left", async () => {
  const cluster = await openCluster({ store: new HookedStore() });
  const answers = await Promise.all([
    cluster.createTopics([creatable("t")]),
    cluster.createTopics([creatable("t"), creatable("u")]),
    cluster.createPartitions([{ name: "t", count: 3, assignments: null }]),
    cluster.deleteTopics(byName("u")),
    cluster.createTopics([creatable("u", { numPartitions: 2 })]),
  ]);
  assertEquals(answers.map(codesOf), [[0], [ErrorCode.TOPIC_ALREADY_EXISTS, 0], [0], [0], [0]]);
  assertEquals(topicsOf(cluster), ["t/3", "u/2"]);
});

Deno.test("Cluster decides again when another broker commits first", async () => {
  const store = new HookedStore();
  const ours = await openCluster({ store });
  const theirs = await openCluster({ store, nodeId: 2, brokers: [broker(1), broker(2)] });
  await ours.createTopics([creatable("shared")]);

  store.before = async () => {
    store.before = () => {};
    await theirs.createTopics([creatable("t", { numPartitions: 5 })]);
  };
  const results = await ours.createTopics([creatable("t"), creatable("u")]);
  assertEquals(codesOf(results), [ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.NONE]);

  store.before = async () => {
    store.before = () => {};
    await theirs.createPartitions([{ name: "shared", count: 3, assignments: null }]);
  };
  const grown = await ours.createPartitions([{ name: "shared", count: 2, assignments: null }]);
  assertEquals(codesOf(grown), [ErrorCode.INVALID_PARTITIONS]);

  assertEquals(topicsOf(ours).sort(), ["shared/3", "t/5", "u/1"]);
  assertEquals(topicsOf(theirs).sort(), topicsOf(ours).sort());
});

Deno.test("Cluster gives up with an error when every attempt loses", async () => {
  const store = new HookedStore();
  const problems: string[] = [];
  const cluster = await openCluster({ store, report: (problem) => problems.push(problem) });
  await cluster.createTopics([creatable("t")]);
  store.before = async () => {
    const { entries: [{ key, value }] } = await store.list("topic/t");
    await MemoryStore.prototype.commit.call(store, { compare: [], put: [{ key, value }], delete: [] });
  };
  const results = await cluster.createPartitions([{ name: "t", count: 2, assignments: null }]);
  assertEquals(codesOf(results), [ErrorCode.UNKNOWN_SERVER_ERROR]);
  assertEquals(problems.length, 1);
  assertEquals(topicsOf(cluster), ["t/1"]);
});

Deno.test("Cluster answers an error and reports when the store fails, and works again when the store does", async () => {
  const store = new HookedStore();
  const problems: string[] = [];
  const cluster = await openCluster({ store, report: (problem) => problems.push(problem) });
  await cluster.createTopics([creatable("old")]);
  store.before = () => {
    throw new StoreFailure("Cannot write x: disk is full");
  };
  const results = await cluster.createTopics([creatable("t"), creatable("old")]);
  assertEquals(results.map(({ errorCode, topicId, errorMessage }) => [errorCode, topicId, errorMessage]), [
    [ErrorCode.UNKNOWN_SERVER_ERROR, NO_UUID, "Cannot write x: disk is full"],
    [ErrorCode.TOPIC_ALREADY_EXISTS, NO_UUID, "Topic 'old' already exists."],
  ]);
  assertEquals(codesOf(await cluster.deleteTopics(byName("old"))), [ErrorCode.UNKNOWN_SERVER_ERROR]);
  assertEquals(problems, ["Cannot write x: disk is full", "Cannot write x: disk is full"]);
  assertEquals(topicsOf(cluster), ["old/1"]);
  store.before = () => {};
  assertEquals(codesOf(await cluster.createTopics([creatable("t")])), [0]);
});

Deno.test("Cluster remembers a deletion until it is told that the directories are gone, over restarts too", async () => {
  const store = new MemoryStore();
  const cluster = await openCluster({ store });
  const ids = (await cluster.createTopics([creatable("a"), creatable("b")])).map(({ topicId }) => topicId);
  await cluster.deleteTopics(byName("a", "b"));
  // A topic made anew is not held up by it, and not forgotten with it.
  const [{ topicId }] = await cluster.createTopics([creatable("a")]);
  await cluster.finishDeletions([ids[0], topicId]);
  assertEquals([...cluster.deletions], [ids[1]]);
  await cluster.close();
  const again = await openCluster({ store });
  assertEquals([[...again.deletions], topicsOf(again)], [[ids[1]], ["a/1"]]);
  await again.finishDeletions([...again.deletions]);
  assertEquals((await store.list("deletion/")).entries, []);
});

Deno.test("Cluster.deleteTopics() commits the topic's end and its deletion at once", async () => {
  const store = new HookedStore();
  const cluster = await openCluster({ store });
  const [{ topicId }] = await cluster.createTopics([creatable("a")]);
  const commits: Transaction[] = [];
  store.before = (transaction) => void commits.push(transaction);
  await cluster.deleteTopics(byName("a"));
  assertEquals(commits.map((commit) => [commit.delete, commit.put]), [
    [["topic/a"], [{ key: `deletion/${topicId}`, value: '{"topic":"a"}' }]],
  ]);
});

Deno.test("Cluster.finishDeletions() reports a store that fails, and leaves the deletion for the next start", async () => {
  const store = new HookedStore();
  const problems: string[] = [];
  const cluster = await openCluster({ store, report: (problem) => problems.push(problem) });
  const [{ topicId }] = await cluster.createTopics([creatable("a")]);
  await cluster.deleteTopics(byName("a"));
  store.before = () => {
    throw new StoreFailure("Cannot write x: disk is full");
  };
  await cluster.finishDeletions([topicId]);
  assertEquals([problems, [...cluster.deletions]], [["Cannot write x: disk is full"], [topicId]]);
});

Deno.test("Cluster.storedClusterId() tells whose a store is without making it anybody's", async () => {
  const store = new MemoryStore();
  assertEquals(await Cluster.storedClusterId(store), null);
  assertEquals((await store.list("")).entries, []);
  const { image } = await openCluster({ store });
  assertEquals(await Cluster.storedClusterId(store), image.clusterId);
});

Deno.test("Cluster.autoCreateTopics() creates what is missing with the broker's defaults, and counts what exists as done", async () => {
  const config = configWith({ "num.partitions": "4" });
  const cluster = await openCluster({ config });
  await cluster.createTopics([creatable("old")]);
  const results = await cluster.autoCreateTopics(["old", "new", "new", "a b"]);
  assertEquals(results.map(({ name, errorCode, numPartitions }) => [name, errorCode, numPartitions]), [
    ["old", ErrorCode.NONE, 1],
    ["new", ErrorCode.NONE, 4],
    ["a b", ErrorCode.INVALID_TOPIC_EXCEPTION, -1],
  ]);
  const both = await Promise.all([cluster.autoCreateTopics(["x"]), cluster.autoCreateTopics(["x"])]);
  assertEquals(both.map(codesOf), [[0], [0]]);
  assertEquals(both[0][0].topicId, both[1][0].topicId);
});

Deno.test("Cluster.autoCreateTopics() makes internal topics with the settings that they need, replicas capped at the brokers", async () => {
  const cluster = await openCluster();
  const names = ["__consumer_offsets", "__transaction_state", "__share_group_state"];
  const results = await cluster.autoCreateTopics(names);
  assertEquals(
    results.map((
      { errorCode, numPartitions, replicationFactor },
    ) => [errorCode, numPartitions, replicationFactor]),
    [[0, 50, 1], [0, 50, 1], [0, 50, 1]],
  );
  // As Kafka 4.4.0 creates them with min.isr set to 1.
  assertEquals(results.map(({ configs }) => Object.fromEntries(configs)), [
    { "cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600" },
    {
      "cleanup.policy": "compact",
      "compression.type": "uncompressed",
      "min.insync.replicas": "1",
      "segment.bytes": "104857600",
      "unclean.leader.election.enable": "false",
    },
    {
      "cleanup.policy": "delete",
      "compression.type": "producer",
      "min.insync.replicas": "1",
      "retention.ms": "-1",
      "segment.bytes": "104857600",
    },
  ]);
  for (const name of names) assertEquals(cluster.image.topics.get(name)!.internal, true);
});

Deno.test("Cluster.createTopics() judges settings by the tables, and uses the broker's defaults", async () => {
  const config = configWith({ "num.partitions": "2", "default.replication.factor": "3" });
  const cluster = await openCluster({ config, brokers: [broker(1), broker(2)] });
  const results = await cluster.createTopics([
    creatable("a", { numPartitions: -1 }),
    creatable("b", { replicationFactor: -1 }),
    creatable("c", { configs: [{ name: "no.such", value: "1" }] }),
    creatable("d", { configs: [{ name: "retention.ms", value: "soon" }] }),
  ]);
  assertEquals(codesOf(results), [0, ErrorCode.INVALID_REPLICATION_FACTOR, 40, 40]);
  assertEquals(results[0].numPartitions, 2);
});

Deno.test("Cluster.deleteTopics() keeps everything while delete.topic.enable is false", async () => {
  const cluster = await openCluster({ config: configWith({ "delete.topic.enable": "false" }) });
  await cluster.createTopics([creatable("t")]);
  assertEquals(codesOf(await cluster.deleteTopics(byName("t"))), [ErrorCode.TOPIC_DELETION_DISABLED]);
  assertEquals(topicsOf(cluster), ["t/1"]);
});

Deno.test("Cluster.onChange() tells what was created, deleted and changed, with the values before and after", async () => {
  const cluster = await openCluster();
  const changes: ClusterChange[] = [];
  const stop = cluster.onChange((change) => void changes.push(change));
  await cluster.createTopics([creatable("t"), creatable("u")]);
  const before = cluster.image.topics.get("t")!;
  await cluster.createPartitions([{ name: "t", count: 2, assignments: null }]);
  const after = cluster.image.topics.get("t")!;
  await cluster.deleteTopics(byName("t"));
  await cluster.alterConfigs([
    { resourceType: 4, resourceName: "", configs: [{ name: "log.retention.ms", value: "5" }] },
    {
      resourceType: 32,
      resourceName: "g",
      configs: [{ name: "share.record.lock.duration.ms", value: "15000" }],
    },
  ], { incremental: false, validateOnly: false });
  await cluster.createTopics([creatable("t")], true);
  stop();
  await cluster.createTopics([creatable("t")]);

  const told = changes.map(({ created, deleted, changed, brokerConfigs, groupConfigs }) => ({
    created: created.map(({ name }) => name),
    deleted,
    changed,
    brokerConfigs,
    groupConfigs,
  }));
  const nothing = { created: [], deleted: [], changed: [], brokerConfigs: [], groupConfigs: [] };
  assertEquals(told, [
    { ...nothing, created: ["t", "u"] },
    { ...nothing, changed: [{ before, after }] },
    { ...nothing, deleted: [after] },
    {
      ...nothing,
      brokerConfigs: [{ name: "", settings: ["log.retention.ms"] }],
      groupConfigs: [{ name: "g", settings: ["share.record.lock.duration.ms"] }],
    },
  ]);
  assertEquals(changes.map(({ version }) => version), [1, 2, 3, 4]);
});

Deno.test("Cluster.createTopics() waits for listeners, so that the topics can be used when it answers", async () => {
  const cluster = await openCluster();
  const { promise, resolve } = Promise.withResolvers<void>();
  const events: string[] = [];
  cluster.onChange(async () => {
    events.push(`told of ${topicsOf(cluster)}`);
    await promise;
    events.push("ready");
  });
  const answer = cluster.createTopics([creatable("t")]).then(() => events.push("answered"));
  // Long enough for an answer that did not wait.
  await new Promise((next) => setTimeout(next));
  resolve();
  await answer;
  assertEquals(events, ["told of t/1", "ready", "answered"]);
});

Deno.test("Cluster reports a listener that fails, and tells the others all the same", async () => {
  const problems: string[] = [];
  const cluster = await openCluster({ report: (problem) => problems.push(problem) });
  const told: string[] = [];
  cluster.onChange(() => {
    throw new Error("no space for t-0");
  });
  cluster.onChange(() => Promise.reject(new Error("nor for this")));
  cluster.onChange(({ created }) => void told.push(...created.map(({ name }) => name)));
  assertEquals(codesOf(await cluster.createTopics([creatable("t")])), [0]);
  assertEquals(told, ["t"]);
  assertEquals(problems.length, 2);
  assert(problems[0].includes("no space for t-0") && problems[1].includes("nor for this"), problems.join());
});

Deno.test("Cluster tells of a topic that was deleted and made anew by others as two topics", async () => {
  const store = new MemoryStore();
  const cluster = await openCluster({ store });
  await cluster.createTopics([creatable("t")]);
  const first = cluster.image.topics.get("t")!;
  const changes: ClusterChange[] = [];
  cluster.onChange((change) => void changes.push(change));
  const { entries: [{ key, value }] } = await store.list("topic/");
  const anew = value.replace(first.topicId, idOf(9));
  await store.commit({ compare: [], put: [{ key, value: anew }], delete: [] });
  assertEquals(changes.map(({ deleted, created, changed }) => [deleted, created, changed]), [
    [[first], [{ ...first, topicId: idOf(9) }], []],
  ]);
  assertEquals([...cluster.image.topicsById.keys()], [idOf(9)]);
});

Deno.test("Cluster.adoptTopics() takes topics over with their ids, and starts a leader epoch above the last", async () => {
  const store = new MemoryStore();
  const cluster = await openCluster({ store, nodeId: 3, brokers: [broker(3)] });
  assertEquals(cluster.isNew, true);
  await cluster.adoptTopics([
    {
      name: "t",
      topicId: idOf(5),
      partitions: [{ partition: 2, leaderEpoch: 7 }, { partition: 0, leaderEpoch: -1 }],
    },
    { name: "__consumer_offsets", topicId: null, partitions: [{ partition: 0, leaderEpoch: 0 }] },
  ]);
  const topic = cluster.image.topics.get("t")!;
  assertEquals(topic.topicId, idOf(5));
  assertEquals(topic.partitions.map(({ leader, leaderEpoch, isr }) => [leader, leaderEpoch, isr]), [
    [3, 0, [3]],
    [3, 0, [3]],
    [3, 8, [3]],
  ]);
  const offsets = cluster.image.topics.get("__consumer_offsets")!;
  assert(isUuidText(offsets.topicId) && offsets.topicId !== NO_UUID, offsets.topicId);
  assertEquals(offsets.configs.get("cleanup.policy"), "compact");
  assertEquals(cluster.isNew, false);
  assertEquals((await openCluster({ store, nodeId: 3, brokers: [broker(3)] })).isNew, false);
});

Deno.test("Cluster.isNew stays true over a start that ended before anything was stored, so nobody takes directories for deleted topics", async () => {
  const store = new MemoryStore();
  assertEquals((await openCluster({ store })).isNew, true);
  const second = await openCluster({ store });
  assertEquals(second.isNew, true);
  await second.createTopics([creatable("t")]);
  assertEquals(second.isNew, false);
  await assertRejects(() => second.adoptTopics([]), AssertionError);
  await second.deleteTopics(byName("t"));
  assertEquals((await openCluster({ store })).isNew, false);
});

Deno.test("Cluster.adoptTopics() rejects when the store fails, and can be tried again", async () => {
  const store = new HookedStore();
  const cluster = await openCluster({ store });
  const topics = [{ name: "t", topicId: null, partitions: [{ partition: 0, leaderEpoch: 0 }] }];
  store.before = () => Promise.reject(new StoreFailure("disk is full"));
  await assertRejects(() => cluster.adoptTopics(topics), StoreFailure);
  assertEquals(cluster.isNew, true);
  store.before = () => {};
  await cluster.adoptTopics(topics);
  assertEquals(topicsOf(cluster), ["t/1"]);
});

Deno.test("Cluster.registerBroker() replaces a broker and raises the image's version", async () => {
  const cluster = await openCluster();
  const { version } = cluster.image;
  const moved = { ...broker(1), endpoints: new Map([["PLAINTEXT", { host: "here", port: 1234 }]]) };
  cluster.registerBroker(moved);
  assertEquals(cluster.image.brokers.get(1), moved);
  assertEquals(cluster.image.version, version + 1);
});
