/** What the transcripts cannot show: long times, restarts, several partitions, and answers that Kafka never gives. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import type { JoinReply } from "../../src/coordinators/groups/requests.ts";
import { type Harness, harness, settled } from "./harness.ts";
import {
  bytes,
  commitRequest,
  committed,
  heartbeatRequest,
  ifSettled,
  joinAsNew,
  joinRequest,
  syncRequest,
} from "./requests.ts";
import { SUBSCRIBED_TO_T } from "./scenarios.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** One member, stable. */
async function stableMember(h: Harness, groupId: string, metadata = "x"): Promise<JoinReply> {
  const protocols = [{ name: "range", metadata: bytes(metadata) }];
  const joining = joinAsNew(h.service, groupId, { protocols });
  await h.advance(0);
  const joined = await joining;
  await h.service.sync(syncRequest(groupId, joined, { [joined.memberId]: "A" }));
  return joined;
}

async function leave(h: Harness, groupId: string, joined: JoinReply): Promise<void> {
  await h.service.leave({ groupId, members: [{ memberId: joined.memberId, groupInstanceId: null }] });
}

async function stateOf(h: Harness, groupId: string): Promise<string> {
  return (await h.service.describe([groupId], 5))[0].groupState;
}

/** Passes time with heartbeats every 3 s. */
async function live(h: Harness, ms: number, groupId: string, joined: JoinReply): Promise<void> {
  for (let at = 0; at < ms; at += 3_000) {
    h.timers.advance(3_000);
    h.service.heartbeat(heartbeatRequest(groupId, joined));
  }
  await settled();
}

Deno.test("the first rebalance waits for more members, longer while they come, up to the rebalance timeout", async () => {
  const h = harness({ groupInitialRebalanceDelayMs: 3_000 });
  const first = joinAsNew(h.service, "g", { rebalanceTimeoutMs: 7_000 });
  await h.advance(2_000);
  const second = joinAsNew(h.service, "g", { rebalanceTimeoutMs: 7_000 });
  await h.advance(2_000);
  const third = joinAsNew(h.service, "g", { rebalanceTimeoutMs: 7_000 });
  // At 3 s and at 6 s somebody had come; what is left of the timeout ends at 7 s.
  await h.advance(2_900);
  assertEquals(await ifSettled(first), "held");
  await h.advance(200);
  const joined = [await first, await second, await third];
  assertEquals(joined.map(({ generationId }) => generationId), [1, 1, 1]);
  assertEquals(joined[0].members.length, 3);
  h.service.close();
});

Deno.test("the first rebalance ends after one delay when nobody else comes", async () => {
  const h = harness({ groupInitialRebalanceDelayMs: 3_000 });
  const first = joinAsNew(h.service, "g");
  await h.advance(2_900);
  assertEquals(await ifSettled(first), "held");
  await h.advance(200);
  assertEquals((await first).generationId, 1);
  h.service.close();
});

Deno.test("a new member's join is held for five minutes at most", async () => {
  const h = harness();
  const static_ = joinRequest("g", "", {
    groupInstanceId: "i",
    rebalanceTimeoutMs: 60 * MINUTE,
    sessionTimeoutMs: 30 * MINUTE,
  });
  const joining = h.service.join(static_);
  await h.advance(0);
  const a = await joining;
  await h.service.sync({ ...syncRequest("g", a, { [a.memberId]: "A" }), groupInstanceId: "i" });
  const b = joinAsNew(h.service, "g");
  await h.advance(5 * MINUTE - 1000);
  assertEquals(await ifSettled(b), "held");
  await h.advance(2000);
  assertEquals((await b).errorCode, ErrorCode.UNKNOWN_MEMBER_ID);
  h.service.close();
});

Deno.test("a second join of a member that waits is held in the first one's place, which is answered", async () => {
  const h = harness();
  await stableMember(h, "g");
  const { memberId } = await h.service.join(joinRequest("g", ""));
  const first = h.service.join(joinRequest("g", memberId));
  const second = h.service.join(joinRequest("g", memberId));
  assertEquals((await first).errorCode, ErrorCode.REBALANCE_IN_PROGRESS);
  assertEquals(await ifSettled(second), "held");
  h.service.close();
  assertEquals((await second).errorCode, ErrorCode.NOT_COORDINATOR);
});

Deno.test("a second sync of a member that waits is held in the first one's place, which is answered", async () => {
  const h = harness();
  const joining = [joinAsNew(h.service, "g"), joinAsNew(h.service, "g")];
  await h.advance(0);
  const [a, b] = [await joining[0], await joining[1]];
  const first = h.service.sync(syncRequest("g", b));
  const second = h.service.sync(syncRequest("g", b));
  assertEquals((await first).errorCode, ErrorCode.REBALANCE_IN_PROGRESS);
  await h.service.sync(syncRequest("g", a, { [b.memberId]: "B" }));
  assertEquals((await second).errorCode, ErrorCode.NONE);
  h.service.close();
});

Deno.test("members keep nothing of the buffer that their request came in", async () => {
  const h = harness();
  const buffer = bytes("xyz");
  const protocols = [{ name: "range", metadata: buffer }];
  const { memberId } = await h.service.join(joinRequest("g", "", { protocols }));
  const joining = h.service.join(joinRequest("g", memberId, { protocols }));
  await h.advance(0);
  const joined = await joining;
  const assignment = bytes("abc");
  await h.service.sync({ ...syncRequest("g", joined), assignments: [{ memberId, assignment }] });
  buffer.fill(0);
  assignment.fill(0);
  const [{ members: [member] }] = await h.service.describe(["g"], 5);
  assertEquals([member.memberMetadata, member.memberAssignment], [bytes("xyz"), bytes("abc")]);
  h.service.close();
});

Deno.test("after a restart members have a session again, generation and offsets are there", async () => {
  let h = harness();
  const joined = await stableMember(h, "g");
  await h.service.commitOffsets(commitRequest("g", { "t:0": 5, "t:1": 6 }, joined));
  await h.service.commitOffsets(commitRequest("g", { "t:0": 7 }, joined));
  await h.advance(9_000);
  h = h.restarted();
  await h.advance(9_000);
  assertEquals((await h.service.heartbeat(heartbeatRequest("g", joined))).errorCode, ErrorCode.NONE);
  assertEquals(await committed(h.service, "g"), { "t:0": 7, "t:1": 6 });
  const [{ members: [member] }] = await h.service.describe(["g"], 5);
  assertEquals(member.memberAssignment, bytes("A"));
  await h.advance(10_100);
  assertEquals(await stateOf(h, "g"), "Empty");
  h.service.close();
});

Deno.test("a group that is too large after a restart rebalances down to group.max.size", async () => {
  const big = harness();
  const joining = [joinAsNew(big.service, "g"), joinAsNew(big.service, "g"), joinAsNew(big.service, "g")];
  await big.advance(0);
  const members = await Promise.all(joining);
  await big.service.sync(syncRequest("g", members[0]));
  const h = big.restarted({ groupMaxSize: 2 });
  assertEquals(
    (await h.service.heartbeat(heartbeatRequest("g", members[0]))).errorCode,
    ErrorCode.REBALANCE_IN_PROGRESS,
  );
  const rejoining = members.map(({ memberId }) => h.service.join(joinRequest("g", memberId)));
  const errors = (await Promise.all(rejoining)).map(({ errorCode }) => errorCode);
  assertEquals(errors, [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED]);
  h.service.close();
});

Deno.test("offsets of an empty group expire when it has been empty for the retention time (KIP-211)", async () => {
  const h = harness();
  const joined = await stableMember(h, "g");
  await h.service.commitOffsets(commitRequest("g", { "t:0": 5 }, joined));
  await live(h, 9 * MINUTE, "g", joined);
  await leave(h, "g", joined);
  await h.advance(7 * DAY - MINUTE);
  assertEquals(await committed(h.service, "g"), { "t:0": 5 });
  await h.advance(12 * MINUTE);
  assertEquals(await committed(h.service, "g"), {});
  assertEquals(await stateOf(h, "g"), "Dead");
  // The tombstones are in the log.
  const after = h.restarted();
  assertEquals(await stateOf(after, "g"), "Dead");
  after.service.close();
});

Deno.test("offsets of a simple group expire after their commit", async () => {
  const h = harness();
  await h.service.commitOffsets(commitRequest("g", { "t:0": 5 }));
  await h.advance(6 * DAY);
  await h.service.commitOffsets(commitRequest("g", { "t:1": 6 }));
  await h.advance(2 * DAY);
  assertEquals(await committed(h.service, "g"), { "t:1": 6 });
  await h.advance(6 * DAY);
  assertEquals(await stateOf(h, "g"), "Dead");
  h.service.close();
});

Deno.test("offsets do not expire when the wall clock is a year ahead for a minute, and do when it stays there", async () => {
  const h = harness();
  await h.service.commitOffsets(commitRequest("g", { "t:0": 5 }));
  await h.advance(10 * MINUTE - 30_000);
  h.clock.jump(365 * DAY);
  await h.advance(MINUTE);
  h.clock.jump(-365 * DAY);
  assertEquals(await committed(h.service, "g"), { "t:0": 5 });
  h.clock.jump(365 * DAY);
  await h.advance(20 * MINUTE);
  assertEquals(await committed(h.service, "g"), {});
  h.service.close();
});

Deno.test("a retention that comes with the commit goes before the broker's", async () => {
  const h = harness();
  await h.service.commitOffsets(commitRequest("g", { "t:0": 5 }, null, { retentionTimeMs: 30 * MINUTE }));
  await h.service.commitOffsets(commitRequest("g", { "t:1": 5 }));
  await h.advance(29 * MINUTE);
  const after = h.restarted();
  assertEquals(await committed(after.service, "g"), { "t:0": 5, "t:1": 5 });
  await after.advance(11 * MINUTE);
  assertEquals(await committed(after.service, "g"), { "t:1": 5 });
  after.service.close();
});

Deno.test("a stable group of consumers loses offsets only of topics that it no longer reads", async () => {
  const h = harness({ offsetsRetentionMs: 60 * MINUTE });
  const joined = await stableMember(h, "g", SUBSCRIBED_TO_T);
  await h.service.commitOffsets(commitRequest("g", { "t:0": 5, "u:0": 6 }, joined));
  await live(h, 55 * MINUTE, "g", joined);
  assertEquals(await committed(h.service, "g"), { "t:0": 5, "u:0": 6 });
  await live(h, 20 * MINUTE, "g", joined);
  assertEquals(await committed(h.service, "g"), { "t:0": 5 });
  h.service.close();
});

Deno.test("no offset expires while the subscription of a group's members cannot be read", async () => {
  const h = harness({ offsetsRetentionMs: 10 * MINUTE });
  const joined = await stableMember(h, "g", "x");
  await h.service.commitOffsets(commitRequest("g", { "u:0": 6 }, joined));
  await live(h, 60 * MINUTE, "g", joined);
  assertEquals(await committed(h.service, "g"), { "u:0": 6 });
  h.service.close();
});

Deno.test("an empty group without offsets goes with the next check", async () => {
  const h = harness();
  const joined = await stableMember(h, "g");
  await leave(h, "g", joined);
  assertEquals(await stateOf(h, "g"), "Empty");
  await h.advance(11 * MINUTE);
  assertEquals(await stateOf(h, "g"), "Dead");
  h.service.close();
});

Deno.test("topicsDeleted() deletes the offsets of those topics in every group and partition", async () => {
  const h = harness({}, 5);
  const groups = ["a", "b", "c", "d", "e", "f"];
  for (const group of groups) {
    await h.service.commitOffsets(commitRequest(group, { "t:0": 1, "t:1": 2, "u:0": 3 }));
  }
  h.service.topicsDeleted(["t", "other"]);
  for (const group of groups) assertEquals(await committed(h.service, group), { "u:0": 3 });
  const after = h.restarted();
  for (const group of groups) assertEquals(await committed(after.service, group), { "u:0": 3 });
  after.service.close();
});

Deno.test("deleting a group with many offsets takes several batches, none of them large", async () => {
  const h = harness();
  const offsets = Object.fromEntries(Array.from({ length: 1_200 }, (_, i) => [`t:${i}`, i]));
  await h.service.commitOffsets(commitRequest("g", offsets));
  assertEquals(h.logs[0].batches.length, 1);
  assertEquals((await h.service.delete(["g"]))[0].errorCode, ErrorCode.NONE);
  assertEquals(h.logs[0].batches.length, 1 + 3);
  assertEquals(await stateOf(h, "g"), "Dead");
  const after = h.restarted();
  assertEquals(await stateOf(after, "g"), "Dead");
  assertEquals(await committed(after.service, "g"), {});
  after.service.close();
});

Deno.test("list() has the groups of all partitions", async () => {
  const h = harness({}, 5);
  const groups = ["a", "b", "c", "d", "e", "f"];
  for (const group of groups) await h.service.commitOffsets(commitRequest(group, { "t:0": 1 }));
  const listed = await h.service.list({ statesFilter: [], typesFilter: [] });
  assertEquals(listed.groups.map(({ groupId }) => groupId).sort(), groups);
  h.service.close();
});

Deno.test("ids that no group accepts are refused in Kafka's order", async () => {
  const h = harness();
  const joined = { ...await h.service.join(joinRequest("g", "")), generationId: 1 };
  const shortSession = joinRequest("", "m", { sessionTimeoutMs: 1 });
  assertEquals((await h.service.join(shortSession)).errorCode, ErrorCode.INVALID_GROUP_ID);
  const sync = { ...syncRequest("", joined), protocolType: null, protocolName: null };
  assertEquals((await h.service.sync(sync)).errorCode, ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
  assertEquals((await h.service.sync({ ...sync, apiVersion: 4 })).errorCode, ErrorCode.INVALID_GROUP_ID);
  assertEquals(
    (await h.service.heartbeat(heartbeatRequest("", joined))).errorCode,
    ErrorCode.INVALID_GROUP_ID,
  );
  assertEquals((await h.service.leave({ groupId: "", members: [] })).errorCode, ErrorCode.INVALID_GROUP_ID);
  assertEquals(
    (await h.service.deleteOffsets({ groupId: "", topics: [] })).errorCode,
    ErrorCode.INVALID_GROUP_ID,
  );
  // Offsets of the empty group id are an old habit that Kafka still serves, with all that administers them.
  await h.service.commitOffsets(commitRequest("", { "t:0": 5 }));
  assertEquals(await committed(h.service, ""), { "t:0": 5 });
  assertEquals((await h.service.describe([""], 6))[0].groupState, "Empty");
  assertEquals((await h.service.delete([""]))[0].errorCode, ErrorCode.NONE);
  h.service.close();
});
