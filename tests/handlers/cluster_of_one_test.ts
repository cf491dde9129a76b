/** Where a cluster of one answers otherwise than Kafka, or what only it can tell; the rest is in tests/differential. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { apiVersions } from "../../src/codec/messages/api_versions.ts";
import { describeQuorum } from "../../src/codec/messages/describe_quorum.ts";
import { electLeaders } from "../../src/codec/messages/elect_leaders.ts";
import { alterPartitionReassignments } from "../../src/codec/messages/alter_partition_reassignments.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { unregisterBroker } from "../../src/codec/messages/unregister_broker.ts";
import { TestClient } from "../protocol/requests.ts";
import { freePortBroker } from "../lib/broker.ts";

const quorum = { topics: [{ topicName: "__cluster_metadata", partitions: [{ partitionIndex: 0 }] }] };

Deno.test("UnregisterBroker keeps the only broker of a cluster: it is refused, and the broker goes on", async () => {
  await using broker = await freePortBroker({ "node.id": "4" });
  await using client = await TestClient.to(broker);
  const { errorCode, errorMessage } = await client.send(unregisterBroker, 0, { brokerId: 4 });
  assertEquals(errorCode, ErrorCode.INVALID_REQUEST);
  assertEquals(errorMessage, "Broker ID 4 is running, and it is all of the cluster: stop it instead");
  const { brokers } = await client.send(metadata, 12, {
    topics: [],
    allowAutoTopicCreation: false,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  assertEquals(brokers.map(({ nodeId }) => nodeId), [4]);
});

Deno.test("DescribeQuorum's high watermark grows with each change of the metadata, and over a restart", async () => {
  await using broker = await freePortBroker();
  const ask = async () => {
    await using client = await TestClient.to(broker);
    const { topics, nodes } = await client.send(describeQuorum, 2, quorum);
    const versions = await client.send(apiVersions, 3, {
      clientSoftwareName: "test",
      clientSoftwareVersion: "1",
    });
    const { highWatermark, currentVoters } = topics[0].partitions[0];
    assertEquals(versions.finalizedFeaturesEpoch, highWatermark, "features change with the metadata");
    return { highWatermark, directory: currentVoters[0].replicaDirectoryId, nodes };
  };
  const first = await ask();
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 2);
  const second = await ask();
  assert(second.highWatermark > first.highWatermark);
  await broker.restart();
  const third = await ask();
  assert(third.highWatermark >= second.highWatermark);
  assertEquals(third.directory, first.directory);
  assertEquals(third.nodes, [{
    nodeId: 1,
    listeners: [{ name: "PLAINTEXT", host: "127.0.0.1", port: broker.port }],
  }]);
});

Deno.test("elections and reassignments say what they would not do, in words that tools print", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 1);
  const moved = await client.send(alterPartitionReassignments, 1, {
    timeoutMs: 1000,
    topics: [{
      name: "t",
      partitions: [[1, 7], [1, 1], [], [1]].map((replicas) => ({ partitionIndex: 0, replicas })),
    }],
  });
  const text = "The manual partition assignment includes";
  assertEquals(moved.responses[0].partitions.map(({ errorMessage }) => errorMessage), [
    `${text} broker 7, but no such broker is registered.`,
    `${text} the broker 1 more than once.`,
    `${text} an empty replica list.`,
    null,
  ]);
  const elected = await client.send(electLeaders, 2, {
    electionType: 0,
    topicPartitions: [{ topic: "t", partitions: [0, 1] }, { topic: "u", partitions: [0] }],
    timeoutMs: 1000,
  });
  assertEquals(
    elected.replicaElectionResults.flatMap(({ partitionResult }) =>
      partitionResult.map((p) => p.errorMessage)
    ),
    ["Leader election not needed for topic partition.", "No such partition as t-1", "No such topic as u"],
  );
});
