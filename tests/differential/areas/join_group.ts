/** JoinGroup: who is let in, with which id, and what a rebalance asks of members. */
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { syncGroup } from "../../../src/codec/messages/sync_group.ts";
import { scenario } from "../scenario.ts";
import {
  bytes,
  committed,
  committing,
  hasMembers,
  joined,
  joining,
  newGroup,
  pair,
  protocols,
  rebalancing,
  syncing,
} from "../setup/groups.ts";
import { createTopic } from "../setup/topics.ts";

const everyVersion = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

export const scenarios = [
  scenario("JoinGroup in every version lets a member in, with an id it was given", async (broker) => {
    const group = await newGroup(broker);
    for (const version of everyVersion) {
      const groupId = `${group}${version}`;
      const first = await broker.ask(joinGroup, version, joining(groupId));
      if (first!.errorCode !== 0) {
        await broker.ask(joinGroup, version, joining(groupId, { memberId: first!.memberId }));
      }
    }
  }),
  scenario("JoinGroup holds the session timeout against the limits of the broker", async (broker) => {
    const group = await newGroup(broker);
    const timeouts = [5_999, 6_000, 1_800_000, 1_800_001, 0, -1, 2 ** 31 - 1];
    for (const version of [0, 3, 9]) {
      const requests = timeouts.map((sessionTimeoutMs) => {
        return [
          `${sessionTimeoutMs} ms`,
          joining(`${group}${version} ${sessionTimeoutMs}`, { sessionTimeoutMs }),
        ];
      });
      await broker.askEach(joinGroup, version, Object.fromEntries(requests));
    }
  }),
  scenario("JoinGroup takes any rebalance timeout", async (broker) => {
    const group = await newGroup(broker);
    for (const rebalanceTimeoutMs of [0, -1, 2 ** 31 - 1]) {
      await broker.ask(joinGroup, 3, joining(`${group}${rebalanceTimeoutMs}`, { rebalanceTimeoutMs }));
    }
  }),
  scenario(
    "JoinGroup looks at the group id first, then at the timeout, then at the protocols",
    async (broker) => {
      const group = await newGroup(broker);
      await broker.askEach(joinGroup, [3, 9], {
        "no group id, bad timeout, no protocols": joining("", { sessionTimeoutMs: 1, protocols: [] }),
        "bad timeout, no protocols, stranger": joining(group, {
          sessionTimeoutMs: 1,
          protocols: [],
          memberId: "stranger",
        }),
        "no protocols, stranger": joining(group, { protocols: [], memberId: "stranger" }),
        "no protocol type, stranger": joining(group, { protocolType: "", memberId: "stranger" }),
        "stranger": joining(group, { memberId: "stranger" }),
      });
      await joined(broker, group);
      await broker.askEach(joinGroup, [3, 9], {
        "known group: no protocols, stranger": joining(group, { protocols: [], memberId: "stranger" }),
        "known group: other protocols, stranger": joining(group, {
          protocols: protocols({ other: "x" }),
          memberId: "stranger",
        }),
        "known group: other type, stranger": joining(group, {
          protocolType: "connect",
          memberId: "stranger",
        }),
        "known group: no protocol type": joining(group, { protocolType: "" }),
        "known group: no protocols": joining(group, { protocols: [] }),
      });
    },
  ),
  scenario("JoinGroup takes group ids of any form but the empty one", async (broker) => {
    await newGroup(broker);
    const ids = [" ", ".", "a b", "ä", "a\u0000b", "/", "x".repeat(249), "x".repeat(250), "x".repeat(1000)];
    for (const [i, id] of ids.entries()) await broker.ask(joinGroup, 9, joining(broker.name(`${i}${id}`)));
  }),
  scenario("JoinGroup judges instance ids", async (broker) => {
    const group = await newGroup(broker);
    const ids = ["", ".", "..", "a b", "a/b", "ä", "x".repeat(249), "x".repeat(250), "_-.1"];
    for (const [i, groupInstanceId] of ids.entries()) {
      await broker.ask(joinGroup, 5, joining(`${group}${i}`, { groupInstanceId }));
    }
  }),
  scenario("JoinGroup takes protocols without a name, without metadata, and twice", async (broker) => {
    const group = await newGroup(broker);
    const metadata = bytes("m"), name = "range";
    const answers = {
      "no name": [{ name: "", metadata }],
      "no metadata": [{ name, metadata: new Uint8Array(0) }],
      "twice": [{ name, metadata }, { name, metadata: bytes("other") }],
    };
    for (const [label, list] of Object.entries(answers)) {
      await broker.ask(joinGroup, 3, joining(group + label.at(-1), { protocols: list }), undefined, label);
    }
  }),
  scenario("JoinGroup tells the leader of every member, and followers of none", async (broker) => {
    const group = await newGroup(broker);
    const first = await joined(broker, group);
    const other = broker.another();
    const second = other.send(joinGroup, 5, {
      ...joining(group, { groupInstanceId: "i" }),
      protocols: protocols({ range: "of the second" }),
    });
    await rebalancing(broker, group, first);
    const leader = await broker.ask(joinGroup, 5, joining(group, { memberId: first.memberId }), (r) => ({
      ...r,
      members: r.members.map((m) => ({ ...m, metadata: new TextDecoder().decode(m.metadata) }))
        .sort((a, b) => a.metadata < b.metadata ? -1 : 1),
      isLeader: r.leader === r.memberId,
    }));
    other.tell(joinGroup, 5, await second, "follower", (r) => ({
      ...r,
      knowsLeader: r.leader === leader!.memberId,
    }));
  }),
  scenario(
    "JoinGroup chooses the protocol that most members prefer among those that all have",
    async (broker) => {
      const group = await newGroup(broker);
      const votes = [["a", "b", "c"], ["c", "b"], ["b", "c"]];
      const wishes = votes.map((names) => protocols(Object.fromEntries(names.map((name) => [name, name]))));
      const first = await joined(broker, group, { protocols: wishes[0] });
      const others = [1, 2].map((i) =>
        broker.another().send(joinGroup, 3, joining(group, { protocols: wishes[i] }))
      );
      await hasMembers(broker, group, 3);
      const all = joining(group, { memberId: first.memberId, protocols: wishes[0] });
      await broker.ask(joinGroup, 3, all, (r) => [r.protocolName, r.members.length]);
      broker.note("the others", (await Promise.all(others)).map((r) => r!.protocolName));
    },
  ),
  scenario("JoinGroup refuses who shares no protocol with every member", async (broker) => {
    const group = await newGroup(broker);
    await joined(broker, group, { protocols: protocols({ a: "1", b: "2" }) });
    await broker.askEach(joinGroup, [1, 7], {
      "none in common": joining(group, { protocols: protocols({ c: "3" }) }),
      "type in another case": joining(group, { protocolType: "Consumer", protocols: protocols({ a: "1" }) }),
      "name in another case": joining(group, { protocols: protocols({ A: "1" }) }),
    });
  }),
  scenario(
    "JoinGroup of a follower that repeats itself is answered at once, a leader's starts a rebalance",
    async (broker) => {
      const group = await newGroup(broker);
      const { leader, follower, other } = await pair(broker, group);
      await other.ask(
        joinGroup,
        3,
        joining(group, { memberId: follower.memberId }),
        undefined,
        "follower again",
      );
      await broker.ask(heartbeat, 3, { groupId: group, ...leader }, undefined, "before");
      const again = broker.send(joinGroup, 3, joining(group, { memberId: leader.memberId }));
      await rebalancing(other, group, follower);
      await other.ask(
        joinGroup,
        3,
        joining(group, { memberId: follower.memberId }),
        undefined,
        "follower joins",
      );
      broker.tell(
        joinGroup,
        3,
        await again,
        "leader",
        (r) => [r.errorCode, r.generationId, r.members.length],
      );
    },
  ),
  scenario("JoinGroup of a follower with other metadata starts a rebalance", async (broker) => {
    const group = await newGroup(broker);
    const { leader, follower, other } = await pair(broker, group);
    const changed = other.send(joinGroup, 3, {
      ...joining(group, { memberId: follower.memberId }),
      protocols: protocols({ range: "changed" }),
    });
    await rebalancing(broker, group, leader);
    await broker.ask(
      joinGroup,
      3,
      joining(group, { memberId: leader.memberId }),
      (r) => [r.generationId, r.members.map((m) => new TextDecoder().decode(m.metadata)).sort()],
    );
    other.tell(joinGroup, 3, await changed, "follower");
  }),
  scenario("JoinGroup before the assignment is there repeats the answer of the phase", async (broker) => {
    const group = await newGroup(broker);
    const first = await broker.ask(joinGroup, 3, joining(group));
    await broker.ask(
      joinGroup,
      3,
      joining(group, { memberId: first!.memberId }),
      undefined,
      "the same again",
    );
    const changed = { memberId: first!.memberId, protocols: protocols({ range: "changed" }) };
    await broker.ask(joinGroup, 3, joining(group, changed), undefined, "other metadata");
  }),
  scenario("JoinGroup with an id that was given out and not used yet", async (broker) => {
    const group = await newGroup(broker);
    const { memberId } = (await broker.send(joinGroup, 4, joining(group)))!;
    const pending = { groupId: group, memberId, generationId: 1 };
    await broker.ask(heartbeat, 4, pending);
    await broker.ask(heartbeat, 4, { ...pending, generationId: -1 });
    await broker.ask(
      syncGroup,
      5,
      syncing(group, pending, { protocolType: "consumer", protocolName: "range" }),
    );
    const topic = await createTopic(broker, "t");
    await broker.ask(offsetCommit, 8, committing(group, topic, { memberId, generationIdOrMemberEpoch: 1 }));
    await broker.ask(joinGroup, 4, joining(`${group}2`, { memberId }), undefined, "another group");
    await broker.ask(joinGroup, 3, joining(group, { memberId }), undefined, "an older version");
    await broker.ask(joinGroup, 4, joining(group, { memberId }), undefined, "again");
  }),
  scenario("JoinGroup ids that were given out can be given back by LeaveGroup", async (broker) => {
    const group = await newGroup(broker);
    const { memberId } = (await broker.send(joinGroup, 4, joining(group)))!;
    await broker.ask(leaveGroup, 4, { groupId: group, memberId: "", members: [{ memberId }] });
    await broker.ask(leaveGroup, 4, { groupId: group, memberId: "", members: [{ memberId }] });
    await broker.ask(joinGroup, 4, joining(group, { memberId }));
  }),
  scenario(
    "JoinGroup goes on with the generations of a group that everybody left, under another type",
    async (broker) => {
      const group = await newGroup(broker);
      const topic = await createTopic(broker, "t");
      const { memberId, generationId } = await joined(broker, group);
      const commit = { memberId, generationIdOrMemberEpoch: generationId };
      await committed(broker, group, topic, commit);
      await broker.send(leaveGroup, 2, { groupId: group, memberId, members: [] });
      await broker.ask(joinGroup, 3, joining(group, { memberId }), undefined, "the old id");
      await broker.ask(
        joinGroup,
        3,
        joining(group, { protocolType: "connect", protocols: protocols({ x: "y" }) }),
      );
    },
  ),
  scenario("JoinGroup drops a member that does not join again in its rebalance timeout", async (broker) => {
    const group = await newGroup(broker);
    const first = await joined(broker, group, { rebalanceTimeoutMs: 300 });
    // The longest timeout of all members counts.
    const short = { rebalanceTimeoutMs: 300 };
    await broker.another().ask(
      joinGroup,
      3,
      joining(group, short),
      (r) => [r.generationId, r.members.length],
    );
    await broker.ask(heartbeat, 3, { groupId: group, ...first });
    await broker.ask(joinGroup, 3, joining(group, { memberId: first.memberId }));
  }),
  scenario("JoinGroup takes a reason of any length", async (broker) => {
    const group = await newGroup(broker);
    for (const reason of [null, "", "because", "x".repeat(300)]) {
      await broker.ask(joinGroup, 9, joining(group, { reason }));
    }
  }),
  scenario("JoinGroup bounds what a group's metadata takes", async (broker) => {
    const group = await newGroup(broker);
    const metadata = new Uint8Array(900_000);
    await broker.ask(joinGroup, 3, joining(group, { protocols: [{ name: "range", metadata }] }), (r) => [
      r.errorCode,
      r.members.map((m) => m.metadata.length),
    ]);
  }),
];
