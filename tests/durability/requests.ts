/** The few requests of the durability tests, a function each, with an error code that is not wanted thrown as text. */
import { Client } from "../../src/client/client.ts";
import { batchesIn, type BatchView, checkBatch } from "../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { createPartitions } from "../../src/codec/messages/create_partitions.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../src/codec/messages/delete_topics.ts";
import { describeConfigs } from "../../src/codec/messages/describe_configs.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { heartbeat } from "../../src/codec/messages/heartbeat.ts";
import { incrementalAlterConfigs } from "../../src/codec/messages/incremental_alter_configs.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { joinGroup } from "../../src/codec/messages/join_group.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { syncGroup } from "../../src/codec/messages/sync_group.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { PATIENCE_MS } from "./broker_process.ts";

const TOPIC_RESOURCE = 2;
/** The operation of IncrementalAlterConfigs that sets a value. */
const SET = 0;

export const EARLIEST = -2n;
export const LATEST = -1n;

/** What a response says is not what the test has to have. */
export class Refused extends Error {
  override name = "Refused";
  constructor(what: string, readonly errorCode: number, text?: string | null) {
    super(`${what}: ${errorName(errorCode)}${text ? ` (${text})` : ""}`);
  }
}

function must(what: string, errorCode: number, text?: string | null): void {
  if (errorCode !== ErrorCode.NONE) throw new Refused(what, errorCode, text);
}

/** What these answers say passes when a coordinator has loaded; of one that stops they are the last. */
const PASSING: ReadonlySet<number> = new Set([
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
]);

/** Sends until the coordinator is there, but not for ever. Throws when it refuses for another reason. */
export async function accepted(what: string, send: () => Promise<number>): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS;;) {
    const errorCode = await send();
    if (errorCode === ErrorCode.NONE) return;
    if (!PASSING.has(errorCode) || performance.now() > deadline) throw new Refused(what, errorCode);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export function connect(port: number, clientId = "durability"): Promise<Client> {
  return Client.connect({ hostname: "127.0.0.1", port }, clientId);
}

/** Makes a topic and gives its id. */
export async function createTopic(
  client: Client,
  name: string,
  numPartitions: number,
  configs: Record<string, string> = {},
): Promise<string> {
  const { topics: [topic] } = await client.send(createTopics, 7, {
    topics: [{
      name,
      numPartitions,
      replicationFactor: 1,
      assignments: [],
      configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
    }],
  });
  must(`CreateTopics of ${name}`, topic.errorCode, topic.errorMessage);
  return topic.topicId;
}

export async function deleteTopic(client: Client, name: string): Promise<void> {
  const { responses: [topic] } = await client.send(deleteTopics, 5, {
    topics: [],
    topicNames: [name],
    timeoutMs: 30_000,
  });
  must(`DeleteTopics of ${name}`, topic.errorCode, topic.errorMessage);
}

/** Sets settings of a topic, leaving the others as they are. */
export async function alterTopic(
  client: Client,
  name: string,
  configs: Record<string, string>,
): Promise<void> {
  const { responses: [answer] } = await client.send(incrementalAlterConfigs, 1, {
    resources: [{
      resourceType: TOPIC_RESOURCE,
      resourceName: name,
      configs: Object.entries(configs).map(([name, value]) => ({ name, configOperation: SET, value })),
    }],
    validateOnly: false,
  });
  must(`IncrementalAlterConfigs of ${name}`, answer.errorCode, answer.errorMessage);
}

/** What a setting of a topic is. */
export async function topicSetting(client: Client, topic: string, setting: string): Promise<string | null> {
  const { results: [answer] } = await client.send(describeConfigs, 4, {
    resources: [{ resourceType: TOPIC_RESOURCE, resourceName: topic, configurationKeys: [setting] }],
    includeSynonyms: false,
    includeDocumentation: false,
  });
  must(`DescribeConfigs of ${topic}`, answer.errorCode, answer.errorMessage);
  return answer.configs[0].value;
}

/** Gives a topic more partitions, so that it has `count`. */
export async function growTopic(client: Client, name: string, count: number): Promise<void> {
  const { results: [answer] } = await client.send(createPartitions, 3, {
    topics: [{ name, count, assignments: null }],
    timeoutMs: 30_000,
    validateOnly: false,
  });
  must(`CreatePartitions of ${name}`, answer.errorCode, answer.errorMessage);
}

/** Topic ids by name, of every topic that the broker has. */
export async function topicIds(client: Client): Promise<Map<string, string>> {
  return new Map((await allTopics(client)).map(({ name, topicId }) => [name!, topicId]));
}

/** How many partitions each topic has, by its name. */
export async function partitionCounts(client: Client): Promise<Map<string, number>> {
  return new Map((await allTopics(client)).map(({ name, partitions }) => [name!, partitions.length]));
}

async function allTopics(client: Client) {
  const { topics } = await client.send(metadata, 12, {
    topics: null,
    allowAutoTopicCreation: false,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  return topics;
}

/** A producer id that nobody had before, at epoch 0. */
export async function newProducerId(client: Client): Promise<number> {
  const answer = await client.send(initProducerId, 4, {
    transactionalId: null,
    transactionTimeoutMs: 60_000,
  });
  must("InitProducerId", answer.errorCode);
  return Number(answer.producerId);
}

export interface Produced {
  readonly errorCode: number;
  readonly baseOffset: number;
  readonly errorMessage: string | null;
}

/** Sends one batch to each of some partitions and gives what became of each, in the same order. */
export async function produceTo(
  client: Client,
  topic: string,
  parts: readonly { partition: number; batch: Uint8Array }[],
  acks = -1,
): Promise<Produced[]> {
  const { responses: [{ partitionResponses }] } = await client.send(produce, 9, {
    acks,
    timeoutMs: 30_000,
    topicData: [{
      name: topic,
      topicId: ZERO_UUID,
      partitionData: parts.map(({ partition, batch }) => ({ index: partition, records: batch })),
    }],
  });
  return partitionResponses.map(({ errorCode, baseOffset, errorMessage }) => ({
    errorCode,
    baseOffset: Number(baseOffset),
    errorMessage,
  }));
}

export interface Fetched {
  readonly errorCode: number;
  readonly highWatermark: number;
  readonly logStartOffset: number;
  /** Whole and intact; anything else throws. */
  readonly batches: BatchView[];
}

/** Reads from one partition, waiting up to `maxWaitMs` for something to come. */
export async function fetchFrom(
  client: Client,
  topic: string,
  partition: number,
  offset: number,
  { maxWaitMs = 0, maxBytes = 1 << 20 } = {},
): Promise<Fetched> {
  const { errorCode, responses } = await client.send(fetch, 12, {
    maxWaitMs,
    minBytes: 1,
    maxBytes,
    topics: [{
      topic,
      topicId: ZERO_UUID,
      partitions: [{ partition, fetchOffset: BigInt(offset), partitionMaxBytes: maxBytes }],
    }],
    forgottenTopicsData: [],
  });
  must("Fetch", errorCode);
  const [answer] = responses[0].partitions;
  const bytes = answer.records ?? new Uint8Array(0);
  const batches = [...batchesIn(bytes)];
  for (const batch of batches) {
    const problem = checkBatch(bytes, batch.start, bytes.length);
    if (problem !== null) throw new Error(`Fetch of ${topic}-${partition} from ${offset}: ${problem.text}`);
  }
  return {
    errorCode: answer.errorCode,
    highWatermark: Number(answer.highWatermark),
    logStartOffset: Number(answer.logStartOffset),
    batches,
  };
}

/**
 * The offset that ListOffsets finds; -1 when there is none. `timestamp` may be EARLIEST or LATEST. Under isolation level 1
 * (read_committed) what is open, and all after it, is not there.
 */
export async function offsetFor(
  client: Client,
  topic: string,
  partition: number,
  timestamp: bigint,
  isolationLevel: 0 | 1 = 0,
): Promise<number> {
  const { topics } = await client.send(listOffsets, 7, {
    replicaId: -1,
    isolationLevel,
    topics: [{ name: topic, partitions: [{ partitionIndex: partition, timestamp }] }],
    timeoutMs: 30_000,
  });
  const [answer] = topics[0].partitions;
  must(`ListOffsets of ${topic}-${partition} at ${timestamp}`, answer.errorCode);
  return Number(answer.offset);
}

/** Commits offsets by partition for a group; without a member, as admin tools do. Gives the first error code. */
export async function commit(
  client: Client,
  groupId: string,
  topic: string,
  offsets: ReadonlyMap<number, number>,
  member = { memberId: "", generationId: -1 },
): Promise<number> {
  const { topics } = await client.send(offsetCommit, 8, {
    groupId,
    generationIdOrMemberEpoch: member.generationId,
    memberId: member.memberId,
    topics: [{
      name: topic,
      topicId: ZERO_UUID,
      partitions: [...offsets].map(([partitionIndex, offset]) => ({
        partitionIndex,
        committedOffset: BigInt(offset),
        committedMetadata: `at ${offset}`,
      })),
    }],
  });
  return topics[0].partitions.find((p) => p.errorCode !== ErrorCode.NONE)?.errorCode ?? ErrorCode.NONE;
}

/** The group's committed offsets by partition; -1 where there is none. Throws when {@link commit} did not write them. */
export function committed(
  client: Client,
  groupId: string,
  topic: string,
  partitions: readonly number[],
): Promise<Map<number, number>> {
  return committedBy(client, groupId, topic, partitions, ({ committedOffset, metadata }) => {
    const offset = Number(committedOffset);
    if (offset >= 0 && metadata !== `at ${offset}`) {
      throw new Error(`OffsetFetch of ${groupId}: offset ${offset} came with metadata "${metadata}"`);
    }
  });
}

/** The group's committed offsets by partition, whoever wrote them; -1 where there is none. */
export async function committedBy(
  client: Client,
  groupId: string,
  topic: string,
  partitions: readonly number[],
  check: (found: { committedOffset: bigint; metadata: string | null }) => void = () => {},
): Promise<Map<number, number>> {
  const { groups: [group] } = await client.send(offsetFetch, 8, {
    groupId: "",
    topics: [],
    groups: [{ groupId, topics: [{ name: topic, topicId: ZERO_UUID, partitionIndexes: [...partitions] }] }],
  });
  must(`OffsetFetch of ${groupId}`, group.errorCode);
  return new Map(group.topics[0].partitions.map((p) => {
    must(`OffsetFetch of ${groupId} at ${p.partitionIndex}`, p.errorCode);
    check(p);
    return [p.partitionIndex, Number(p.committedOffset)];
  }));
}

/** A member of a group as it names itself. */
export interface Membership {
  readonly memberId: string;
  readonly generationId: number;
}

/** Joins a group as its only member, or as its leader, and takes an empty assignment. Waits until the coordinator is there. */
export async function join(client: Client, groupId: string, sessionTimeoutMs: number): Promise<Membership> {
  let memberId = "", generationId = -1;
  await accepted(`JoinGroup of ${groupId}`, async () => {
    for (;;) {
      const answer = await client.send(joinGroup, 7, {
        groupId,
        memberId,
        sessionTimeoutMs,
        rebalanceTimeoutMs: 60_000,
        protocolType: "consumer",
        protocols: [{ name: "range", metadata: new Uint8Array([0, 0, 0, 0]) }],
      });
      ({ memberId, generationId } = answer);
      if (answer.errorCode !== ErrorCode.MEMBER_ID_REQUIRED) return answer.errorCode;
    }
  });
  await accepted(`SyncGroup of ${groupId}`, async () => {
    const { errorCode } = await client.send(syncGroup, 4, {
      groupId,
      memberId,
      generationId,
      assignments: [{ memberId, assignment: new Uint8Array(8) }],
    });
    return errorCode;
  });
  return { memberId, generationId };
}

/** A heartbeat. Gives its error code. */
export async function stillIn(client: Client, groupId: string, member: Membership): Promise<number> {
  const { memberId, generationId } = member;
  return (await client.send(heartbeat, 4, { groupId, memberId, generationId })).errorCode;
}
