/**
 * A group service without a broker around it: a log in memory, a clock and timers that the test turns, member ids
 * that count up. The log keeps real record batches, so what is rebuilt from it went through the bytes.
 */
import { ManualClock } from "../../src/base/clock.ts";
import { BatchView, buildBatch } from "../../src/codec/batch.ts";
import { buildEndMarker } from "../../src/codec/end_marker.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import type { ProducerCheckPorts } from "../../src/coordinators/groups/producer_check.ts";
import { GroupService, type GroupShard } from "../../src/coordinators/groups/service.ts";
import type { GroupsConfig } from "../../src/coordinators/groups/types.ts";
import type { LogRecord, Producer } from "../../src/coordinators/machine.ts";
import type { AppendResult, CoordinatorLog, Timers } from "../../src/coordinators/shard.ts";
import type { TransactionMarker } from "../../src/replication/transaction_marker.ts";

/** Kafka's defaults, without the initial delay. */
export const defaultConfig: GroupsConfig = {
  groupMinSessionTimeoutMs: 6_000,
  groupMaxSessionTimeoutMs: 1_800_000,
  groupMaxSize: 0x7fffffff,
  groupInitialRebalanceDelayMs: 0,
  offsetMetadataMaxBytes: 4096,
  offsetsRetentionMs: 7 * 24 * 3_600_000,
  offsetsRetentionCheckIntervalMs: 600_000,
};

/** Timers on a clock that only {@link ManualTimers.advance} moves. */
export class ManualTimers implements Timers {
  private readonly pending = new Set<{ at: number; run: () => void }>();

  constructor(readonly clock: ManualClock) {}

  set(delayMs: number, run: () => void): () => void {
    const timer = { at: this.clock.monotonic() + delayMs, run };
    this.pending.add(timer);
    return () => this.pending.delete(timer);
  }

  get count(): number {
    return this.pending.size;
  }

  /** Moves the clock by `ms`, stopping at each timer on the way. */
  advance(ms: number): void {
    const end = this.clock.monotonic() + ms;
    for (;;) {
      let next: { at: number; run: () => void } | null = null;
      for (const timer of this.pending) {
        if (timer.at <= end && (next === null || timer.at < next.at)) next = timer;
      }
      if (next === null) break;
      this.pending.delete(next);
      this.clock.advance(Math.max(0, next.at - this.clock.monotonic()));
      next.run();
    }
    // What a timer ran may have taken time.
    this.clock.advance(Math.max(0, end - this.clock.monotonic()));
  }
}

/** A transaction coordinator that says yes to everything. */
export const everyProducer: ProducerCheckPorts = {
  addPartitions: ({ partitions }) => ({ errorCodes: partitions.map(() => ErrorCode.NONE) }),
  verifiesPartitions: () => true,
};

/** A partition of `__consumer_offsets` in memory. */
export class MemoryLog implements CoordinatorLog {
  readonly batches: Uint8Array[] = [];
  nextOffset = 0;
  /** Of each producer the epoch that was last seen. */
  readonly epochs = new Map<number, number>();
  /** The error of the next appends; NONE lets them pass. */
  failWith = 0;
  /** Replicas that are slow: appends are committed when {@link commit} is called. */
  isReplicated = false;
  private readonly uncommitted: ((errorCode: number) => void)[] = [];

  append(records: readonly LogRecord[], nowMs: number, transaction?: Producer): AppendResult {
    const epoch = this.epochs.get(transaction?.producerId ?? -1) ?? -1;
    if (transaction !== undefined && transaction.producerEpoch < epoch) {
      return { errorCode: ErrorCode.INVALID_PRODUCER_EPOCH, offset: -1, committed: null };
    }
    return this.write(buildBatch(
      records.map(({ key, value }) => ({ key, value, timestamp: nowMs })),
      transaction && { ...transaction, isTransactional: true },
    ));
  }

  appendMarker(marker: TransactionMarker, nowMs: number): AppendResult {
    return this.write(buildEndMarker(marker, nowMs));
  }

  private write(bytes: Uint8Array): AppendResult {
    if (this.failWith !== 0) return { errorCode: this.failWith, offset: -1, committed: null };
    const offset = this.nextOffset;
    const batch = new BatchView(bytes);
    batch.baseOffset = offset;
    this.batches.push(bytes);
    this.nextOffset = batch.nextOffset;
    if (batch.hasProducerId) this.epochs.set(batch.producerId, batch.producerEpoch);
    const committed = this.isReplicated
      ? new Promise<number>((resolve) => this.uncommitted.push(resolve))
      : null;
    return { errorCode: 0, offset, committed };
  }

  /** What {@link recommit} gives. */
  recommitsWith = 0;

  recommit(): Promise<number> {
    return Promise.resolve(this.recommitsWith);
  }

  get isCommitted(): boolean {
    return this.uncommitted.length === 0;
  }

  /** Lets the high watermark pass everything, or tells that it never will. */
  commit(errorCode = 0): void {
    for (const resolve of this.uncommitted.splice(0)) resolve(errorCode);
  }

  readAll(): Iterable<Uint8Array> {
    return this.batches;
  }
}

export interface Harness {
  readonly clock: ManualClock;
  readonly timers: ManualTimers;
  readonly logs: MemoryLog[];
  readonly service: GroupService;
  readonly problems: string[];
  /** Lets everything happen that can, turns the clock, and lets happen what follows. */
  advance(ms: number): Promise<void>;
  /** A second service over the same logs, as after a crash; the settings may have changed. */
  restarted(config?: Partial<GroupsConfig>): Harness;
  shard(groupId: string): GroupShard;
}

/** A service over `partitions` empty logs, or what `ensureLog` gives for them. */
export function harness(
  config: Partial<GroupsConfig> = {},
  partitions = 1,
  transactions: ProducerCheckPorts = everyProducer,
  ensureLog?: (partition: number) => CoordinatorLog | number,
): Harness {
  const logs = Array.from({ length: partitions }, () => new MemoryLog());
  return over(logs, { ...defaultConfig, ...config }, new ManualClock(), { next: 1 }, transactions, ensureLog);
}

function over(
  logs: MemoryLog[],
  config: GroupsConfig,
  clock: ManualClock,
  ids: { next: number },
  transactions: ProducerCheckPorts,
  ensureShard: (partition: number) => CoordinatorLog | number = (partition) => logs[partition],
): Harness {
  const timers = new ManualTimers(clock);
  const problems: string[] = [];
  const service = new GroupService({
    config,
    clock,
    timers,
    randomUuid: () => `${ids.next++}`,
    partitionCount: () => logs.length,
    ensureShard,
    report: (problem) => problems.push(problem),
    transactions,
  });
  for (let partition = 0; partition < logs.length; partition++) service.open(partition);
  return {
    clock,
    timers,
    logs,
    service,
    problems,
    async advance(ms) {
      await settled();
      timers.advance(ms);
      await settled();
    },
    restarted(changes) {
      service.close();
      return over(logs, { ...config, ...changes }, clock, ids, transactions);
    },
    // deno-lint-ignore no-explicit-any -- the shards are private to the service; tests look at their state
    shard: (groupId) => (service as any).shards.at(service.partitionOf(groupId)),
  };
}

/** Lets every promise that can resolve do so. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
