/**
 * Producers of a partition that wait to hear from their coordinator whether it is in their transaction (KIP-890). What is
 * verified is appended only if the guard of that time still stands: a marker takes it away, for then the answer was about a
 * transaction that is over.
 */
import type { Verification } from "../storage/producers/producer_state.ts";

/** So many producers' guards are kept; the oldest that nobody waits at makes way, and its producer asks anew. */
const MAX_GUARDS = 5000;

/** What the coordinator was asked of one producer. */
export interface Asked {
  readonly producerEpoch: number;
  /** Of its answer. */
  readonly errorCode: Promise<number>;
}

/** Of one producer at a partition, until its transaction has its first batch here. */
export class VerificationGuard implements Verification {
  /** As long as the coordinator has not answered: who comes meanwhile waits for the same answer. */
  asked: Asked | null = null;
  /** A marker has come while the coordinator was asked: an answer of before it is about a transaction that is over. */
  isOutdated = false;

  constructor(
    readonly producerId: number,
    private producerEpoch: number,
    public lowestSequence: number,
    readonly beginsAtZero: boolean,
  ) {}

  /** Another batch of the producer comes to be verified. */
  extend(producerEpoch: number, sequence: number): void {
    if (producerEpoch < this.producerEpoch) return;
    const isNew = producerEpoch > this.producerEpoch;
    this.lowestSequence = isNew ? sequence : Math.min(this.lowestSequence, sequence);
    this.producerEpoch = producerEpoch;
  }
}

export class Verifications {
  private readonly guards = new Map<number, VerificationGuard>();

  get isEmpty(): boolean {
    return this.guards.size === 0;
  }

  /** The guard that a producer's batch goes by: the one of before, as long as nothing has taken that away. */
  begin(
    producerId: number,
    producerEpoch: number,
    sequence: number,
    beginsAtZero: boolean,
  ): VerificationGuard {
    const before = this.guards.get(producerId);
    if (before !== undefined && !(before.isOutdated && before.asked === null)) {
      before.extend(producerEpoch, sequence);
      return before;
    }
    const guard = new VerificationGuard(producerId, producerEpoch, sequence, beginsAtZero);
    if (this.guards.size >= MAX_GUARDS) this.forgetOldest();
    this.guards.set(producerId, guard);
    return guard;
  }

  /** Those that somebody waits at are left: as many as there are requests under way, which are bounded elsewhere. */
  private forgetOldest(): void {
    for (const { producerId, asked } of this.guards.values()) {
      if (asked === null) return this.end(producerId);
    }
  }

  /** Whether it is a guard that still stands. */
  holds(guard: Verification): boolean {
    return guard instanceof VerificationGuard && !guard.isOutdated &&
      this.guards.get(guard.producerId) === guard;
  }

  /** The producer's transaction has begun here, or a marker has come. */
  end(producerId: number): void {
    const guard = this.guards.get(producerId);
    // Who waits there may have to ask once more, and is then told of the next transaction.
    if (guard !== undefined && guard.asked !== null) guard.isOutdated = true;
    else this.guards.delete(producerId);
  }
}
