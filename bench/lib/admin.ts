/** What a few connections ask of a broker beside a load: topics, metadata, members of groups. Throws what is refused. */
import { Client } from "../../src/client/client.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { heartbeat } from "../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../src/codec/messages/leave_group.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { syncGroup } from "../../src/codec/messages/sync_group.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";

export function connect(port: number): Promise<Client> {
  return Client.connect({ hostname: "127.0.0.1", port }, "bench");
}

/** Some at a time, since a burst would overflow a listener's queue. */
export async function connectMany(port: number, count: number): Promise<Client[]> {
  const clients: Client[] = [];
  while (clients.length < count) {
    const some = Math.min(50, count - clients.length);
    clients.push(...await Promise.all(Array.from({ length: some }, () => connect(port))));
  }
  return clients;
}

export function must(what: string, errorCode: number): void {
  if (errorCode !== ErrorCode.NONE) throw new Error(`${what} was refused with ${errorCode}`);
}

/** Makes so many topics, a hundred in a request, as fast as one client can. */
export async function makeTopics(
  client: Client,
  prefix: string,
  count: number,
  partitionsEach = 1,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<void> {
  const configs = Object.entries(settings).map(([name, value]) => ({ name, value: String(value) }));
  for (let at = 0; at < count;) {
    const names = Array.from({ length: Math.min(100, count - at) }, () => `${prefix}-${at++}`);
    const { topics } = await client.send(createTopics, 4, {
      timeoutMs: 60_000,
      topics: names.map((name) => ({
        name,
        numPartitions: partitionsEach,
        replicationFactor: 1,
        assignments: [],
        configs,
      })),
    });
    for (const topic of topics) must(`CreateTopics of ${topic.name}`, topic.errorCode);
  }
}

/** How many partitions there are of topics that begin with `prefix`, those that have a leader. */
export async function partitionsLed(client: Client, prefix: string): Promise<number> {
  const { topics } = await client.send(metadata, 9, {
    topics: null,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  return topics.filter(({ name }) => name?.startsWith(prefix))
    .flatMap(({ partitions }) => partitions)
    .filter(({ errorCode, leaderId }) => errorCode === ErrorCode.NONE && leaderId >= 0).length;
}

/** Resolves when that many have a leader; throws when they have none in time. */
export async function untilLed(client: Client, prefix: string, partitions: number): Promise<void> {
  const deadline = performance.now() + 180_000;
  while (await partitionsLed(client, prefix) < partitions) {
    if (performance.now() > deadline) throw new Error(`not all partitions of ${prefix} have leaders`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Asks for the group's coordinator until there is one: Kafka makes the offsets topic on the first such question. */
export async function untilCoordinated(client: Client, groupId: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const { errorCode } = await client.send(findCoordinator, 3, {
      key: groupId,
      keyType: 0,
      coordinatorKeys: [],
    });
    if (errorCode === ErrorCode.NONE) return;
    if (performance.now() > deadline) must("FindCoordinator", errorCode);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A member of a classic group, on a connection of its own since its joins wait. */
export class Member {
  memberId = "";
  generationId = -1;
  /** Members of the generation, where this one leads it. */
  membersSeen = 0;

  constructor(
    private readonly client: Client,
    private readonly groupId: string,
    private readonly sessionTimeoutMs = 45_000,
  ) {}

  /** Joins and takes its assignment; false where the group has gone on to the next generation before that. */
  async join(): Promise<boolean> {
    const { client, groupId } = this;
    for (;;) {
      const answer = await client.send(joinGroup, 7, {
        groupId,
        memberId: this.memberId,
        sessionTimeoutMs: this.sessionTimeoutMs,
        rebalanceTimeoutMs: 60_000,
        protocolType: "consumer",
        protocols: [{ name: "range", metadata: new Uint8Array(60) }],
      });
      this.memberId = answer.memberId;
      this.generationId = answer.generationId;
      this.membersSeen = answer.members.length;
      if (answer.errorCode === ErrorCode.NONE) break;
      if (answer.errorCode === ErrorCode.MEMBER_ID_REQUIRED) continue;
      if (!COORDINATOR_COMES.includes(answer.errorCode)) must("JoinGroup", answer.errorCode);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const { memberId, generationId } = this;
    const assignments = this.membersSeen === 0 ? [] : [{ memberId, assignment: new Uint8Array(60) }];
    const { errorCode } = await client.send(syncGroup, 4, { groupId, memberId, generationId, assignments });
    if (errorCode === ErrorCode.REBALANCE_IN_PROGRESS) return false;
    must("SyncGroup", errorCode);
    return true;
  }

  /** Whether its generation still is the group's. */
  async heartbeat(): Promise<boolean> {
    const { client, groupId, memberId, generationId } = this;
    const { errorCode } = await client.send(heartbeat, 4, { groupId, memberId, generationId });
    if (errorCode === ErrorCode.REBALANCE_IN_PROGRESS || errorCode === ErrorCode.ILLEGAL_GENERATION) {
      return false;
    }
    must("Heartbeat", errorCode);
    return true;
  }

  async leave(): Promise<void> {
    const { client, groupId, memberId } = this;
    const { errorCode } = await client.send(leaveGroup, 4, {
      groupId,
      memberId: "",
      members: [{ memberId }],
    });
    must("LeaveGroup", errorCode);
    this.memberId = "";
  }

  async commit(topic: string, offset: number): Promise<void> {
    const { client, groupId, memberId, generationId } = this;
    const { topics } = await client.send(offsetCommit, 8, {
      groupId,
      generationIdOrMemberEpoch: generationId,
      memberId,
      topics: [{
        name: topic,
        topicId: ZERO_UUID,
        partitions: [{ partitionIndex: 0, committedOffset: offset, committedMetadata: "" }],
      }],
    });
    must("OffsetCommit", topics[0].partitions[0].errorCode);
  }
}

/** The offsets topic has just been made, or its log is being read. */
const COORDINATOR_COMES: number[] = [
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
];
