/**
 * What groups cost the one event loop: heartbeats and commits in many groups, and the join of one large group.
 * `deno run -A bench/groups_heartbeats.ts`
 */
import { ZERO_UUID } from "../src/codec/uuid.ts";
import { GroupService } from "../src/coordinators/groups/service.ts";
import type { JoinReply } from "../src/coordinators/groups/requests.ts";
import { systemTimers } from "../src/coordinators/shard.ts";

const service = new GroupService({
  config: {
    groupMinSessionTimeoutMs: 6_000,
    groupMaxSessionTimeoutMs: 1_800_000,
    groupMaxSize: 0x7fffffff,
    groupInitialRebalanceDelayMs: 100,
    offsetMetadataMaxBytes: 4096,
    offsetsRetentionMs: 7 * 24 * 3_600_000,
    offsetsRetentionCheckIntervalMs: 600_000,
  },
  clock: { now: () => Date.now(), monotonic: () => performance.now() },
  timers: systemTimers,
  randomUuid: () => crypto.randomUUID(),
  partitionCount: () => 50,
  // Nothing is written: the log is somebody else's cost.
  ensureShard: () => ({
    append: () => ({ errorCode: 0, offset: 0, committed: null }),
    appendMarker: () => ({ errorCode: 0, offset: 0, committed: null }),
    recommit: () => Promise.resolve(0),
    readAll: () => [],
  }),
  transactions: {
    addPartitions: ({ partitions }) => ({ errorCodes: partitions.map(() => 0) }),
    verifiesPartitions: () => true,
  },
  report: console.error,
});

const metadata = new Uint8Array(60);

async function join(groupId: string): Promise<JoinReply> {
  const request = {
    groupId,
    memberId: "",
    groupInstanceId: null,
    sessionTimeoutMs: 45_000,
    rebalanceTimeoutMs: 60_000,
    protocolType: "consumer",
    protocols: [{ name: "range", metadata }, { name: "cooperative-sticky", metadata }],
    clientId: "c",
    clientHost: "/127.0.0.1",
    apiVersion: 9,
  };
  const { memberId } = await service.join(request);
  return service.join({ ...request, memberId });
}

async function form(groupId: string, size: number): Promise<JoinReply[]> {
  const members = await Promise.all(Array.from({ length: size }, () => join(groupId)));
  const leader = members.find((member) => member.leader === member.memberId)!;
  const assignments = members.map(({ memberId }) => ({ memberId, assignment: new Uint8Array(100) }));
  await Promise.all(members.map((member) =>
    service.sync({
      groupId,
      generationId: member.generationId,
      memberId: member.memberId,
      groupInstanceId: null,
      protocolType: member.protocolType,
      protocolName: member.protocolName,
      assignments: member === leader ? assignments : [],
      apiVersion: 5,
    })
  ));
  return members;
}

function report(what: string, startMs: number, count: number): void {
  const ms = performance.now() - startMs;
  console.log(`${what}: ${ms.toFixed(0)} ms, ${(1000 * ms / count).toFixed(2)} µs each`);
}

const GROUPS = 500;
const MEMBERS = 10;
let start = performance.now();
const groups = await Promise.all(Array.from({ length: GROUPS }, (_, i) => form(`group-${i}`, MEMBERS)));
report(
  `${GROUPS} groups of ${MEMBERS} members joined and synced (with 100 ms delay)`,
  start,
  GROUPS * MEMBERS,
);

const ROUNDS = 40;
start = performance.now();
for (let round = 0; round < ROUNDS; round++) {
  for (let i = 0; i < GROUPS; i++) {
    for (const { memberId, generationId } of groups[i]) {
      await service.heartbeat({ groupId: `group-${i}`, generationId, memberId, groupInstanceId: null });
    }
  }
}
report("heartbeats", start, ROUNDS * GROUPS * MEMBERS);

start = performance.now();
for (let round = 0; round < ROUNDS; round++) {
  for (let i = 0; i < GROUPS; i++) {
    const { memberId, generationId } = groups[i][round % MEMBERS];
    await service.commitOffsets({
      groupId: `group-${i}`,
      generationIdOrMemberEpoch: generationId,
      memberId,
      groupInstanceId: null,
      retentionTimeMs: -1,
      topics: [{
        name: "topic",
        topicId: ZERO_UUID,
        partitions: [0, 1, 2, 3].map((partitionIndex) => ({
          partitionIndex,
          committedOffset: round,
          committedLeaderEpoch: 0,
          commitTimestamp: -1,
          committedMetadata: "",
        })),
      }],
      apiVersion: 9,
    });
  }
}
report("commits of 4 partitions", start, ROUNDS * GROUPS);

for (const size of [100, 1000]) {
  start = performance.now();
  await form(`large-${size}`, size);
  report(`one group of ${size} joined and synced (with 100 ms delay)`, start, size);
}
service.close();
