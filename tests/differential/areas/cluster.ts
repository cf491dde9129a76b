/**
 * Administration of a cluster of one: quorum, features, reassignments, elections, brokers. What a Kafka alone on a machine
 * answers is what it answers here, but for how far its metadata log is and which features it has.
 */
import { alterPartitionReassignments } from "../../../src/codec/messages/alter_partition_reassignments.ts";
import { apiVersions } from "../../../src/codec/messages/api_versions.ts";
import { describeCluster } from "../../../src/codec/messages/describe_cluster.ts";
import { describeQuorum, type DescribeQuorumResponse } from "../../../src/codec/messages/describe_quorum.ts";
import { electLeaders } from "../../../src/codec/messages/elect_leaders.ts";
import { listPartitionReassignments } from "../../../src/codec/messages/list_partition_reassignments.ts";
import { unregisterBroker } from "../../../src/codec/messages/unregister_broker.ts";
import { updateFeatures } from "../../../src/codec/messages/update_features.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { scenario } from "../scenario.ts";
import { createTopic } from "../setup/topics.ts";

const METADATA = "__cluster_metadata";

const quorumOf = (...topics: [string, ...number[]][]) => ({
  topics: topics.map(([topicName, ...partitions]) => ({
    topicName,
    partitions: partitions.map((partitionIndex) => ({ partitionIndex })),
  })),
});

/** How far the log is and when it was read has to fit together, not to be Kafka's. */
function quorum(response: DescribeQuorumResponse): unknown {
  const { topics = [], nodes = [], ...rest } = response;
  return {
    ...rest,
    topics: topics.map(({ topicName, partitions }) => ({
      topicName,
      partitions: partitions.map((partition) => {
        const voters = (partition.currentVoters ?? []).map((voter) => ({
          replicaId: voter.replicaId,
          hasDirectory: voter.replicaDirectoryId !== ZERO_UUID,
          isAtEnd: voter.logEndOffset === partition.highWatermark,
          isTimed: Number(voter.lastFetchTimestamp) > 0 &&
            voter.lastFetchTimestamp === voter.lastCaughtUpTimestamp,
        }));
        const { partitionIndex, errorCode, errorMessage, leaderId, observers } = partition;
        return { partitionIndex, errorCode, errorMessage, leaderId, observers, voters };
      }),
    })),
    nodes: nodes.map(({ nodeId, listeners }) => ({ nodeId, listeners: listeners.length })),
  };
}

const update = (feature: string, maxVersionLevel: number, upgradeType = 1, allowDowngrade = false) => ({
  feature,
  maxVersionLevel,
  upgradeType,
  allowDowngrade,
});

const updating = (featureUpdates: ReturnType<typeof update>[], validateOnly = true) => ({
  featureUpdates,
  validateOnly,
});

const electing = (topicPartitions: [string, ...number[]][] | null, electionType = 0, timeoutMs = 5000) => ({
  electionType,
  timeoutMs,
  topicPartitions: topicPartitions?.map(([topic, ...partitions]) => ({ topic, partitions })) ?? null,
});

type Move = [number, number[] | null];

const moving = (topics: [string, ...Move[]][], more: Record<string, unknown> = {}) => ({
  timeoutMs: 5000,
  topics: topics.map(([name, ...partitions]) => ({
    name,
    partitions: partitions.map(([partitionIndex, replicas]) => ({ partitionIndex, replicas })),
  })),
  ...more,
});

export const scenarios = [
  scenario("DescribeQuorum in every version: one voter, which leads", async (broker) => {
    await broker.askEach(describeQuorum, [0, 1, 2], { "the metadata": quorumOf([METADATA, 0]) }, quorum);
  }),
  scenario("DescribeQuorum of what is not the metadata's one partition", async (broker) => {
    const topic = await createTopic(broker, "t");
    await broker.askEach(describeQuorum, [0, 1, 2], {
      "another topic": quorumOf([topic, 0]),
      "no such topic": quorumOf([broker.name("none"), 0]),
      "another partition": quorumOf([METADATA, 1]),
      "no partition": quorumOf([METADATA]),
      "no topic": quorumOf(),
      "two partitions": quorumOf([METADATA, 0, 1]),
      "twice": quorumOf([METADATA, 0, 0]),
      "with another topic": quorumOf([METADATA, 0], [topic, 0]),
      "behind another topic": quorumOf([topic, 0], [METADATA, 0]),
      "the topic twice": quorumOf([METADATA, 0], [METADATA, 0]),
    }, quorum);
  }),
  scenario("UpdateFeatures to the level that is there changes nothing, in every version", async (broker) => {
    await broker.askEach(updateFeatures, [0, 1, 2], {
      "nothing": updating([]),
      "metadata.version": updating([update("metadata.version", 33)]),
      "twice": updating([update("metadata.version", 33), update("metadata.version", 33)]),
      "for good": updating([update("metadata.version", 33)], false),
      "as a safe downgrade": updating([update("metadata.version", 33, 2, true)]),
      "as an unsafe downgrade": updating([update("metadata.version", 33, 3, true)]),
    });
  }),
  scenario("UpdateFeatures refuses levels that cannot be", async (broker) => {
    await broker.askEach(updateFeatures, [0, 1, 2], {
      "above": updating([update("metadata.version", 34)]),
      "below what there is": updating([update("metadata.version", 6, 2, true)]),
      "off": updating([update("metadata.version", 0, 2, true)]),
      "negative": updating([update("metadata.version", -1)]),
      "down as an upgrade": updating([update("metadata.version", 32)]),
      "down safely": updating([update("metadata.version", 32, 2, true)]),
      "down unsafely": updating([update("metadata.version", 7, 3, true)]),
    });
    await broker.askEach(updateFeatures, [1, 2], {
      "type 0": updating([update("metadata.version", 33, 0)]),
      "type 9": updating([update("metadata.version", 33, 9)]),
      "type -1": updating([update("metadata.version", 33, -1)]),
    });
  }),
  scenario("UpdateFeatures refuses features that nobody has, and all when one is refused", async (broker) => {
    await broker.askEach(updateFeatures, [0, 1, 2], {
      "unknown": updating([update("no.such.version", 1)]),
      "unknown, off": updating([update("no.such.version", 0, 2, true)]),
      "no name": updating([update("", 1)]),
      "the second": updating([update("metadata.version", 33), update("no.such.version", 1)]),
      "the first": updating([update("no.such.version", 1), update("metadata.version", 33)]),
    });
  }),
  scenario("UpdateFeatures does not look at the time that a client gives it", async (broker) => {
    for (const timeoutMs of [0, -1]) {
      await broker.ask(
        updateFeatures,
        2,
        {
          ...updating([update("metadata.version", 33)]),
          timeoutMs,
        },
        undefined,
        String(timeoutMs),
      );
    }
  }),
  scenario("ApiVersions tells metadata.version from version 3 on", async (broker) => {
    for (const version of [0, 1, 2, 3, 4, 5]) {
      await broker.ask(
        apiVersions,
        version,
        { clientSoftwareName: "differential", clientSoftwareVersion: "1" },
        ({ errorCode, finalizedFeatures = [], finalizedFeaturesEpoch, supportedFeatures = [] }) => ({
          errorCode,
          hasEpoch: Number(finalizedFeaturesEpoch) >= 0,
          supported: supportedFeatures.some(({ name }) => name === "metadata.version"),
          finalized: finalizedFeatures.filter(({ name }) => name === "metadata.version"),
        }),
      );
    }
  }),
  scenario(
    "ApiVersions for another broker than this one sends the client back (KIP-1242)",
    async (broker) => {
      const clusterId = (await broker.send(describeCluster, 0, {
        includeClusterAuthorizedOperations: false,
        includeFencedBrokers: false,
      }))!.clusterId;
      const named = { clientSoftwareName: "differential", clientSoftwareVersion: "1" };
      await broker.askEach(apiVersions, 5, {
        "neither": { ...named },
        "this one": { ...named, clusterId, nodeId: 1 },
        "another node": { ...named, clusterId, nodeId: 7 },
        "another cluster": { ...named, clusterId: "other", nodeId: 1 },
        "no cluster id": { ...named, clusterId: null, nodeId: 1 },
        "no node": { ...named, clusterId, nodeId: -1 },
        "empty cluster id, no node": { ...named, clusterId: "", nodeId: -1 },
        "empty cluster id": { ...named, clusterId: "", nodeId: 1 },
        "odd node": { ...named, clusterId, nodeId: -5 },
        "no software, another cluster": { ...named, clientSoftwareName: "", clusterId: "other", nodeId: 1 },
      }, ({ errorCode, apiKeys, supportedFeatures = [], finalizedFeaturesEpoch }) => ({
        errorCode,
        apis: apiKeys.length > 0,
        features: supportedFeatures.length > 0,
        hasEpoch: Number(finalizedFeaturesEpoch) >= 0,
      }));
    },
  ),
  scenario("UnregisterBroker of brokers that there are not", async (broker) => {
    for (const brokerId of [2, 0, -1, 2147483647]) {
      await broker.ask(unregisterBroker, 0, { brokerId }, undefined, String(brokerId));
    }
  }),
  scenario(
    "ElectLeaders is not needed where there is one broker, in every version and type",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 3);
      const partitions = (type: number) => ({
        "one": electing([[topic, 0]], type),
        "all": electing([[topic, 0, 1, 2]], type),
        "none": electing([[topic]], type),
        "no topic": electing([], type),
        "twice": electing([[topic, 1, 1], [topic, 1]], type),
      });
      await broker.askEach(electLeaders, [0, 1, 2], partitions(0));
      await broker.askEach(electLeaders, [1, 2], partitions(1));
    },
  ),
  scenario("ElectLeaders of all partitions tells those that were elected", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    for (const type of [0, 1]) {
      await broker.ask(electLeaders, 2, electing(null, type), (r) => ({
        ...r,
        replicaElectionResults: r.replicaElectionResults.filter((each) => each.topic === topic),
      }), `type ${type}`);
    }
  }),
  scenario("ElectLeaders of what does not exist, of other types, and without time", async (broker) => {
    const topic = await createTopic(broker, "t");
    const none = broker.name("none");
    await broker.askEach(electLeaders, [0, 1, 2], {
      "no such topic": electing([[none, 0]]),
      "no such partition": electing([[topic, 0, 7, -1]]),
      "bad names": electing([["a b", 0], ["", 0]]),
      "no time": electing([[topic, 0]], 0, 0),
      "less than no time": electing([[topic, 0], [none, 0]], 0, -1),
      "all, no time": electing(null, 0, 0),
      "no topic, no time": electing([], 0, 0),
    });
    await broker.askEach(electLeaders, [1, 2], {
      "type 2": electing([[topic, 0], [none, 0]], 2),
      "type -1": electing([[topic, 0, 9]], -1),
      "type 2, all": electing(null, 2),
      "type 2, no topic": electing([], 2),
      "type 2, no partition": electing([[topic]], 2),
      "type 2, no time": electing([[topic, 0]], 2, 0),
    });
  }),
  scenario("AlterPartitionReassignments to where a partition is", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    await broker.askEach(alterPartitionReassignments, [0, 1], {
      "one": moving([[topic, [0, [1]]]]),
      "both": moving([[topic, [0, [1]], [1, [1]]]]),
      "twice": moving([[topic, [0, [1]], [0, [1]]], [topic, [0, [1]]]]),
      "no partition": moving([[topic]]),
      "no topic": moving([]),
    });
    await broker.ask(alterPartitionReassignments, 1, {
      ...moving([[topic, [0, [1]]]]),
      allowReplicationFactorChange: false,
    });
  }),
  scenario("AlterPartitionReassignments to where it cannot be", async (broker) => {
    const topic = await createTopic(broker, "t");
    const refused = {
      "another broker": moving([[topic, [0, [2]]]]),
      "one more": moving([[topic, [0, [1, 2]]]]),
      "one more, before": moving([[topic, [0, [2, 1]]]]),
      "twice": moving([[topic, [0, [1, 1]]]]),
      "twice, and another": moving([[topic, [0, [2, 1, 1]]]]),
      "nowhere": moving([[topic, [0, []]]]),
      "nobody": moving([[topic, [0, [-1]]]]),
    };
    await broker.askEach(alterPartitionReassignments, [0, 1], refused);
    for (const [label, request] of Object.entries(refused)) {
      await broker.ask(
        alterPartitionReassignments,
        1,
        { ...request, allowReplicationFactorChange: false },
        undefined,
        label,
      );
    }
  }),
  scenario("AlterPartitionReassignments calls off what is not under way", async (broker) => {
    const topic = await createTopic(broker, "t");
    await broker.askEach(alterPartitionReassignments, [0, 1], {
      "one": moving([[topic, [0, null]]]),
      "after a move to where it is": moving([[topic, [0, [1]]], [topic, [0, null]]]),
    });
  }),
  scenario("AlterPartitionReassignments judges each partition by itself", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 3);
    const none = broker.name("none");
    await broker.askEach(alterPartitionReassignments, [0, 1], {
      "no such topic": moving([[none, [0, [1]], [1, null], [2, []]]]),
      "no such partition": moving([[topic, [9, [1]], [-1, [1]], [9, null], [9, [7]]]]),
      "bad names": moving([["a b", [0, [1]]], ["", [0, [1]]]]),
      "some": moving([[topic, [0, [1]], [1, [2]], [2, null]], [none, [0, [1]]]]),
    });
  }),
  scenario("AlterPartitionReassignments without time is too late", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const timeoutMs of [0, -1]) {
      await broker.askEach(alterPartitionReassignments, [0, 1], {
        [`${timeoutMs}`]: moving([[topic, [0, [1]]], [broker.name("none"), [0, null]]], { timeoutMs }),
        [`${timeoutMs}, no topic`]: moving([], { timeoutMs }),
      });
      await broker.ask(
        alterPartitionReassignments,
        1,
        moving([[topic, [0, [1]]]], { timeoutMs, allowReplicationFactorChange: false }),
      );
    }
  }),
  scenario("ListPartitionReassignments lists none, whatever is asked for", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    await broker.send(alterPartitionReassignments, 1, moving([[topic, [0, [1]]]]));
    const asked = (topics: [string, ...number[]][] | null, timeoutMs = 5000) => ({
      timeoutMs,
      topics: topics?.map(([name, ...partitionIndexes]) => ({ name, partitionIndexes })) ?? null,
    });
    await broker.askEach(listPartitionReassignments, 0, {
      "all": asked(null),
      "none": asked([]),
      "a topic": asked([[topic, 0, 1]]),
      "no such topic": asked([[broker.name("none"), 0]]),
      "no such partition": asked([[topic, 9, -1]]),
      "no partition": asked([[topic]]),
      "bad names": asked([["a b", 0], ["", 0]]),
      "no time": asked(null, 0),
    });
  }),
];
