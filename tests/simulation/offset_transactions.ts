/**
 * Producers that commit offsets in transactions, beside the members of the simulated groups: they stage, end, are fenced
 * and come back as zombies. A model that looks at the whole log at once says what must be committed and what pending.
 */
import { assert } from "../../src/base/assert.ts";
import type { Prng } from "../../src/base/prng.ts";
import { batchesIn } from "../../src/codec/batch.ts";
import { readEndMarker } from "../../src/codec/end_marker.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { decodeFact } from "../../src/coordinators/groups/facts.ts";
import type { JoinReply } from "../../src/coordinators/groups/requests.ts";
import type { GroupsState } from "../../src/coordinators/groups/types.ts";
import type { Harness } from "../coordinators/harness.ts";
import { commitRequest, transactional } from "../coordinators/requests.ts";

const PRODUCERS = 4;
/** Its two partitions are always staged together: what is committed of one is committed of the other. */
const TOGETHER = "u";
/** Committed in and outside of transactions, and deleted at times. */
const MIXED = "w";
const MIXED_PARTITIONS = 3;

interface Ending {
  readonly isCommit: boolean;
  /** Later than the producer's own when somebody takes its place, or when each end raises it. */
  readonly epoch: number;
}

interface Producer {
  readonly producerId: number;
  readonly group: string;
  producerEpoch: number;
  /** It has asked for something to be staged. */
  isOpen: boolean;
  /** What was decided, until its marker is written. */
  ending: Ending | null;
  isBusy: boolean;
}

/** A member of the group, for commits that name one. */
export interface Committer {
  readonly memberId: string;
  readonly instance: string | null;
  readonly joined: JoinReply | null;
}

export class OffsetTransactions {
  readonly tally = { staged: 0, committed: 0, aborted: 0, fenced: 0 };
  private readonly producers: Producer[];
  private nextOffset = 1;
  /** The first check that failed in an answer. */
  problem: Error | null = null;

  constructor(private readonly random: Prng, private readonly groups: readonly string[]) {
    this.producers = Array.from({ length: PRODUCERS }, (_, i) => ({
      producerId: 100 + i,
      group: random.pick(groups),
      producerEpoch: 0,
      isOpen: false,
      ending: null,
      isBusy: false,
    }));
  }

  /** One of the producers does something, or somebody without one commits or deletes. */
  step(h: Harness, memberOf: (group: string) => Committer): void {
    const producer = this.random.pick(this.producers);
    const dice = this.random.int(20);
    if (dice < 4) return this.commitPlainly(h);
    if (dice < 5) return h.service.topicsDeleted([MIXED]);
    if (producer.isBusy) return;
    if (producer.ending !== null) return this.end(h, producer);
    if (dice < 14 || !producer.isOpen) return this.stage(h, producer, memberOf(producer.group));
    const { producerEpoch } = producer;
    const isFenced = dice < 15;
    producer.ending = {
      isCommit: !isFenced && this.random.chance(0.6),
      epoch: producerEpoch + (isFenced || this.random.chance(0.5) ? 1 : 0),
    };
    this.end(h, producer);
    if (isFenced) this.beZombie(h, producer, producerEpoch);
  }

  private stage(h: Harness, producer: Producer, member: Committer): void {
    producer.isOpen = producer.isBusy = true;
    const { producerId, producerEpoch, group } = producer;
    // Old producers name no member, and may commit whoever is in the group.
    const { joined, memberId, instance } = this.random.chance(0.3) ? member : nobody;
    const offset = this.nextOffset++;
    const offsets = {
      [`${TOGETHER}:0`]: offset,
      [`${TOGETHER}:1`]: offset,
      [`${MIXED}:${this.random.int(MIXED_PARTITIONS)}`]: offset,
    };
    const request = commitRequest(group, offsets, joined, { memberId, groupInstanceId: instance });
    h.service.commitInTransaction(transactional(request, producerId, producerEpoch)).then(({ topics }) => {
      producer.isBusy = false;
      if (topics[0].partitions[0].errorCode === ErrorCode.NONE) this.tally.staged++;
    });
  }

  private end(h: Harness, producer: Producer): void {
    producer.isBusy = true;
    const { producerId } = producer;
    const { isCommit, epoch } = producer.ending!;
    const marker = { producerId, producerEpoch: epoch, coordinatorEpoch: 0, isCommit, transactionVersion: 0 };
    h.service.endTransaction(0, marker).then((errorCode) => {
      producer.isBusy = false;
      // It is decided: the coordinator of transactions tries until it is written.
      if (errorCode !== ErrorCode.NONE) return;
      this.tally[isCommit ? "committed" : "aborted"]++;
      Object.assign(producer, { producerEpoch: epoch, ending: null, isOpen: false });
    });
  }

  /** A producer that does not know that another has its place goes on, after the other's marker. */
  private beZombie(h: Harness, { producerId, group }: Producer, producerEpoch: number): void {
    const request = commitRequest(group, { [`${TOGETHER}:0`]: this.nextOffset++ });
    // The marker may have failed, so that nobody knows yet that it is one.
    const { epochs } = h.logs[0];
    const isKnown = () => (epochs.get(producerId) ?? -1) > producerEpoch;
    if (!isKnown()) return;
    h.service.commitInTransaction(transactional(request, producerId, producerEpoch)).then(({ topics }) => {
      this.tally.fenced++;
      if (topics[0].partitions[0].errorCode !== ErrorCode.NONE) return;
      this.problem ??= new Error(`producer ${producerId} committed in epoch ${producerEpoch}, which is over`);
    });
  }

  private commitPlainly(h: Harness): void {
    const where = `${MIXED}:${this.random.int(MIXED_PARTITIONS)}`;
    h.service.commitOffsets(commitRequest(this.random.pick(this.groups), { [where]: this.nextOffset++ }));
  }

  /** What holds at every moment. */
  check(state: GroupsState): void {
    if (this.problem !== null) throw this.problem;
    for (const [group, topics] of state.offsets) {
      const offsets = topics.get(TOGETHER);
      const [one, two] = [offsets?.get(0)?.offset, offsets?.get(1)?.offset];
      assert(one === two, `${group} has ${one} of one partition and ${two} of the other in one transaction`);
    }
  }

  /** Ends what is open, when nothing fails any more; gives whether there was something. */
  finish(h: Harness): boolean {
    const open = this.producers.filter((each) => each.isOpen);
    for (const producer of open) {
      producer.ending ??= { isCommit: this.random.chance(0.5), epoch: producer.producerEpoch };
      if (!producer.isBusy) this.end(h, producer);
    }
    return open.length > 0;
  }
}

const nobody: Committer = { memberId: "", instance: null, joined: null };

interface Commit {
  readonly at: number;
  readonly offset: number;
  /** Null: outside of any transaction. */
  readonly producerId: number | null;
  /** Null: the transaction has not ended. */
  isCommitted: boolean | null;
}

/** Holds the state against what the whole log says, looked at from its end. */
export function checkAgainstLog(state: GroupsState, batches: readonly Uint8Array[]): void {
  const { commits, deletedAt } = readLog(batches);
  const keys = new Set([...commits.keys(), ...offsetsOf(state).keys()]);
  for (const key of keys) {
    const alive = (commits.get(key) ?? []).filter(({ at }) => at > (deletedAt.get(key) ?? -1));
    const last = alive.findLast(({ isCommitted }) => isCommitted)?.offset;
    const live = offsetsOf(state).get(key);
    assert(live === last, `${key} is ${live}, the log says ${last}`);
    const isPending = alive.some(({ isCommitted }) => isCommitted === null);
    assert(pendingIn(state, key) === isPending, `${key} is pending in the log only, or in memory only`);
  }
}

function readLog(batches: readonly Uint8Array[]) {
  const commits = new Map<string, Commit[]>(), deletedAt = new Map<string, number>();
  for (const batch of batches.flatMap((bytes) => [...batchesIn(bytes)])) {
    if (batch.isControl) {
      const { isCommit } = readEndMarker(batch)!;
      for (const commit of [...commits.values()].flat()) {
        if (commit.producerId === batch.producerId) commit.isCommitted ??= isCommit;
      }
      continue;
    }
    const cursor = batch.cursor();
    while (cursor.next()) {
      const fact = decodeFact(cursor);
      if (fact?.type !== "offsetCommit") continue;
      const key = `${fact.key.group} ${fact.key.topic}:${fact.key.partition}`;
      const at = batch.baseOffset + cursor.offsetDelta;
      if (fact.value === null) deletedAt.set(key, at);
      else {
        const [producerId, isCommitted] = batch.isTransactional ? [batch.producerId, null] : [null, true];
        commits.set(key, [
          ...commits.get(key) ?? [],
          { at, offset: fact.value.offset, producerId, isCommitted },
        ]);
      }
    }
  }
  return { commits, deletedAt };
}

function offsetsOf(state: GroupsState): Map<string, number> {
  const all = new Map<string, number>();
  for (const [group, topics] of state.offsets) {
    for (const [topic, partitions] of topics) {
      for (const [partition, { offset }] of partitions) all.set(`${group} ${topic}:${partition}`, offset);
    }
  }
  return all;
}

function pendingIn(state: GroupsState, key: string): boolean {
  const [group, where] = key.split(" ");
  const [topic, partition] = where.split(":");
  const byProducer = [...state.pending.get(group)?.values() ?? []];
  return byProducer.some((offsets) => offsets.get(topic)?.has(Number(partition)));
}
