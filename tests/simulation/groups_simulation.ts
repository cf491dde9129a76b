/**
 * A few groups, many clients, one seed: clients join, work, change their minds, leave or vanish; the log refuses
 * appends or commits late; the coordinator crashes and is rebuilt from the bytes of its log. The same seed gives the
 * same run. What must hold at every moment is checked at every moment.
 */
import { assert } from "../../src/base/assert.ts";
import { Prng } from "../../src/base/prng.ts";
import { batchesIn } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import type { GroupsFact } from "../../src/coordinators/groups/facts.ts";
import { groupsMachine } from "../../src/coordinators/groups/machine.ts";
import { metadataFor } from "../../src/coordinators/groups/turn.ts";
import type { JoinReply } from "../../src/coordinators/groups/requests.ts";
import {
  type ClassicGroup,
  emptyGroupsState,
  type GroupsState,
} from "../../src/coordinators/groups/types.ts";
import { Replay } from "../../src/coordinators/shard.ts";
import { defaultConfig, type Harness, harness } from "../coordinators/harness.ts";
import { checkAgainstLog, OffsetTransactions } from "./offset_transactions.ts";
import { bytes, commitRequest, joinRequest, syncRequest } from "../coordinators/requests.ts";

const GROUPS = ["g", "h"];
const CLIENTS = 8;
const STEPS = 800;
const SESSION_MS = 4_000;
const REBALANCE_MS = 3_000;
/** Sessions and join phases that follow one another, and then some: nothing may be held for longer. */
const LONGEST_WAIT_MS = 6 * (SESSION_MS + REBALANCE_MS);

const text = (data: Uint8Array) => new TextDecoder().decode(data);

/** A client as it really is: one request at a time, and it believes what it was told last. */
interface Client {
  readonly name: string;
  readonly group: string;
  readonly instance: string | null;
  memberId: string;
  joined: JoinReply | null;
  /** It has its assignment and works. */
  isWorking: boolean;
  /** Since when it waits for an answer. */
  busySince: number | null;
  /** Counts its lives: an answer to an earlier one is for nobody. */
  life: number;
}

/** What a run has seen, to know that it was worth it. */
export interface Tally {
  generations: number;
  assignments: number;
  commits: number;
  crashes: number;
  failures: number;
  staged: number;
  committed: number;
  aborted: number;
  fenced: number;
}

export class Simulation {
  private readonly counts = { generations: 0, assignments: 0, commits: 0, crashes: 0, failures: 0 };
  private readonly random: Prng;
  private readonly transactions: OffsetTransactions;
  private h: Harness;
  private readonly clients: Client[] = [];
  /** The offset to commit next, for all groups: so every commit is larger than all before it. */
  private nextOffset = 1;
  private readonly acknowledged = new Map<string, number>();
  /** Who was told that it leads, by incarnation, group and generation. */
  private readonly leaders = new Map<string, string>();
  private incarnation = 0;
  private asked = 0;
  private answered = 0;
  /** The first check that failed in an answer. */
  private problem: Error | null = null;

  constructor(seed: number) {
    this.random = new Prng(seed);
    this.h = harness({
      groupMinSessionTimeoutMs: 100,
      groupMaxSize: 5,
      groupInitialRebalanceDelayMs: this.random.pick([0, 500]),
    });
    for (let i = 0; i < CLIENTS; i++) {
      this.clients.push({
        name: `c${i}`,
        group: this.random.pick(GROUPS),
        instance: this.random.chance(0.3) ? `i${i}` : null,
        memberId: "",
        joined: null,
        isWorking: false,
        busySince: null,
        life: 0,
      });
    }
    this.transactions = new OffsetTransactions(this.random, GROUPS);
    this.h.logs[0].isReplicated = this.random.chance(0.3);
  }

  get tally(): Tally {
    return { ...this.counts, ...this.transactions.tally };
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      this.step();
      await flush();
      this.check();
    }
    await this.calmDown();
  }

  private step(): void {
    const [log] = this.h.logs;
    if (this.random.chance(0.5)) log.commit();
    const dice = this.random.int(100);
    if (dice < 25) this.pass(this.random.int(400));
    else if (dice < 26) this.pass(this.random.int(SESSION_MS));
    else if (dice < 27) this.crash();
    else if (dice < 28) {
      this.counts.failures++;
      log.failWith = this.random.pick([
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
      ]);
    } else if (dice < 40) log.failWith = ErrorCode.NONE;
    else if (dice < 42) this.remove(this.random.pick(this.clients));
    else if (dice < 60) this.transactions.step(this.h, (group) => this.memberOf(group));
    else this.act(this.random.pick(this.clients));
  }

  /** One of the clients of a group, which may be a member. */
  private memberOf(group: string): Client {
    const clients = this.clients.filter((client) => client.group === group);
    return this.random.pick(clients.length > 0 ? clients : this.clients);
  }

  /** Time passes for all; the log commits sooner or later. */
  private pass(ms: number): void {
    this.h.timers.advance(ms);
    for (const client of this.clients) {
      if (client.isWorking && client.busySince === null && this.random.chance(0.7)) this.heartbeat(client);
    }
  }

  private act(client: Client): void {
    if (this.random.chance(0.04)) return this.vanish(client);
    if (client.busySince !== null) return;
    if (client.joined === null) return this.join(client);
    if (!client.isWorking) return this.random.chance(0.9) ? this.sync(client) : this.join(client);
    const dice = this.random.int(10);
    if (dice < 4) this.commit(client);
    else if (dice < 8) this.heartbeat(client);
    else if (dice < 9) this.join(client);
    else this.leave(client);
  }

  /** The process is gone without a word; another takes its place later, knowing nothing. */
  private vanish(client: Client): void {
    client.life++;
    Object.assign(client, { memberId: "", joined: null, isWorking: false, busySince: null });
  }

  /** Sends a request; the answer counts only in this life. */
  private ask<Reply>(client: Client, reply: Promise<Reply>, then: (reply: Reply) => void): void {
    const { life } = client;
    const since = this.h.clock.monotonic();
    client.busySince = since;
    this.asked++;
    reply.then((value) => {
      this.answered++;
      const waitedMs = this.h.clock.monotonic() - since;
      assert(waitedMs <= LONGEST_WAIT_MS, `a request of ${client.name} was held for ${waitedMs} ms`);
      if (client.life !== life) return;
      client.busySince = null;
      then(value);
    }).catch((error) => this.problem ??= error);
  }

  private join(client: Client): void {
    const names = this.random.pick([["range"], ["range", "rr"], ["rr", "range"]]);
    const request = joinRequest(client.group, client.memberId, {
      groupInstanceId: client.instance,
      sessionTimeoutMs: this.random.between(SESSION_MS / 2, SESSION_MS),
      rebalanceTimeoutMs: this.random.between(REBALANCE_MS / 3, REBALANCE_MS),
      protocols: names.map((name) => ({ name, metadata: bytes(`${client.name}${this.random.int(2)}`) })),
      clientId: client.name,
      apiVersion: client.instance !== null ? this.random.pick([5, 9]) : this.random.pick([0, 3, 4, 9]),
    });
    client.isWorking = false;
    const { incarnation } = this;
    this.ask(client, this.h.service.join(request), (reply) => {
      if (reply.errorCode === ErrorCode.MEMBER_ID_REQUIRED) client.memberId = reply.memberId;
      else if (reply.errorCode !== ErrorCode.NONE) this.refused(client, reply.errorCode);
      else {
        client.memberId = reply.memberId;
        client.joined = reply;
        this.checkJoin(client, reply, incarnation);
      }
    });
  }

  private checkJoin(client: Client, reply: JoinReply, incarnation: number): void {
    this.counts.generations = Math.max(this.counts.generations, reply.generationId);
    if (reply.members.length === 0) return;
    assert(reply.leader === reply.memberId, `${client.name} got the members without being the leader`);
    const generation = `${incarnation} ${client.group} ${reply.generationId}`;
    const who = client.instance ?? reply.memberId;
    const other = this.leaders.get(generation);
    assert(other === undefined || other === who, `${who} and ${other} both lead generation ${generation}`);
    this.leaders.set(generation, who);
  }

  private sync(client: Client): void {
    const joined = client.joined!;
    const assignments = Object.fromEntries(
      joined.members.map(({ memberId }) => [memberId, `${joined.generationId}/${memberId}`]),
    );
    const request = { ...syncRequest(client.group, joined, assignments), groupInstanceId: client.instance };
    this.ask(client, this.h.service.sync(request), (reply) => {
      if (reply.errorCode !== ErrorCode.NONE) return this.refused(client, reply.errorCode);
      const assignment = text(reply.assignment);
      const [generation] = assignment.split("/");
      assert(
        assignment === "" || generation === `${joined.generationId}`,
        `${client.name} in generation ${joined.generationId} got the assignment ${assignment}`,
      );
      if (client.instance === null && assignment !== "") {
        assert(assignment.endsWith(`/${client.memberId}`), `${client.memberId} got ${assignment}`);
      }
      this.counts.assignments++;
      client.isWorking = true;
    });
  }

  private heartbeat(client: Client): void {
    const { generationId } = client.joined!;
    const request = {
      groupId: client.group,
      generationId,
      memberId: client.memberId,
      groupInstanceId: client.instance,
    };
    this.ask(client, this.h.service.heartbeat(request), ({ errorCode }) => {
      if (errorCode !== ErrorCode.NONE) this.refused(client, errorCode);
    });
  }

  private commit(client: Client): void {
    const offset = this.nextOffset++;
    const partition = `t:${this.random.int(3)}`;
    const request = commitRequest(client.group, { [partition]: offset }, client.joined, {
      memberId: client.memberId,
      groupInstanceId: client.instance,
    });
    this.ask(client, this.h.service.commitOffsets(request), (reply) => {
      const [{ partitions: [{ errorCode }] }] = reply.topics;
      if (errorCode !== ErrorCode.NONE) return this.refused(client, errorCode);
      this.counts.commits++;
      const key = `${client.group} ${partition}`;
      this.acknowledged.set(key, Math.max(offset, this.acknowledged.get(key) ?? -1));
    });
  }

  private leave(client: Client): void {
    const members = [{ memberId: client.memberId, groupInstanceId: client.instance }];
    this.ask(client, this.h.service.leave({ groupId: client.group, members }), () => this.vanish(client));
  }

  /** An administrator takes the member out, whatever it is doing. */
  private remove({ group, memberId, instance }: Client): void {
    this.asked++;
    this.h.service.leave({ groupId: group, members: [{ memberId, groupInstanceId: instance }] }).then(() =>
      this.answered++
    );
  }

  /** Does what a client does about an error: begin again, as the same member where that may still be one. */
  private refused(client: Client, errorCode: number): void {
    client.isWorking = false;
    client.joined = null;
    const isSameMember = errorCode === ErrorCode.REBALANCE_IN_PROGRESS ||
      errorCode === ErrorCode.COORDINATOR_NOT_AVAILABLE || errorCode === ErrorCode.NOT_COORDINATOR;
    if (!isSameMember) client.memberId = "";
  }

  /** The coordinator dies and another one reads its log. */
  private crash(): void {
    this.counts.crashes++;
    this.incarnation++;
    const { state } = this.h.shard("g"), { batches } = this.h.logs[0];
    compare(state, rebuilt(batches));
    checkAgainstLog(state, batches);
    this.h = this.h.restarted();
  }

  private check(): void {
    if (this.problem !== null) throw this.problem;
    const { state } = this.h.shard("g");
    this.transactions.check(state);
    assert(this.h.timers.count <= 1, `${this.h.timers.count} timers`);
    for (const [key, offset] of this.acknowledged) {
      const [group, where] = key.split(" ");
      const [topic, partition] = where.split(":");
      const committed = state.offsets.get(group)?.get(topic)?.get(Number(partition))?.offset ?? -1;
      assert(committed >= offset, `${key} went back from ${offset} to ${committed}`);
    }
    let waiting = 0;
    for (const group of state.groups.values()) waiting += checkGroup(group);
    if (this.h.logs[0].isCommitted) {
      const { heldRequests } = this.h.service;
      assert(heldRequests === waiting, `${heldRequests} requests are held, ${waiting} are waited for`);
    }
  }

  /** No more trouble and no more clients: everything is answered and every group ends up empty. */
  private async calmDown(): Promise<void> {
    const [log] = this.h.logs;
    log.failWith = ErrorCode.NONE;
    for (const client of this.clients) this.vanish(client);
    for (let ms = 0; ms <= 2 * LONGEST_WAIT_MS; ms += 1_000) {
      this.h.timers.advance(1_000);
      log.commit();
      await flush();
    }
    while (this.transactions.finish(this.h)) {
      log.commit();
      await flush();
    }
    // New members' joins are held for five minutes when nothing else ends them.
    this.h.timers.advance(6 * 60_000);
    log.commit();
    await flush();
    if (this.problem !== null) throw this.problem;
    assert(this.asked === this.answered, `${this.asked - this.answered} requests were never answered`);
    assert(this.h.service.heldRequests === 0, `${this.h.service.heldRequests} tickets are still kept`);
    assert(this.h.shard("g").state.transactions.size === 0, "transactions are open that have ended");
    for (const group of this.h.shard("g").state.groups.values()) {
      assert(group.state === "Empty", `group ${group.groupId} of vanished members is ${group.state}`);
      assert(group.pendingJoins.size === 0, `group ${group.groupId} still waits for a pending member`);
    }
    this.crash();
    checkLog(this.h.logs[0].batches);
    this.h.service.close();
  }
}

/** The service's promises resolve through a few microtasks. */
async function flush(): Promise<void> {
  for (let i = 0; i < 8; i++) await Promise.resolve();
}

/** What holds for a group between two inputs. Gives how many requests it holds. */
function checkGroup(group: ClassicGroup): number {
  let waiting = 0;
  const { groupId, state, members, leader } = group;
  assert(
    (members.size === 0) === (leader === null),
    `group ${groupId} of ${members.size} is led by ${leader}`,
  );
  if (leader !== null) assert(members.has(leader), `group ${groupId} is led by ${leader}, who is no member`);
  if (state === "Empty") assert(members.size === 0, `group ${groupId} is empty with ${members.size} members`);
  if (state === "Stable" || state === "CompletingRebalance") {
    assert(members.size > 0, `group ${groupId} is ${state} without members`);
    for (const member of members.values()) {
      assert(member.awaitingJoin === null, `${member.memberId} waits to join a group that is ${state}`);
    }
  }
  for (const member of members.values()) {
    if (state !== "CompletingRebalance") {
      assert(member.awaitingSync === null, `${member.memberId} waits to sync with a group that is ${state}`);
    }
    const isHeld = member.awaitingJoin !== null || member.awaitingSync !== null;
    if (isHeld) waiting++;
    assert(isHeld || member.sessionDeadline < Infinity, `${member.memberId} would live for ever`);
    if (member.groupInstanceId !== null) {
      assert(
        group.staticMembers.get(member.groupInstanceId) === member.memberId,
        `instance ${member.groupInstanceId} is not ${member.memberId}`,
      );
    }
  }
  for (const memberId of group.staticMembers.values()) {
    assert(members.has(memberId), `${memberId} is no member`);
  }
  for (const memberId of group.pendingSyncs) assert(members.has(memberId), `${memberId} is no member`);
  return waiting;
}

/** The state that the log alone gives. */
function rebuilt(batches: readonly Uint8Array[]): GroupsState {
  const state = emptyGroupsState(defaultConfig);
  const replay = new Replay(groupsMachine, state);
  for (const bytes of batches) replay.take(bytes);
  return state;
}

function* factsIn(batches: readonly Uint8Array[]): Generator<GroupsFact> {
  for (const bytes of batches) {
    for (const batch of batchesIn(bytes)) {
      if (batch.isControl) continue;
      const cursor = batch.cursor();
      while (cursor.next()) yield groupsMachine.decode(cursor)!;
    }
  }
}

/** What was rebuilt from the log is what was in memory, as far as it is in the log. */
function compare(live: GroupsState, rebuilt: GroupsState): void {
  same(live.offsets, rebuilt.offsets, "offsets");
  same(live.pending, rebuilt.pending, "pending offsets");
  same(live.transactions, rebuilt.transactions, "open transactions");
  same([...live.groups.keys()].sort(), [...rebuilt.groups.keys()].sort(), "groups");
  for (const group of live.groups.values()) {
    const other = rebuilt.groups.get(group.groupId)!;
    // A rebalance is only in memory: the log still has the generation before it.
    if (group.state === "Stable" || group.state === "Empty") {
      same(durable(group), durable(other), group.groupId);
    } else {
      assert(
        other.generationId < group.generationId || group.state === "PreparingRebalance",
        `generation ${group.generationId} is in the log before it has an assignment`,
      );
    }
  }
}

function durable(group: ClassicGroup) {
  return {
    state: group.state,
    stateTimestamp: group.stateTimestamp,
    protocolType: group.protocolType,
    generationId: group.generationId,
    protocolName: group.protocolName,
    leader: group.leader,
    staticMembers: [...group.staticMembers].sort(),
    subscribedTopics: group.subscribedTopics === null ? null : [...group.subscribedTopics],
    members: [...group.members.values()].map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      sessionTimeoutMs: member.sessionTimeoutMs,
      rebalanceTimeoutMs: member.rebalanceTimeoutMs,
      metadata: text(metadataFor(member, group.protocolName)),
      assignment: text(member.assignment),
    })),
  };
}

function same(live: unknown, rebuilt: unknown, what: string): void {
  const print = (value: unknown) =>
    JSON.stringify(value, (_, part) => part instanceof Map || part instanceof Set ? [...part] : part);
  assert(print(live) === print(rebuilt), `${what} live ${print(live)}, rebuilt ${print(rebuilt)}`);
}

/** In the log a group's generation never goes back. */
function checkLog(batches: readonly Uint8Array[]): void {
  const last = new Map<string, number>();
  for (const fact of factsIn(batches)) {
    if (fact.type !== "groupMetadata" || fact.value === null) continue;
    const { generation } = fact.value;
    const before = last.get(fact.key.group) ?? 0;
    assert(generation >= before, `${fact.key.group} went from generation ${before} to ${generation}`);
    last.set(fact.key.group, generation);
  }
}
