/**
 * Committed offsets over months, under a seed: clients commit with and without a time, join, leave and are silent, the log
 * refuses appends, the coordinator crashes. A model of KIP-211 of a few lines says what must still be there, and what no
 * longer. Every crash replays the log: what expired must not come back.
 */
import { assert } from "@std/assert/assert";
import { Prng } from "../../src/base/prng.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import type { JoinReply } from "../../src/coordinators/groups/requests.ts";
import { type Harness, harness } from "../coordinators/harness.ts";
import {
  bytes,
  commitRequest,
  committed,
  heartbeatRequest,
  joinAsNew,
  syncRequest,
} from "../coordinators/requests.ts";
import { SUBSCRIBED_TO_T } from "../coordinators/scenarios.ts";

const SEEDS = 60;
const STEPS = 250;
const MINUTE = 60_000;
const RETENTION_MS = 60 * MINUTE;
const CHECK_MS = 10 * MINUTE;
const SESSION_MS = 30 * MINUTE;
/** Members are heard more often than that. */
const LONGEST_STEP_MS = 15 * MINUTE;
/** A check that could not write comes again a moment later. */
const RETRY_MS = 1_000;

interface ModelOffset {
  readonly committedAt: number;
  readonly expiresAt: number | null;
}

/** A group as its clients see it. The topic `t` is read by members, `u` is not. */
interface ModelGroup {
  member: JoinReply | null;
  /** Since when members are gone; null while there are some, and for groups that never had any. */
  emptySince: number | null;
  /** When its member last came or left. */
  changedAt: number;
  readonly offsets: Map<string, ModelOffset>;
}

class Course {
  readonly tally = { expired: 0, kept: 0, gone: 0, crashes: 0, refused: 0 };
  private readonly random: Prng;
  private h: Harness;
  private readonly groups = new Map<string, ModelGroup>();
  /** The last time at which a check may have been missed. */
  private disturbedAt = 0;

  constructor(seed: number) {
    this.random = new Prng(seed);
    this.h = harness({ offsetsRetentionMs: RETENTION_MS, offsetsRetentionCheckIntervalMs: CHECK_MS });
    this.disturbedAt = this.now;
    for (const id of ["a", "b", "c", "d"]) {
      this.groups.set(id, { member: null, emptySince: null, changedAt: 0, offsets: new Map() });
    }
  }

  private get now(): number {
    return this.h.clock.now();
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      await this.step();
      await this.check();
    }
    for (const [id, group] of this.groups) if (group.member !== null) await this.leave(id, group);
    this.crash();
    for (let ms = 0; ms < RETENTION_MS + 24 * 60 * MINUTE; ms += CHECK_MS) this.h.timers.advance(CHECK_MS);
    await this.check();
    const { state } = this.h.shard("a");
    assert(
      state.groups.size === 0 && state.offsets.size === 0,
      "something is left of groups without clients",
    );
    this.h.service.close();
  }

  private async step(): Promise<void> {
    const [id, group] = this.random.pick([...this.groups]);
    const dice = this.random.int(100);
    if (dice < 40) await this.commit(id, group);
    else if (dice < 80) await this.pass(this.random.int(LONGEST_STEP_MS));
    else if (dice < 90) await (group.member === null ? this.join(id, group) : this.leave(id, group));
    else if (dice < 95) this.crash();
    else await this.refuseFor(this.random.int(LONGEST_STEP_MS));
  }

  private async commit(id: string, group: ModelGroup): Promise<void> {
    const where = `${this.random.pick(["t", "u"])}:${this.random.int(2)}`;
    const retentionTimeMs = this.random.chance(0.3) ? this.random.int(4 * RETENTION_MS) : -1;
    const request = commitRequest(id, { [where]: 1 }, group.member, { retentionTimeMs });
    const { topics } = await this.h.service.commitOffsets(request);
    const { errorCode } = topics[0].partitions[0];
    assert(errorCode === ErrorCode.NONE, `commit to ${id}: error ${errorCode}`);
    group.offsets.set(where, {
      committedAt: this.now,
      expiresAt: retentionTimeMs === -1 ? null : this.now + retentionTimeMs,
    });
  }

  private async join(id: string, group: ModelGroup): Promise<void> {
    const joining = joinAsNew(this.h.service, id, {
      sessionTimeoutMs: SESSION_MS,
      protocols: [{ name: "range", metadata: bytes(SUBSCRIBED_TO_T) }],
    });
    await flush();
    this.h.timers.advance(0);
    const joined = await joining;
    await this.h.service.sync(syncRequest(id, joined, { [joined.memberId]: "A" }));
    group.member = joined;
    group.emptySince = null;
    group.changedAt = this.now;
  }

  private async leave(id: string, group: ModelGroup): Promise<void> {
    const { memberId } = group.member!;
    await this.h.service.leave({ groupId: id, members: [{ memberId, groupInstanceId: null }] });
    group.member = null;
    group.emptySince = group.changedAt = this.now;
  }

  private async pass(ms: number): Promise<void> {
    this.h.timers.advance(ms);
    await flush();
    for (const [id, { member }] of this.groups) {
      if (member === null) continue;
      const { errorCode } = await this.h.service.heartbeat(heartbeatRequest(id, member));
      assert(errorCode === ErrorCode.NONE, `heartbeat of ${id}: error ${errorCode}`);
    }
  }

  /** The log takes nothing for a while, and its deadlines are tried again. */
  private async refuseFor(ms: number): Promise<void> {
    this.tally.refused++;
    this.h.logs[0].failWith = ErrorCode.NOT_ENOUGH_REPLICAS;
    await this.pass(ms);
    this.h.logs[0].failWith = ErrorCode.NONE;
    this.disturbedAt = this.now;
    await this.pass(RETRY_MS);
  }

  private crash(): void {
    this.tally.crashes++;
    this.h = this.h.restarted();
    this.disturbedAt = this.now;
  }

  /** When an offset is over; null for one that is kept by those who read it. */
  private dueAt({ member, emptySince }: ModelGroup, where: string, offset: ModelOffset): number | null {
    if (member !== null && where.startsWith("t")) return null;
    return offset.expiresAt ?? (emptySince ?? offset.committedAt) + RETENTION_MS;
  }

  private async check(): Promise<void> {
    await flush();
    for (const [id, group] of this.groups) {
      const there = await committed(this.h.service, id);
      for (const [where, offset] of group.offsets) {
        const dueAt = this.dueAt(group, where, offset);
        if (where in there) {
          this.tally.kept++;
          // Due before it was committed, or by who came or left: then the next check sees it.
          const seenFrom = Math.max(offset.committedAt, group.changedAt, this.disturbedAt);
          const checkedBy = Math.max(dueAt ?? Infinity, seenFrom) + CHECK_MS + RETRY_MS;
          assert(this.now < checkedBy, `${id} ${where} was due at ${dueAt} and is there at ${this.now}`);
        } else {
          this.tally.expired++;
          assert(
            dueAt !== null && dueAt <= this.now,
            `${id} ${where} is gone at ${this.now}, due at ${dueAt}`,
          );
          group.offsets.delete(where);
        }
      }
      assert(Object.keys(there).length === group.offsets.size, `${id} has offsets that it had lost`);
      if (!this.h.shard(id).state.groups.has(id)) {
        assert(group.member === null && group.offsets.size === 0, `${id} is gone with what it had`);
        if (group.emptySince !== null) this.tally.gone++;
        // Who comes next finds no group, and has nothing to do with those who were there.
        group.emptySince = null;
      }
    }
  }
}

/** The service's promises resolve through a few microtasks. */
async function flush(): Promise<void> {
  for (let i = 0; i < 8; i++) await Promise.resolve();
}

Deno.test(`offsets are kept as long as they have to be and no longer, under ${SEEDS} seeds`, async () => {
  const sum = { expired: 0, kept: 0, gone: 0, crashes: 0, refused: 0 };
  for (let seed = 1; seed <= SEEDS; seed++) {
    const course = new Course(seed);
    await course.run().catch((error) => {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
    });
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += course.tally[key];
  }
  // A course in which nothing happens proves nothing.
  assert(sum.expired > 10 * SEEDS && sum.kept > 100 * SEEDS, `${sum.expired} expired, ${sum.kept} were kept`);
  assert(sum.gone > SEEDS && sum.crashes > 5 * SEEDS && sum.refused > 5 * SEEDS, JSON.stringify(sum));
});
