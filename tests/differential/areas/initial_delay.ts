/** group.initial.rebalance.delay.ms: a new group waits for more members before its first generation. */
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import type { Oracle } from "../areas.ts";
import { scenario } from "../scenario.ts";
import { hasMembers, joined, joining, newGroup, rebalancing } from "../setup/groups.ts";

export const oracle: Oracle = { settings: { "group.initial.rebalance.delay.ms": "500" } };

export const scenarios = [
  scenario("Members that come in the initial delay are in the first generation together", async (broker) => {
    const group = await newGroup(broker);
    const answers = await Promise.all(
      [0, 1, 2].map(() => broker.another().send(joinGroup, 3, joining(group))),
    );
    broker.note("generations", answers.map((r) => r!.generationId));
    broker.note("members", answers.map((r) => r!.members.length).sort());
    broker.note("leaders", answers.filter((r) => r!.leader === r!.memberId).length);
  }),
  scenario("The initial delay is the first one's alone: later members do not wait for it", async (broker) => {
    const group = await newGroup(broker);
    const start = performance.now();
    const first = await joined(broker, group);
    broker.note("the first waits", performance.now() - start >= 450);
    const second = broker.another().send(joinGroup, 3, joining(group));
    await rebalancing(broker, group, first);
    const between = performance.now();
    await broker.ask(joinGroup, 3, joining(group, { memberId: first.memberId }), (r) => r.generationId);
    await second;
    broker.note("the second does not", performance.now() - between < 450);
  }),
  scenario("An initial delay is not longer than the rebalance timeout", async (broker) => {
    const group = await newGroup(broker);
    const start = performance.now();
    await broker.ask(joinGroup, 3, joining(group, { rebalanceTimeoutMs: 0 }), (r) => r.errorCode);
    broker.note("waits", performance.now() - start >= 450);
  }),
  scenario(
    "Heartbeats in the initial delay, and a group that is empty again has another one",
    async (broker) => {
      const group = await newGroup(broker);
      const { memberId } = (await broker.send(joinGroup, 4, joining(group)))!;
      const joins = broker.another().send(joinGroup, 4, joining(group, { memberId }));
      await hasMembers(broker, group, 1);
      await broker.ask(heartbeat, 4, { groupId: group, memberId, generationId: 0 }, (r) => r.errorCode);
      await joins;
      await broker.ask(leaveGroup, 2, { groupId: group, memberId, members: [] });
      const start = performance.now();
      await broker.ask(joinGroup, 3, joining(group), (r) => r.generationId);
      broker.note("waits again", performance.now() - start >= 450);
    },
  ),
];
