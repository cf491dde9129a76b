/** What a group may hold, and which names it can be logged with. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import type { JoinReply, JoinRequest } from "../../src/coordinators/groups/requests.ts";
import { type Harness, harness } from "./harness.ts";
import { bytes, commitRequest, joinRequest, syncRequest } from "./requests.ts";

/** A join of a version that needs no member id first, so that one call makes a member. */
async function joinDirectly(h: Harness, more: Partial<JoinRequest> = {}, memberId = ""): Promise<JoinReply> {
  const joining = h.service.join(joinRequest("g", memberId, { apiVersion: 3, ...more }));
  await h.advance(0);
  return await joining;
}

function metadataOf(size: number) {
  return { protocols: [{ name: "range", metadata: new Uint8Array(size) }] };
}

const codeOf = async (reply: Promise<{ errorCode: number }>) => errorName((await reply).errorCode);

Deno.test("a member whose metadata no record has room for is refused when it joins", async () => {
  const h = harness({ groupMaxBytes: 10_000 });
  assertEquals(await codeOf(joinDirectly(h, metadataOf(10_000))), "GROUP_MAX_SIZE_REACHED");
  const two = ["a", "b"].map((name) => ({ name, metadata: new Uint8Array(6000) }));
  assertEquals(await codeOf(joinDirectly(h, { protocols: two })), "GROUP_MAX_SIZE_REACHED");
  const joined = await joinDirectly(h, metadataOf(9_000));
  assertEquals(joined.errorCode, ErrorCode.NONE);
  const synced = await h.service.sync(syncRequest("g", joined, { [joined.memberId]: "A" }));
  assertEquals(synced.errorCode, ErrorCode.NONE);
  h.service.close();
});

Deno.test("a group whose record is full takes no more members, but those that it has join again", async () => {
  const h = harness({ groupMaxBytes: 10_000 });
  const first = await joinDirectly(h, metadataOf(6_000));
  assertEquals(await codeOf(joinDirectly(h, metadataOf(6_000))), "GROUP_MAX_SIZE_REACHED");
  assertEquals(await codeOf(joinDirectly(h, metadataOf(7_000), first.memberId)), "NONE");
  h.service.close();
});

Deno.test("a static member that comes back does not count twice", async () => {
  const h = harness({ groupMaxBytes: 10_000 });
  const instance = { ...metadataOf(6_000), groupInstanceId: "i", apiVersion: 9 };
  assertEquals(await codeOf(joinDirectly(h, instance)), "NONE");
  assertEquals(await codeOf(joinDirectly(h, instance)), "NONE");
  h.service.close();
});

Deno.test("a long client id is cut off before it makes a member id that no message has room for", async () => {
  const h = harness();
  const { memberId } = await joinDirectly(h, { clientId: "\u{fffd}".repeat(32_760) });
  assertEquals(memberId.length < 300, true);
  const [{ members }] = await h.service.describe(["g"], 5);
  assertEquals(members.map(({ clientId }) => clientId.length), [255]);
  h.service.close();
});

Deno.test("names that cannot be logged are refused: what is not UTF-8 in them grows when it is replaced", async () => {
  const h = harness();
  const long = "\u{fffd}".repeat(20_000);
  assertEquals(await codeOf(h.service.join(joinRequest(long, ""))), "INVALID_GROUP_ID");
  assertEquals(await codeOf(joinDirectly(h, { groupInstanceId: long, apiVersion: 9 })), "INVALID_REQUEST");
  assertEquals(await codeOf(joinDirectly(h, { protocolType: long })), "INCONSISTENT_GROUP_PROTOCOL");
  const protocols = [{ name: long, metadata: bytes("x") }];
  assertEquals(await codeOf(joinDirectly(h, { protocols })), "INCONSISTENT_GROUP_PROTOCOL");
  const { topics } = await h.service.commitOffsets(commitRequest(long, { "t:0": 1 }));
  assertEquals(topics[0].partitions[0].errorCode, ErrorCode.INVALID_GROUP_ID);
  assertEquals(h.service.heldRequests, 0);
  h.service.close();
});

Deno.test("offset metadata that no record has room for is refused, whatever the setting allows", async () => {
  const h = harness({ offsetMetadataMaxBytes: 1 << 20 });
  const request = commitRequest("g", { "t:0": 1 });
  const partitions = [{ ...request.topics[0].partitions[0], committedMetadata: "\u{fffd}".repeat(20_000) }];
  const reply = await h.service.commitOffsets({ ...request, topics: [{ ...request.topics[0], partitions }] });
  assertEquals(reply.topics[0].partitions[0].errorCode, ErrorCode.OFFSET_METADATA_TOO_LARGE);
  h.service.close();
});

Deno.test("more protocols than any client offers are refused", async () => {
  const h = harness();
  const offer = (count: number) => ({
    protocols: Array.from({ length: count }, (_, i) => ({ name: `p${i}`, metadata: bytes("") })),
  });
  assertEquals(await codeOf(joinDirectly(h, offer(101))), "INCONSISTENT_GROUP_PROTOCOL");
  assertEquals(await codeOf(joinDirectly(h, offer(100))), "NONE");
  h.service.close();
});

Deno.test("the member id that has waited longest makes way when too many were asked for", async () => {
  const h = harness({ groupMaxPendingMembers: 3 });
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    ids.push((await h.service.join(joinRequest("g", "", { apiVersion: 4 }))).memberId);
  }
  const members = ids.map((memberId) => ({ memberId, groupInstanceId: null }));
  const left = await h.service.leave({ groupId: "g", members });
  assertEquals(left.members.map(({ errorCode }) => errorName(errorCode)), [
    "UNKNOWN_MEMBER_ID",
    "UNKNOWN_MEMBER_ID",
    "NONE",
    "NONE",
    "NONE",
  ]);
  h.service.close();
});

Deno.test("member ids that nobody comes back with are gone after their session timeout", async () => {
  const h = harness();
  const { memberId } = await h.service.join(joinRequest("g", "", { apiVersion: 4, sessionTimeoutMs: 6000 }));
  await h.advance(6001);
  const late = h.service.join(joinRequest("g", memberId, { apiVersion: 4 }));
  await h.advance(0);
  assertEquals(await codeOf(late), "UNKNOWN_MEMBER_ID");
  h.service.close();
});
