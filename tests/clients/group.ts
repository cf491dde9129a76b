/**
 * Members of one consumer group as running adapters, and the ledger of what they were given: which records came,
 * and which were committed. A record that comes again after its commit fails the run at once.
 */

import {
  AdapterFailure,
  type Adapters,
  type Client,
  type Flags,
  type Line,
  type Running,
} from "./adapter.ts";
import { Changes } from "./waiting.ts";

const leaveTimeoutMs = 20_000;

/** One member: what it owns now, and what it was given but has not committed. */
export class Member {
  partitions: number[] = [];
  uncommitted: { partition: number; offset: number }[] = [];
  expectedToEnd = false;

  constructor(readonly name: string, readonly running: Running) {}
}

export class Group {
  readonly changes = new Changes();
  /** How long each wait may take. */
  waitTimeoutMs = 45_000;
  readonly seen = new Set<string>();
  #members: Member[] = [];
  #committed = new Map<number, Set<number>>();
  #violation: string | null = null;

  constructor(
    private adapters: Adapters,
    private client: Client,
    private flags: { topic: string; group: string },
    /** kcat commits on a timer: its records count as committed when it left in order. */
    private commitsPerPoll: boolean,
  ) {}

  /** Starts a member. */
  join(name: string, more: Flags = {}): Member {
    const onLine = (line: Line) => this.take(member, line);
    const running = this.adapters.spawn(this.client, "member", { ...this.flags, ...more }, onLine);
    const member = new Member(name, running);
    this.#members.push(member);
    running.finished.then(() => this.changes.notify());
    return member;
  }

  /** Waits until `condition` holds; throws when a member ended or a committed record came again. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const check = () => {
      if (this.#violation) throw new Error(this.#violation);
      for (const member of this.#members) {
        if (member.running.exitCode !== null && !member.expectedToEnd) {
          throw member.running.failure(`member ${member.name} ended while waiting for ${what}`);
        }
      }
      return condition();
    };
    try {
      await this.changes.until(check, this.waitTimeoutMs, () => `${what}; ${this.describe()}`);
    } catch (error) {
      if (error instanceof AdapterFailure) throw error;
      const transcripts = this.#members.map((member) =>
        member.running.failure(`member ${member.name}:`).message
      );
      throw new Error(`${(error as Error).message}\n${transcripts.join("\n")}`);
    }
  }

  /** Waits until the members own these many partitions each, together all of them and none twice. */
  untilShared(total: number, shares: Map<Member, number>): Promise<void> {
    const wanted = [...shares].map(([member, share]) => `${member.name} owns ${share}`).join(" and ");
    return this.until(wanted, () => {
      const owned = [...shares.keys()].flatMap((member) => member.partitions);
      return owned.length === total && new Set(owned).size === total &&
        [...shares].every(([member, share]) => member.partitions.length === share);
    });
  }

  /** Waits until every value was given to some member, and committed where the client commits at each poll. */
  untilSeen(values: string[]): Promise<void> {
    return this.until(
      `${values.length} records to be seen and committed`,
      () =>
        values.every((value) => this.seen.has(value)) &&
        (!this.commitsPerPoll || this.#members.every((m) => m.expectedToEnd || m.uncommitted.length === 0)),
    );
  }

  /** Ends a member as a crash would. */
  async kill(member: Member): Promise<void> {
    member.expectedToEnd = true;
    member.running.kill();
    await member.running.finished;
    member.running.closeStdin();
    member.partitions = [];
  }

  /** Lets a member leave in order, which must end it with exit code 0. */
  async leave(member: Member): Promise<void> {
    member.expectedToEnd = true;
    member.running.closeStdin();
    const gone = () => member.running.exitCode !== null;
    await this.changes.until(gone, leaveTimeoutMs, () => `member ${member.name} to leave`)
      .catch((error) => {
        throw member.running.failure(error.message);
      });
    if (member.running.exitCode !== 0) {
      throw member.running.failure(`member ${member.name} did not leave cleanly`);
    }
    if (!this.commitsPerPoll) this.commit(member);
    member.partitions = [];
    if (this.#violation) throw new Error(this.#violation);
  }

  /** The offsets that must be committed now: one past the last committed record of each partition. */
  committedOffsets(): Map<number, number> {
    const entries = [...this.#committed].map(([p, offsets]) => [p, Math.max(...offsets) + 1] as const);
    return new Map(entries.sort(([a], [b]) => a - b));
  }

  private take(member: Member, line: Line): void {
    if (line.event === "assigned") {
      member.partitions = line.partitions;
      // what it could not commit before it lost the partition is for the next owner
      if (this.commitsPerPoll) {
        member.uncommitted = member.uncommitted.filter(({ partition }) =>
          line.partitions.includes(partition)
        );
      }
    } else if (line.event === "record") {
      if (this.#committed.get(line.partition)?.has(line.offset)) {
        this.#violation ??=
          `member ${member.name} was given ${line.partition}@${line.offset} (${line.value}) ` +
          "again although it was committed";
      }
      this.seen.add(line.value);
      member.uncommitted.push({ partition: line.partition, offset: line.offset });
    } else if (line.event === "committed") {
      this.commit(member);
    }
    this.changes.notify();
  }

  private commit(member: Member): void {
    for (const { partition, offset } of member.uncommitted) {
      if (!this.#committed.has(partition)) this.#committed.set(partition, new Set());
      this.#committed.get(partition)!.add(offset);
    }
    member.uncommitted = [];
  }

  private describe(): string {
    const members = this.#members.filter((member) => !member.expectedToEnd)
      .map((member) =>
        `${member.name} owns [${member.partitions}], ${member.uncommitted.length} uncommitted`
      );
    return `${this.seen.size} values seen; ${members.join("; ")}`;
  }
}
