/**
 * What clients above their quotas are answered. Times depend on the machine, so it is written down whether a client was
 * told to keep still; each question comes over a connection of its own, since the one before is muted.
 */
import { Client, Disconnected } from "../../../src/client/client.ts";
import { alterClientQuotas } from "../../../src/codec/messages/alter_client_quotas.ts";
import { apiVersions } from "../../../src/codec/messages/api_versions.ts";
import { createPartitions } from "../../../src/codec/messages/create_partitions.ts";
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { describeClientQuotas } from "../../../src/codec/messages/describe_client_quotas.ts";
import { describeCluster } from "../../../src/codec/messages/describe_cluster.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { findCoordinator } from "../../../src/codec/messages/find_coordinator.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { listGroups } from "../../../src/codec/messages/list_groups.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import type { Api, DecodedResponseOf, EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { batch } from "../../storage/helpers.ts";
import { type Broker, eventually, scenario } from "../scenario.ts";
import { createTopic, ready } from "../setup/topics.ts";

/** Sets a quota of the client id of this scenario, and waits until it is shown. */
async function setQuota(broker: Broker, key: string, value: number): Promise<void> {
  const entity = [{ entityType: "client-id", entityName: broker.name("c") }];
  await broker.send(alterClientQuotas, 1, {
    entries: [{ entity, ops: [{ key, value, remove: false }] }],
    validateOnly: false,
  });
  await eventually("the quota is not shown", async () => {
    const components = [{ entityType: "client-id", matchType: 0, match: broker.name("c") }];
    const shown = await broker.send(describeClientQuotas, 1, { components, strict: true });
    return shown!.entries!.some(({ values }) =>
      values.some((one) => one.key === key && one.value === value)
    ) || null;
  });
}

/** Asks as the client with the quota, and writes down what `pick` takes of the answer, and whether it was throttled. */
async function ask<A extends Api>(
  broker: Broker,
  api: A,
  version: number,
  request: EncodableRequestOf<A>,
  pick: (response: DecodedResponseOf<A>) => unknown = () => "answered",
  label = "",
): Promise<void> {
  const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port }, broker.name("c"));
  try {
    const response = await client.send(api, version, request);
    const { throttleTimeMs } = response as { throttleTimeMs?: number };
    const throttled = throttleTimeMs === undefined ? "no field" : throttleTimeMs > 0;
    broker.note(`${api.name} v${version}${label === "" ? "" : `: ${label}`}`, {
      throttled,
      answer: pick(response),
    });
  } catch (error) {
    if (!(error instanceof Disconnected)) throw error;
    broker.note(`${api.name} v${version}`, null);
  }
  await client.close();
}

/** A topic with its id. */
async function newTopic(
  broker: Broker,
  text: string,
  partitions = 1,
): Promise<{ topic: string; topicId: string }> {
  const topic = await createTopic(broker, text, {}, partitions);
  return { topic, topicId: await ready(broker, topic) };
}

function creating(topics: [name: string, partitions: number][], validateOnly = false) {
  return {
    topics: topics.map(([name, numPartitions]) => ({
      name,
      numPartitions,
      replicationFactor: 1,
      assignments: [],
      configs: [],
    })),
    timeoutMs: 10_000,
    validateOnly,
  };
}

function asking(names: string[]) {
  return {
    topics: names.map((name) => ({ name, topicId: ZERO_UUID })),
    allowAutoTopicCreation: false,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  };
}

const byName = <T extends { name: string | null }>(all: readonly T[]) =>
  [...all].sort((a, b) => String(a.name) < String(b.name) ? -1 : 1);

const createCodes = ({ topics }: DecodedResponseOf<typeof createTopics>) =>
  byName(topics).map(({ name, errorCode }) => ({ name, errorCode }));
const deleteCodes = ({ responses }: DecodedResponseOf<typeof deleteTopics>) =>
  byName(responses).map(({ name, errorCode }) => ({ name, errorCode }));
const growCodes = ({ results }: DecodedResponseOf<typeof createPartitions>) =>
  byName(results).map(({ name, errorCode }) => ({ name, errorCode }));

function deleting(...names: string[]) {
  return {
    topics: names.map((name) => ({ name, topicId: ZERO_UUID })),
    topicNames: names,
    timeoutMs: 10_000,
  };
}

function growing(
  topics: [name: string, count: number][],
  validateOnly = false,
  assignments: { brokerIds: number[] }[] | null = null,
) {
  return {
    topics: topics.map(([name, count]) => ({ name, count, assignments })),
    timeoutMs: 10_000,
    validateOnly,
  };
}

function producing(topic: string, topicId: string, bytes: number) {
  const records = batch(1, { bytes });
  return {
    transactionalId: null,
    acks: 1,
    timeoutMs: 10_000,
    topicData: [{ name: topic, topicId, partitionData: [{ index: 0, records }] }],
  };
}

function fetching(topic: string, topicId: string, sessionEpoch = -1, maxWaitMs = 0) {
  return {
    replicaId: -1,
    maxWaitMs,
    minBytes: 1,
    maxBytes: 10_000_000,
    isolationLevel: 0,
    sessionId: 0,
    sessionEpoch,
    topics: [{
      topic,
      topicId,
      partitions: [{
        partition: 0,
        currentLeaderEpoch: -1,
        fetchOffset: 0n,
        lastFetchedEpoch: -1,
        logStartOffset: -1n,
        partitionMaxBytes: 10_000_000,
      }],
    }],
    forgottenTopicsData: [],
    rackId: "",
  };
}

const fetched = ({ errorCode, sessionId, responses }: DecodedResponseOf<typeof fetch>) => ({
  errorCode,
  sessionId,
  records: responses.map(({ partitions }) => partitions.map(({ records }) => records!.length)),
});

export const scenarios = [
  scenario("CreateTopics above the quota on changes", async (broker) => {
    const name = (text: string) => broker.name(text);
    await newTopic(broker, "old");
    await setQuota(broker, "controller_mutation_rate", 0.001);
    // A bucket of hundredths of a token: the first is taken on credit.
    await ask(broker, createTopics, 7, creating([[name("a"), 1]]), createCodes);
    for (const version of [6, 7]) {
      await ask(broker, createTopics, version, creating([[name("b"), 1]]), createCodes);
      await ask(
        broker,
        createTopics,
        version,
        creating([[name("b"), 1]], true),
        createCodes,
        "validated only",
      );
      await ask(
        broker,
        createTopics,
        version,
        creating([[name("b"), 1], [name("old"), 1], [name("c"), 0], ["", 1], [name("a b"), 1]]),
        createCodes,
        "beside topics that are wrong",
      );
      await ask(broker, createTopics, version, creating([[name("old"), 1]]), createCodes, "one that exists");
      await ask(
        broker,
        createTopics,
        version,
        creating([[name("b"), 1], [name("b"), 1]]),
        createCodes,
        "twice",
      );
    }
    for (const version of [2, 5]) {
      await ask(broker, createTopics, version, creating([[name(`v${version}`), 1]]), createCodes);
      await ask(broker, createTopics, version, creating([[name("old"), 1]]), createCodes, "one that exists");
    }
  }),
  scenario("CreateTopics that is validated only is counted", async (broker) => {
    await setQuota(broker, "controller_mutation_rate", 0.001);
    await ask(broker, createTopics, 7, creating([[broker.name("a"), 1]], true), createCodes);
    await ask(broker, createTopics, 7, creating([[broker.name("a"), 1]]), createCodes);
  }),
  scenario("DeleteTopics above the quota on changes", async (broker) => {
    const name = (text: string) => broker.name(text);
    for (const topic of ["a", "b", "c", "d"]) await newTopic(broker, topic, 2);
    await setQuota(broker, "controller_mutation_rate", 0.001);
    await ask(broker, deleteTopics, 6, deleting(name("a")), deleteCodes);
    for (const version of [5, 6]) {
      await ask(broker, deleteTopics, version, deleting(name("b"), name("none")), deleteCodes);
      await ask(broker, deleteTopics, version, deleting(name("none")), deleteCodes);
      await ask(broker, deleteTopics, version, deleting(name("b"), name("b")), deleteCodes, "twice");
    }
    await ask(broker, deleteTopics, 4, deleting(name("c"), name("none")), deleteCodes);
    await ask(broker, deleteTopics, 1, deleting(name("d")), deleteCodes);
  }),
  scenario("CreatePartitions above the quota on changes", async (broker) => {
    const { topic } = await newTopic(broker, "a");
    const other = broker.name("b");
    await setQuota(broker, "controller_mutation_rate", 0.001);
    await ask(broker, createPartitions, 3, growing([[topic, 2]]), growCodes);
    await ask(broker, createPartitions, 3, growing([[topic, 3], [other, 3]]), growCodes);
    await ask(broker, createPartitions, 3, growing([[topic, 3]], true), growCodes, "validated only");
    await ask(broker, createPartitions, 3, growing([[topic, 2]]), growCodes, "no increase");
    await ask(broker, createPartitions, 3, growing([[topic, 3]], false, []), growCodes, "nothing assigned");
    await ask(
      broker,
      createPartitions,
      3,
      growing([[topic, 3]], false, [{ brokerIds: [99] }]),
      growCodes,
      "no such broker",
    );
    for (const version of [0, 2]) {
      await ask(broker, createPartitions, version, growing([[topic, version + 3]]), growCodes);
      await ask(broker, createPartitions, version, growing([[topic, 1]]), growCodes, "no increase");
    }
  }),
  scenario("Metadata above the quota on changes makes no topic", async (broker) => {
    await setQuota(broker, "controller_mutation_rate", 0.001);
    await ask(broker, createTopics, 7, creating([[broker.name("a"), 1]]), createCodes);
    const request = { ...asking([broker.name("b")]), allowAutoTopicCreation: true };
    for (let i = 0; i < 3; i++) {
      await ask(broker, metadata, 9, request, ({ topics }) => topics.map(({ errorCode }) => ({ errorCode })));
    }
  }),
  scenario("Produce above its quota is taken and throttled in every version", async (broker) => {
    const { topic, topicId } = await newTopic(broker, "t");
    await setQuota(broker, "producer_byte_rate", 1);
    for (const version of [3, 5, 7, 9, 12, 13]) {
      await ask(
        broker,
        produce,
        version,
        producing(topic, topicId, 1000),
        ({ responses }) =>
          responses[0].partitionResponses.map(({ errorCode, baseOffset }) => ({ errorCode, baseOffset })),
      );
    }
    // Nobody else's business, and not that of other requests.
    await ask(broker, heartbeat, 4, { groupId: "g", generationId: 1, memberId: "m" });
  }),
  scenario("Produce that is refused is throttled as well", async (broker) => {
    await setQuota(broker, "producer_byte_rate", 1);
    const codes = ({ responses }: DecodedResponseOf<typeof produce>) =>
      responses[0].partitionResponses.map(({ errorCode }) => ({ errorCode }));
    await ask(broker, produce, 9, producing(broker.name("none"), ZERO_UUID, 1000), codes);
    await ask(broker, produce, 9, { ...producing(broker.name("none"), ZERO_UUID, 1000), topicData: [] });
  }),
  scenario("Fetch above its quota gets nothing, and no session", async (broker) => {
    const { topic, topicId } = await newTopic(broker, "t");
    await broker.send(produce, 9, producing(topic, topicId, 5000));
    await setQuota(broker, "consumer_byte_rate", 1);
    for (const version of [4, 6, 7, 11, 12, 13, 16]) {
      await ask(broker, fetch, version, fetching(topic, topicId), fetched);
      await ask(broker, fetch, version, fetching(topic, topicId, 0), fetched, "with a session");
    }
  }),
  scenario("Fetch that has nothing to give is throttled by its empty answers", async (broker) => {
    const { topic, topicId } = await newTopic(broker, "t");
    await setQuota(broker, "consumer_byte_rate", 1);
    await ask(broker, fetch, 12, fetching(topic, topicId), fetched);
    await ask(broker, fetch, 12, fetching(topic, topicId), fetched);
  }),
  scenario("Fetch within its quota is not throttled", async (broker) => {
    const { topic, topicId } = await newTopic(broker, "t");
    await broker.send(produce, 9, producing(topic, topicId, 5000));
    await setQuota(broker, "consumer_byte_rate", 100_000);
    await ask(broker, fetch, 12, fetching(topic, topicId), fetched);
  }),
  scenario("requests of every kind are throttled for the time that they take", async (broker) => {
    const { topic, topicId } = await newTopic(broker, "t");
    const group = broker.name("g");
    await broker.send(produce, 9, producing(topic, topicId, 100));
    await setQuota(broker, "request_percentage", 1e-6);
    for (const version of [0, 3, 4]) {
      const software = { clientSoftwareName: "a", clientSoftwareVersion: "1" };
      await ask(broker, apiVersions, version, software, ({ errorCode }) => ({ errorCode }));
    }
    for (const version of [0, 2, 3, 12]) await ask(broker, metadata, version, asking([topic]));
    for (const version of [3, 9]) await ask(broker, produce, version, producing(topic, topicId, 100));
    for (const version of [4, 12]) await ask(broker, fetch, version, fetching(topic, topicId), fetched);
    for (const version of [0, 1, 4]) {
      await ask(broker, findCoordinator, version, { key: group, keyType: 0, coordinatorKeys: [group] });
    }
    for (const version of [0, 1, 4]) {
      await ask(broker, heartbeat, version, { groupId: group, generationId: 1, memberId: "m" });
    }
    for (const version of [0, 1, 4]) {
      await ask(broker, leaveGroup, version, { groupId: group, memberId: "m", members: [{ memberId: "m" }] });
    }
    for (const version of [0, 5]) {
      await ask(broker, describeGroups, version, { groups: [group], includeAuthorizedOperations: false });
    }
    for (const version of [0, 1, 4]) {
      await ask(broker, listGroups, version, { statesFilter: [], typesFilter: [] });
    }
    for (const version of [1, 3, 7]) {
      await ask(broker, offsetFetch, version, { groupId: group, topics: [], groups: [] });
    }
    for (const version of [1, 2, 6]) {
      const partitions = [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp: -1n, maxNumOffsets: 1 }];
      await ask(broker, listOffsets, version, {
        replicaId: -1,
        isolationLevel: 0,
        topics: [{ name: topic, partitions }],
        timeoutMs: 1000,
      });
    }
    await ask(broker, describeCluster, 0, {
      includeClusterAuthorizedOperations: false,
      includeFencedBrokers: false,
    });
    await ask(broker, describeClientQuotas, 1, { components: [], strict: true });
    await ask(broker, createTopics, 7, creating([[topic, 1]]), createCodes);
    await ask(broker, deleteTopics, 6, deleting(broker.name("none")), deleteCodes);
    await ask(broker, createPartitions, 3, growing([[topic, 1]]), growCodes);
  }),
];
