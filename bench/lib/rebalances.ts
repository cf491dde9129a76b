/**
 * A hundred groups of three members that form, lose one member each, and get it back: all at once, as after a restart of
 * a fleet. Both brokers have group.initial.rebalance.delay.ms at 0, so that nobody waits for what is not work.
 */
import type { Client } from "../../src/client/client.ts";
import { connectMany, Member, untilCoordinated } from "./admin.ts";
import { metrics } from "./metrics.ts";
import { CpuMeter } from "./process_stats.ts";
import { running, type Scenario, sleep } from "./scenario.ts";

const GROUPS = 100, MEMBERS = 3;
/** Members ask this often whether their group goes on. Clients ask every 3 s; here that would be most of the time. */
const HEARTBEAT_MS = 10;

export const rebalances: Scenario = {
  name: "rebalance",
  about: `${GROUPS} groups of ${MEMBERS} members form; then in each one leaves, and comes back`,
  maxRounds: 5,
  warmUps: 1,
  metrics: [
    metrics.rebalanceCpu,
    metrics.told.lower(`${GROUPS} groups formed`, "ms"),
    metrics.told.lower(`${GROUPS} groups without one member`, "ms"),
    metrics.told.lower(`${GROUPS} groups with it again`, "ms"),
  ],
  async measure(subject) {
    const { pid, port } = running(subject);
    const clients = await connectMany(port, GROUPS * MEMBERS);
    try {
      const run = subject.serial();
      await untilCoordinated(clients[0], `rebalance-${run}`);
      const groups = Array.from(
        { length: GROUPS },
        (_, i) =>
          new RebalancingGroup(`rebalance-${run}-${i}`, clients.slice(i * MEMBERS, (i + 1) * MEMBERS)),
      );
      const all = async (work: (group: RebalancingGroup) => Promise<void>) => {
        const started = performance.now();
        await Promise.all(groups.map(work));
        return performance.now() - started;
      };
      const formed = await all((group) => group.settle());
      const cpu = new CpuMeter(pid);
      const without = await all((group) => group.loseOne());
      const again = await all((group) => group.settle());
      const cpuMs = cpu.seconds() * 1000 / (2 * GROUPS);
      await all((group) => group.disband());
      return [cpuMs, formed, without, again];
    } finally {
      await Promise.all(clients.map((client) => client.close()));
    }
  },
};

class RebalancingGroup {
  private readonly members: Member[];

  constructor(groupId: string, clients: readonly Client[]) {
    this.members = clients.map((client) => new Member(client, groupId));
  }

  /** Every member joins or stays until all are in one generation. */
  async settle(members: readonly Member[] = this.members): Promise<void> {
    const synced = new Map<Member, number>();
    for (const member of members) {
      if (member.memberId !== "") synced.set(member, member.generationId);
    }
    // They agree when the leader of their generation has seen all of them and each has its assignment.
    const agreed = () =>
      members.every((member) => synced.get(member) === members[0].generationId) &&
      members.some((member) => member.membersSeen === members.length);
    await Promise.all(members.map(async (member) => {
      while (!agreed()) {
        if (!synced.has(member)) {
          if (await member.join()) synced.set(member, member.generationId);
        } else if (!await member.heartbeat()) {
          synced.delete(member);
        } else if (!agreed()) {
          await sleep(HEARTBEAT_MS);
        }
      }
    }));
  }

  async loseOne(): Promise<void> {
    const [leaver, ...others] = this.members;
    await leaver.leave();
    await this.settle(others);
  }

  async disband(): Promise<void> {
    await Promise.all(this.members.map((member) => member.leave()));
  }
}
