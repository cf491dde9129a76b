/**
 * A broker's coordinators and partitions as the product has them, over a simulated disk, clock and timers: what clients
 * of transactions can ask of it, and how it dies.
 */
import { assert } from "../../src/base/assert.ts";
import type { ManualClock } from "../../src/base/clock.ts";
import { batchesIn, BatchView, buildBatch } from "../../src/codec/batch.ts";
import { readEndMarker } from "../../src/codec/end_marker.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { GroupService } from "../../src/coordinators/groups/service.ts";
import { MarkerWriter } from "../../src/coordinators/marker_writer.ts";
import { Replay } from "../../src/coordinators/shard.ts";
import { transactionsMachine } from "../../src/coordinators/transactions/machine.ts";
import { TransactionService } from "../../src/coordinators/transactions/service.ts";
import { emptyTransactionsState, type Transaction } from "../../src/coordinators/transactions/types.ts";
import { OFFSETS_TOPIC, TRANSACTIONS_TOPIC } from "../../src/cluster/topic_names.ts";
import type { Services } from "../../src/handlers/context.ts";
import { verify } from "../../src/handlers/produce_verification.ts";
import { InternalLog } from "../../src/replication/internal_log.ts";
import { Partition } from "../../src/replication/partition.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import type { MemoryFiles } from "../../src/storage/files/memory.ts";
import { defaultLogConfig } from "../../src/storage/log/config.ts";
import { LogManager } from "../../src/storage/manager/log_manager.ts";
import { defaultConfig as groupsConfig, ManualTimers } from "../coordinators/harness.ts";
import { defaultConfig } from "../coordinators/transactions/stage.ts";

export const PARTITIONS = 3;
export const TOPIC = "t";
export const GROUP = "g";
/** The topic whose offsets are committed; nothing of it is there. */
export const INPUT = "in";

/** Faults that are planted to see whether they are found. */
export type Bug =
  | "a marker is lost"
  | "no list of aborted transactions"
  | "commits are aborted"
  | "ends without markers";

export interface BrokerOptions {
  readonly memory: MemoryFiles;
  readonly clock: ManualClock;
  /** Every record is synced before it is acknowledged. */
  readonly flushes: boolean;
  readonly newProducerId: () => number;
  /** Which start of the machine this is. */
  readonly bootId: string;
  readonly bug: Bug | null;
  /** Called before each operation on the disk; true when it fails. */
  readonly fails: (path: string) => boolean;
}

export interface ProduceRequest {
  readonly transactionalId: string;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly partition: number;
  readonly sequence: number;
  readonly value: string;
  /** 11 or 12. */
  readonly version: number;
}

const encoder = new TextEncoder(), decoder = new TextDecoder();
const DIRECTORY = "/data";

export class SimulatedBroker {
  readonly timers: ManualTimers;
  readonly transactions: TransactionService;
  readonly groups: GroupService;
  /** The process is gone; what it was at goes nowhere. */
  isDead = false;
  private readonly partitions = new Map<string, Partition>();

  private constructor(private readonly o: BrokerOptions, private readonly manager: LogManager) {
    const { clock } = o;
    this.timers = new ManualTimers(clock);
    this.makePartitions();
    const world = { clock, timers: this.timers, report: () => {} };
    const markers = new MarkerWriter({
      partition: (topic, index) => this.partitions.get(`${topic}-${index}`),
      endInGroups: (index, marker) => this.groups.endTransaction(index, marker),
    });
    const logOf = (topic: string) => (partition: number) => {
      const hosted = this.partition(topic, partition);
      return hosted.log.open() ? new InternalLog(hosted) : ErrorCode.COORDINATOR_NOT_AVAILABLE;
    };
    this.groups = new GroupService({
      ...world,
      config: groupsConfig,
      randomUuid: () => "member",
      partitionCount: () => 1,
      ensureShard: logOf(OFFSETS_TOPIC),
      transactions: {
        addPartitions: (request) => this.transactions.addPartitions(request),
        verifiesPartitions: () => true,
      },
    });
    this.transactions = new TransactionService({
      ...world,
      inform: () => {},
      config: defaultConfig,
      newProducerId: () => Promise.resolve(o.newProducerId()),
      partitionCount: () => 1,
      ensureShard: logOf(TRANSACTIONS_TOPIC),
      leaderEpoch: () => 0,
      writeMarker: (topic, partition, marker) => {
        if (o.bug === "ends without markers") return ErrorCode.NONE;
        if (o.bug === "a marker is lost" && partition === 1) return ErrorCode.NONE;
        const isCommit = o.bug === "commits are aborted" ? false : marker.isCommit;
        return markers.writeMarker(topic, partition, { ...marker, isCommit }, clock.now());
      },
      exists: () => true,
    });
    this.groups.open(0);
    this.transactions.open(0);
  }

  /** Throws `IoError` or `DataDirectoryError` when the disk fails. */
  static async start(o: BrokerOptions): Promise<SimulatedBroker> {
    const files = new FaultyFiles(o.memory, ({ path }) => o.fails(path) ? { code: "EIO" } : null);
    const manager = await LogManager.open({
      files,
      directory: DIRECTORY,
      clusterId: "cluster",
      nodeId: 1,
      clock: o.clock,
      bootId: o.bootId,
      configOf: () => ({
        ...defaultLogConfig,
        segmentBytes: 2000,
        retentionMs: -1,
        ...(o.flushes ? { flushMessages: 1 } : {}),
      }),
      onWarning: () => {},
    });
    return new SimulatedBroker(o, manager);
  }

  private makePartitions(): void {
    const names: [string, number][] = [[OFFSETS_TOPIC, 0], [TRANSACTIONS_TOPIC, 0]];
    for (let index = 0; index < PARTITIONS; index++) names.push([TOPIC, index]);
    for (const [topic, index] of names) {
      const topicId = `${topic.padEnd(22, "A")}`.slice(0, 22).replaceAll("_", "x");
      const log = this.manager.get(topic, index) ?? this.manager.create(topic, index, topicId);
      // A power failure may have taken the file that says it; the metadata knows.
      if (log.topicId === ZERO_UUID) this.manager.setTopicId(log, topicId);
      this.partitions.set(`${topic}-${index}`, new Partition(log, topicId, 1, 0, [1]));
    }
  }

  private partition(topic: string, index: number): Partition {
    const partition = this.partitions.get(`${topic}-${index}`);
    assert(partition !== undefined, `partition ${topic}-${index}`);
    return partition;
  }

  /** Loads what a failing disk did not let be loaded. */
  retry(): void {
    this.groups.open(0);
    this.transactions.open(0);
  }

  /** Serves no more; the disk is what the process left. */
  die(): void {
    this.isDead = true;
    this.transactions.close();
    this.groups.close();
  }

  /** Appends one record as the Produce handler does; an error code, and whether the record was there already. */
  async produce(r: ProduceRequest): Promise<{ errorCode: number; duplicate: boolean }> {
    const partition = this.partition(TOPIC, r.partition);
    const { producerId, producerEpoch } = r;
    const record = { timestamp: this.o.clock.now(), key: null, value: encoder.encode(r.value) };
    const bytes = buildBatch([record], {
      producerId,
      producerEpoch,
      baseSequence: r.sequence,
      isTransactional: true,
    });
    const [{ verification, answer }] = verify(
      [{ partition, batch: new BatchView(bytes) }],
      { transactionalId: r.transactionalId, version: r.version, timeoutMs: 0 },
      this.services,
    );
    const problem = answer === null ? null : await answer;
    if (problem !== null) return { errorCode: problem.errorCode, duplicate: false };
    const result = partition.append(bytes, "client", this.o.clock.now(), { verification });
    const { errorCode, duplicate } = result;
    if (errorCode !== ErrorCode.NONE || result.committed === null) return { errorCode, duplicate };
    return { errorCode: await result.committed, duplicate };
  }

  /** What of the services the verification asks for. */
  private get services(): Services {
    const settings: Record<string, unknown> = {
      "transaction.partition.verification.enable": true,
      "add.partitions.to.txn.retry.backoff.ms": 1,
      // The clock stands still while a handler waits, so it must not.
      "add.partitions.to.txn.retry.backoff.max.ms": 0,
    };
    const config = { get: (name: string) => settings[name] };
    return { config, clock: this.o.clock, transactions: this.transactions } as unknown as Services;
  }

  /** Stages the group's offset of `INPUT` in a transaction; an error code. */
  async commitOffset(
    transactionalId: string,
    transaction: { producerId: number; producerEpoch: number },
    partitionIndex: number,
    committedOffset: number,
    apiVersion: number,
  ): Promise<number> {
    const { topics } = await this.groups.commitInTransaction({
      groupId: GROUP,
      transactionalId,
      transaction,
      generationIdOrMemberEpoch: -1,
      memberId: "",
      groupInstanceId: null,
      retentionTimeMs: -1,
      apiVersion,
      topics: [{
        name: INPUT,
        topicId: "AAAAAAAAAAAAAAAAAAAAAA",
        partitions: [{
          partitionIndex,
          committedOffset,
          committedLeaderEpoch: -1,
          commitTimestamp: -1,
          committedMetadata: "",
        }],
      }],
    });
    return topics[0].partitions[0].errorCode;
  }

  /** The committed offset, and why it is not told. */
  async offset(partition: number, requireStable: boolean): Promise<{ offset: number; errorCode: number }> {
    const { errorCode, topics } = await this.groups.fetchOffsets({
      groupId: GROUP,
      requireStable,
      topics: [{ name: INPUT, partitionIndexes: [partition] }],
    });
    if (errorCode !== ErrorCode.NONE) return { offset: -1, errorCode };
    const [found] = topics[0].partitions;
    return { offset: found.committedOffset, errorCode: found.errorCode };
  }

  lastStableOffset(index: number): number {
    return this.partition(TOPIC, index).lastStableOffset;
  }

  highWatermark(index: number): number {
    return this.partition(TOPIC, index).highWatermark;
  }

  /** The values that a consumer is given which reads committed records only, in their order. */
  committedValues(index: number): string[] {
    const partition = this.partition(TOPIC, index);
    const { log } = partition;
    const values: string[] = [];
    const end = partition.readableEnd(true);
    for (let offset = log.logStartOffset; offset < end;) {
      // In small pieces, so that each needs a list of its own.
      const read = partition.read(offset, 700, true, undefined, end);
      assert(read.errorCode === ErrorCode.NONE, `cannot read: error ${read.errorCode}`);
      const aborted = this.o.bug === "no list of aborted transactions"
        ? []
        : log.abortedTransactions(offset, read.nextOffset);
      values.push(...withoutAborted(read.bytes, aborted, offset));
      offset = read.nextOffset;
    }
    return values;
  }

  /** The transactions as the coordinator has them, and as its log has them. */
  states(): { live: Map<string, Transaction>; rebuilt: Map<string, Transaction> } {
    // deno-lint-ignore no-explicit-any -- the shards are private to the service; tests look at their state
    const [shard] = [...(this.transactions as any).shards.all];
    const rebuilt = emptyTransactionsState(defaultConfig);
    const replay = new Replay(transactionsMachine, rebuilt);
    for (const bytes of new InternalLog(this.partition(TRANSACTIONS_TOPIC, 0)).readAll()) replay.take(bytes);
    return { live: shard.state.transactions, rebuilt: rebuilt.transactions };
  }
}

/** What a client leaves of what it was given: records of aborted transactions and markers go. */
function withoutAborted(
  bytes: Uint8Array,
  aborted: readonly { producerId: number; firstOffset: number }[],
  fetchOffset: number,
): string[] {
  const waiting = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset);
  const skipped = new Set<number>();
  const values: string[] = [];
  for (const batch of batchesIn(bytes)) {
    while (waiting.length > 0 && waiting[0].firstOffset <= batch.lastOffset) {
      skipped.add(waiting.shift()!.producerId);
    }
    if (batch.isControl) {
      if (readEndMarker(batch)?.isCommit === false) skipped.delete(batch.producerId);
      continue;
    }
    if (batch.baseOffset < fetchOffset || skipped.has(batch.producerId)) continue;
    const cursor = batch.cursor();
    while (cursor.next()) values.push(decoder.decode(cursor.value!));
  }
  return values;
}
