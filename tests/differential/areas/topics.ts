/** Topics and the cluster: creating, describing, growing, deleting. */
import { alterConfigs } from "../../../src/codec/messages/alter_configs.ts";
import { apiVersions } from "../../../src/codec/messages/api_versions.ts";
import { createPartitions } from "../../../src/codec/messages/create_partitions.ts";
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { describeCluster } from "../../../src/codec/messages/describe_cluster.ts";
import { describeConfigs } from "../../../src/codec/messages/describe_configs.ts";
import { describeTopicPartitions } from "../../../src/codec/messages/describe_topic_partitions.ts";
import { findCoordinator } from "../../../src/codec/messages/find_coordinator.ts";
import { incrementalAlterConfigs } from "../../../src/codec/messages/incremental_alter_configs.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { scenario } from "../scenario.ts";
import { newGroup } from "../setup/groups.ts";
import { createTopic, creating, metadataOf, ready, settled } from "../setup/topics.ts";

export const scenarios = [
  scenario("ApiVersions of an unknown version is answered in version 0 with error 35", async (broker) => {
    const frame = broker.frame(apiVersions, 3, { clientSoftwareName: "a", clientSoftwareVersion: "1" });
    frame[7] = 99;
    await broker.askRaw("ApiVersions v99", frame);
  }),
  scenario("ApiVersions refuses client software without a name", async (broker) => {
    const none = (r: { errorCode: number }) => r.errorCode;
    await broker.ask(apiVersions, 3, { clientSoftwareName: "", clientSoftwareVersion: "1" }, none);
    await broker.ask(apiVersions, 3, { clientSoftwareName: "a b", clientSoftwareVersion: "1" }, none);
    await broker.ask(apiVersions, 3, { clientSoftwareName: "-a", clientSoftwareVersion: "1" }, none);
    await broker.ask(apiVersions, 3, { clientSoftwareName: "a-b.c", clientSoftwareVersion: "1.0" }, none);
  }),
  scenario("CreateTopics tells what was created, version by version", async (broker) => {
    for (const version of [2, 4, 5, 7]) {
      await broker.ask(createTopics, version, {
        topics: [creating(broker.name(`v${version}`), { numPartitions: 3 })],
      }, (r) => r.topics.map((t) => ({ ...t, configs: t.configs?.length ?? null })));
    }
    await broker.ask(createTopics, 7, {
      topics: [creating(broker.name("d"), { numPartitions: -1, replicationFactor: -1 })],
    }, (r) => r.topics.map((t) => ({ ...t, configs: null })));
  }),
  scenario("CreateTopics tells every setting with its source", async (broker) => {
    const configs = [{ name: "retention.ms", value: "1000" }, { name: "cleanup.policy", value: "compact" }];
    await broker.ask(createTopics, 7, { topics: [creating(broker.name("c"), { configs })] });
  }),
  scenario("CreateTopics refuses names, counts and settings", async (broker) => {
    const refused = async (name: string, more = {}) =>
      await broker.ask(createTopics, 7, { topics: [creating(name, more)] });
    for (const name of ["", ".", "..", "a b", "ä", "a/b", "x".repeat(250)]) await refused(name);
    await refused(broker.name("p0"), { numPartitions: 0 });
    await refused(broker.name("p-2"), { numPartitions: -2 });
    await refused(broker.name("r0"), { replicationFactor: 0 });
    await refused(broker.name("r2"), { replicationFactor: 2 });
    await refused(broker.name("c1"), { configs: [{ name: "no.such.setting", value: "1" }] });
    await refused(broker.name("c2"), { configs: [{ name: "retention.ms", value: "x" }] });
    await refused(broker.name("c3"), { configs: [{ name: "retention.ms", value: null }] });
    await refused(broker.name("c4"), { configs: [{ name: "cleanup.policy", value: "shred" }] });
    await refused(broker.name("a1"), { assignments: [{ partitionIndex: 0, brokerIds: [1] }] });
    await refused(broker.name("a2"), {
      numPartitions: -1,
      replicationFactor: -1,
      assignments: [{ partitionIndex: 1, brokerIds: [1] }],
    });
    await refused(broker.name("a3"), {
      numPartitions: -1,
      replicationFactor: -1,
      assignments: [{ partitionIndex: 0, brokerIds: [9] }],
    });
    await refused(broker.name("a4"), {
      numPartitions: -1,
      replicationFactor: -1,
      assignments: [{ partitionIndex: 0, brokerIds: [1, 1] }],
    });
    await refused("__cluster_metadata");
  }),
  scenario("CreateTopics of an existing topic, twice in one request, and validateOnly", async (broker) => {
    const name = await createTopic(broker, "t.x");
    await broker.ask(createTopics, 7, { topics: [creating(name)] });
    await broker.ask(createTopics, 7, { topics: [creating(name)], validateOnly: true });
    await broker.ask(createTopics, 7, { topics: [creating(broker.name("t_x"))] });
    await broker.ask(createTopics, 7, {
      topics: [creating(broker.name("twice")), creating(broker.name("twice"))],
    });
    await broker.ask(createTopics, 4, { topics: [creating(broker.name("only"))], validateOnly: true });
    await broker.ask(metadata, 12, metadataOf([broker.name("only")]), (r) => r.topics);
  }),
  scenario("Metadata of topics that exist and that do not, version by version", async (broker) => {
    const name = await createTopic(broker, "t", {}, 2);
    const missing = broker.name("missing");
    for (const version of [4, 5, 7, 8, 9, 10, 11, 12, 13]) {
      await broker.ask(metadata, version, metadataOf([name, missing, "a b", name], { operations: true }));
    }
  }),
  scenario("Metadata of no topics, and by id", async (broker) => {
    const name = await createTopic(broker, "t");
    const topicId = await ready(broker, name);
    await broker.ask(metadata, 12, metadataOf([]));
    const byId = { includeClusterAuthorizedOperations: false, includeTopicAuthorizedOperations: true };
    await broker.ask(metadata, 12, { ...byId, topics: [{ name: null, topicId }] });
    await broker.ask(metadata, 12, { ...byId, topics: [{ name: null, topicId: "AAAAAAAAAAAAAAAAAAAABA" }] });
  }),
  scenario("DescribeTopicPartitions in pages", async (broker) => {
    const a = await createTopic(broker, "a", {}, 3), b = await createTopic(broker, "b", {}, 2);
    const topics = [{ name: b }, { name: a }, { name: broker.name("missing") }, { name: "a b" }, { name: a }];
    await broker.ask(describeTopicPartitions, 0, { topics });
    await broker.ask(describeTopicPartitions, 0, { topics, responsePartitionLimit: 2 });
    await broker.ask(describeTopicPartitions, 0, { topics, responsePartitionLimit: 3 });
    await broker.ask(describeTopicPartitions, 0, {
      topics,
      responsePartitionLimit: 2,
      cursor: { topicName: a, partitionIndex: 2 },
    });
    await broker.ask(describeTopicPartitions, 0, { topics, cursor: { topicName: a, partitionIndex: -1 } });
    await broker.ask(describeTopicPartitions, 0, { topics, responsePartitionLimit: 0 });
  }),
  scenario("CreatePartitions grows topics, and refuses what does not grow", async (broker) => {
    const name = await createTopic(broker, "t");
    const grow = (
      count: number,
      assignments: { brokerIds: number[] }[] | null = null,
      validateOnly = false,
      topic = name,
    ) =>
      broker.ask(createPartitions, 3, {
        topics: [{ name: topic, count, assignments }],
        timeoutMs: 5000,
        validateOnly,
      });
    await grow(1);
    await grow(0);
    await grow(3, null, true);
    await grow(2, [{ brokerIds: [9] }]);
    await grow(3, [{ brokerIds: [1] }]);
    await grow(2, [{ brokerIds: [1] }]);
    await grow(2, null, false, broker.name("missing"));
    await ready(broker, name);
    const topics = [{ name, count: 4, assignments: null }, { name, count: 5, assignments: null }];
    await broker.ask(createPartitions, 3, { topics, timeoutMs: 5000, validateOnly: false });
  }),
  scenario("DeleteTopics by name and by id", async (broker) => {
    const a = await createTopic(broker, "a"), b = await createTopic(broker, "b");
    const topicId = await ready(broker, b);
    await broker.ask(deleteTopics, 4, {
      topics: [],
      topicNames: [a, broker.name("missing")],
      timeoutMs: 5000,
    });
    await broker.ask(deleteTopics, 6, { topicNames: [], topics: [{ name: null, topicId }], timeoutMs: 5000 });
    await broker.ask(deleteTopics, 6, {
      topicNames: [],
      topics: [{ name: null, topicId: "AAAAAAAAAAAAAAAAAAAABA" }],
      timeoutMs: 5000,
    });
    await broker.ask(deleteTopics, 6, {
      topicNames: [],
      topics: [{ name: "a b", topicId: ZERO_UUID }],
      timeoutMs: 5000,
    });
    await broker.ask(deleteTopics, 6, {
      topicNames: [],
      topics: [{ name: null, topicId: ZERO_UUID }],
      timeoutMs: 5000,
    });
  }),
  scenario("DescribeCluster", async (broker) => {
    await broker.ask(describeCluster, 2, {
      includeClusterAuthorizedOperations: true,
      includeFencedBrokers: true,
    });
    await broker.ask(describeCluster, 0, {
      includeClusterAuthorizedOperations: false,
      includeFencedBrokers: false,
    });
    await broker.ask(describeCluster, 1, {
      includeClusterAuthorizedOperations: false,
      includeFencedBrokers: false,
      endpointType: 2,
    });
    await broker.ask(describeCluster, 1, {
      includeClusterAuthorizedOperations: false,
      includeFencedBrokers: false,
      endpointType: 9,
    });
  }),
  scenario("DescribeConfigs of a topic: all, some, and what does not exist", async (broker) => {
    const name = await createTopic(broker, "t", { "retention.ms": "5000" });
    const of = (resourceType: number, resourceName: string, configurationKeys: string[] | null = null) => ({
      resources: [{ resourceType, resourceName, configurationKeys }],
      includeSynonyms: true,
      includeDocumentation: true,
    });
    await broker.ask(describeConfigs, 4, of(2, name));
    await broker.ask(describeConfigs, 1, of(2, name, ["retention.ms", "no.such.setting", "segment.bytes"]));
    await broker.ask(describeConfigs, 4, of(2, broker.name("missing")));
    await broker.ask(describeConfigs, 4, of(2, "a b"));
    await broker.ask(describeConfigs, 4, of(4, "x"));
    await broker.ask(describeConfigs, 4, of(4, "77"));
    await broker.ask(describeConfigs, 4, of(32, ""));
    await broker.ask(describeConfigs, 4, of(99, "x"));
  }),
  scenario("IncrementalAlterConfigs sets, deletes, appends and subtracts, and refuses", async (broker) => {
    const name = await createTopic(broker, "t");
    const alter = (
      configOperation: number,
      setting: string,
      value: string | null,
      validateOnly = false,
      resourceName = name,
    ) =>
      broker.ask(incrementalAlterConfigs, 1, {
        resources: [{ resourceType: 2, resourceName, configs: [{ name: setting, configOperation, value }] }],
        validateOnly,
      });
    await alter(0, "retention.ms", "1234");
    await alter(0, "retention.ms", "99", true);
    await alter(2, "cleanup.policy", "compact");
    await alter(2, "retention.ms", "1");
    await alter(0, "retention.ms", "soon");
    await alter(0, "no.such.setting", "1");
    await alter(0, "retention.ms", null);
    await alter(0, "retention.ms", "1", false, broker.name("missing"));
    await settled(broker, name, "cleanup.policy", "delete,compact");
    await alter(3, "cleanup.policy", "delete");
    await alter(1, "retention.ms", null);
    await settled(broker, name, "retention.ms", "604800000");
    await broker.ask(describeConfigs, 4, {
      resources: [{
        resourceType: 2,
        resourceName: name,
        configurationKeys: ["retention.ms", "cleanup.policy"],
      }],
    });
  }),
  scenario("AlterConfigs resets what it does not name", async (broker) => {
    const name = await createTopic(broker, "t", { "retention.ms": "1234", "segment.ms": "99999" });
    const of = (configs: { name: string; value: string | null }[]) => ({
      resources: [{ resourceType: 2, resourceName: name, configs }],
      validateOnly: false,
    });
    await broker.ask(alterConfigs, 2, of([{ name: "retention.ms", value: "77" }]));
    await settled(broker, name, "retention.ms", "77");
    await broker.ask(describeConfigs, 4, {
      resources: [{ resourceType: 2, resourceName: name, configurationKeys: ["retention.ms", "segment.ms"] }],
    });
    await broker.ask(alterConfigs, 2, of([{ name: "retention.ms", value: "x" }]));
  }),
  scenario("FindCoordinator of groups, one and many", async (broker) => {
    const group = await newGroup(broker);
    for (const version of [0, 1, 3]) {
      await broker.ask(findCoordinator, version, { key: group, coordinatorKeys: [] });
    }
    await broker.ask(findCoordinator, 4, { key: "", coordinatorKeys: [group, "", group] });
    await broker.ask(findCoordinator, 4, { key: "", coordinatorKeys: [] });
    await broker.ask(findCoordinator, 3, { key: group, keyType: 9, coordinatorKeys: [] });
  }),
  scenario("InitProducerId without a transactional id", async (broker) => {
    const init = async (more = {}) =>
      await broker.ask(initProducerId, 4, { transactionalId: null, transactionTimeoutMs: 1000, ...more });
    await init();
    await init({ producerId: 5n });
    await init({ producerId: 5n, producerEpoch: 3 });
    await broker.ask(initProducerId, 4, { transactionalId: "", transactionTimeoutMs: 1000 });
  }),
];
