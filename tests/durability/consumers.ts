/**
 * Consumers that remember everything they have seen: what was once readable must be there for ever, at the same offset.
 * Each also commits its position for a group, and holds the broker to the commits that it acknowledged.
 */
import { assert } from "../../src/base/assert.ts";
import type { Prng } from "../../src/base/prng.ts";
import type { Client } from "../../src/client/client.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { labelOf } from "./producers.ts";
import { accepted, commit, committed, fetchFrom, join, type Membership, stillIn } from "./requests.ts";
import type { Progress, Target } from "./target.ts";

/** What a record says, by offset. */
export type SeenLog = string[];

export interface ConsumerOptions {
  readonly groupId: string;
  readonly topic: string;
  readonly partition: number;
  readonly random: Prng;
  readonly target: Target;
  readonly progress: Progress;
  /** Whether it is a member of its group, or commits from outside. */
  readonly isMember: boolean;
}

export class Consumer {
  readonly seen: SeenLog = [];
  private highWatermark = 0;
  /** The last commit that was acknowledged, and the last that was sent; -1 for none. */
  private acknowledgedCommit = -1;
  private sentCommit = -1;
  private member: Membership = { memberId: "", generationId: -1 };

  constructor(private readonly o: ConsumerOptions) {}

  get name(): string {
    return `consumer of ${this.o.topic}-${this.o.partition}`;
  }

  /** Reads until the target is to stop. */
  run(): Promise<void> {
    return this.o.target.keepConnected(this.name, async (client) => {
      await this.checkCommit(client);
      for (let i = 0; i < 10; i++) await this.readAgain(client);
      if (this.o.isMember) await this.beMember(client);
      while (!this.o.target.isStopping) {
        await this.read(client);
        if (this.o.random.chance(0.3)) await this.commitPosition(client);
      }
      await this.checkCommit(client);
    });
  }

  private async read(client: Client): Promise<void> {
    const from = this.seen.length;
    const { topic, partition, random } = this.o;
    // Small ones as well, which end inside a segment and have to go on there.
    const maxBytes = random.pick([1, 4_000, 40_000, 1_000_000]);
    const fetched = await fetchFrom(client, topic, partition, from, { maxWaitMs: 200, maxBytes });
    this.must(fetched.errorCode === ErrorCode.NONE, `Fetch from ${from}: ${errorName(fetched.errorCode)}`);
    this.must(
      fetched.highWatermark >= this.highWatermark,
      `the high watermark went back from ${this.highWatermark} to ${fetched.highWatermark}`,
    );
    this.highWatermark = fetched.highWatermark;
    for (const batch of fetched.batches) {
      for (const record of batch.records()) {
        if (record.offset < from) continue; // a batch may begin before the offset asked for
        this.must(record.offset === this.seen.length, `${record.offset} came after ${this.seen.length - 1}`);
        this.seen.push(labelOf(record.value!));
      }
    }
    this.must(this.seen.length <= this.highWatermark, `read ${this.seen.length}, above the high watermark`);
  }

  /** Something that was read before, from anywhere in the log: it has to be the same. */
  private async readAgain(client: Client): Promise<void> {
    if (this.seen.length === 0) return;
    const from = this.o.random.int(this.seen.length);
    const { errorCode, batches } = await fetchFrom(client, this.o.topic, this.o.partition, from);
    this.must(errorCode === ErrorCode.NONE, `Fetch of ${from} again: ${errorName(errorCode)}`);
    // Batches are whole, so the first one may begin before, but it has to hold what was asked for.
    const isThere = batches.length > 0 && batches[0].baseOffset <= from && batches[0].nextOffset > from;
    this.must(
      isThere,
      `a fetch from ${from} does not begin with it any more; "${this.seen[from]}" was there`,
    );
    for (const batch of batches) {
      for (const record of batch.records()) {
        const [now, before] = [labelOf(record.value!), this.seen[record.offset]];
        this.must(
          before === undefined || now === before,
          `at ${record.offset} is "${now}", where "${before}" was`,
        );
      }
    }
  }

  private async commitPosition(client: Client): Promise<void> {
    const position = this.seen.length;
    this.sentCommit = position;
    const { groupId, topic, partition } = this.o;
    const offsets = new Map([[partition, position]]);
    await this.taken("OffsetCommit", () => commit(client, groupId, topic, offsets, this.member));
    this.acknowledgedCommit = position;
    this.o.progress.step();
  }

  private async checkCommit(client: Client): Promise<void> {
    const { groupId, topic, partition } = this.o;
    if (this.sentCommit < 0) return;
    let offset = -1;
    await this.taken("OffsetFetch", async () => {
      try {
        offset = (await committed(client, groupId, topic, [partition])).get(partition)!;
        return ErrorCode.NONE;
      } catch (error) {
        const { errorCode } = error as { errorCode?: number };
        if (errorCode === undefined) throw error;
        return errorCode;
      }
    });
    this.must(
      offset >= this.acknowledgedCommit && offset <= this.sentCommit,
      `committed is ${offset}, acknowledged was ${this.acknowledgedCommit}, the last that was sent ${this.sentCommit}`,
    );
  }

  /** Joins, or finds out that it is still in. */
  private async beMember(client: Client): Promise<void> {
    const { groupId } = this.o;
    if (this.member.memberId !== "") {
      return await this.taken("Heartbeat after a restart", () => stillIn(client, groupId, this.member));
    }
    this.member = await join(client, groupId, 60_000);
  }

  private taken(what: string, send: () => Promise<number>): Promise<void> {
    return accepted(`${this.name}: ${what} of group ${this.o.groupId}`, send);
  }

  private must(holds: boolean, otherwise: string): void {
    assert(holds, `${this.name}: ${otherwise}`);
  }
}
