/** Topics for scenarios: made and waited for, without anything written down. */
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { describeConfigs } from "../../../src/codec/messages/describe_configs.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import type { DecodedResponseOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { type Broker, eventually } from "../scenario.ts";

/** An id that no topic has. */
export const NO_SUCH_ID = "AAAAAAAAAAAAAAAAAAAABA";

/** Creates a topic of one partition without writing anything down, and waits until its partition has a leader. */
export async function createTopic(
  broker: Broker,
  text: string,
  configs: Record<string, string> = {},
  numPartitions = 1,
): Promise<string> {
  const name = broker.name(text);
  const topic = { name, numPartitions, replicationFactor: 1, assignments: [] };
  await broker.send(createTopics, 5, {
    topics: [{ ...topic, configs: Object.entries(configs).map(([name, value]) => ({ name, value })) }],
  });
  await ready(broker, name);
  return name;
}

/** Waits until the topic is in the metadata, and gives its id: Kafka answers CreateTopics before its broker knows. */
export async function ready(broker: Broker, name: string): Promise<string> {
  return await eventually(`${name} is not ready`, async () => {
    const response = await broker.send(metadata, 12, metadataOf([name]));
    const [topic] = response!.topics;
    if (topic.errorCode !== 0 || topic.partitions.some((p) => p.errorCode !== 0)) return null;
    // Known to the controller is not hosted yet: only when each partition tells its offsets is the topic there.
    const partitions = topic.partitions.map((p) => ({ partitionIndex: p.partitionIndex, timestamp: -1n }));
    const listed = await broker.send(listOffsets, 4, {
      replicaId: -1,
      isolationLevel: 0,
      timeoutMs: 1000,
      topics: [{ name, partitions }],
    });
    return listed!.topics[0].partitions.every((p) => p.errorCode === 0) ? topic.topicId : null;
  });
}

/** Waits until the broker shows a setting: Kafka's takes over what its controller decided a moment later. */
export async function settled(
  broker: Broker,
  resourceName: string,
  setting: string,
  value: string,
): Promise<void> {
  await eventually(`${setting} of ${resourceName} does not become ${value}`, async () => {
    const resources = [{ resourceType: 2, resourceName, configurationKeys: [setting] }];
    const response = await broker.send(describeConfigs, 4, { resources });
    return response!.results[0].configs[0].value === value ? true : null;
  });
}

/** A Metadata request for these topics. */
export function metadataOf(
  names: (string | null)[],
  more: { allowAutoTopicCreation?: boolean; operations?: boolean } = {},
) {
  return {
    topics: names.map((name) => ({ name, topicId: ZERO_UUID })),
    allowAutoTopicCreation: more.allowAutoTopicCreation ?? false,
    includeClusterAuthorizedOperations: more.operations ?? false,
    includeTopicAuthorizedOperations: more.operations ?? false,
  };
}

/** What a Metadata response says of topics. */
export function topicsOnly({ topics }: DecodedResponseOf<typeof metadata>) {
  return { topics };
}

/** One topic of a CreateTopics request. */
export function creating(
  name: string,
  more: Partial<
    {
      numPartitions: number;
      replicationFactor: number;
      configs: { name: string; value: string | null }[];
      assignments: { partitionIndex: number; brokerIds: number[] }[];
    }
  > = {},
) {
  return { name, numPartitions: 1, replicationFactor: 1, configs: [], assignments: [], ...more };
}
