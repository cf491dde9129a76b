/**
 * Builds the coordinators of a broker, which need each other: ending a transaction makes offsets of groups count, and
 * committing offsets makes them part of a transaction. Each keeps its state in an internal topic of its own.
 */
import { systemClock } from "./base/clock.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { ClusterChange } from "./cluster/image_changes.ts";
import type { ProducerIds } from "./cluster/producer_ids.ts";
import { StoreFailure } from "./cluster/store.ts";
import { OFFSETS_TOPIC, TRANSACTIONS_TOPIC } from "./cluster/topic_names.ts";
import { ErrorCode, errorName } from "./codec/errors.ts";
import type { BrokerConfig } from "./config/broker_config.ts";
import { GroupService } from "./coordinators/groups/service.ts";
import type { GroupsConfig } from "./coordinators/groups/types.ts";
import { MarkerWriter } from "./coordinators/marker_writer.ts";
import { type CoordinatorLog, systemTimers } from "./coordinators/shard.ts";
import { TransactionService } from "./coordinators/transactions/service.ts";
import type { TransactionsConfig } from "./coordinators/transactions/types.ts";
import { InternalLog } from "./replication/internal_log.ts";
import type { Replicas } from "./replication/replicas.ts";

export interface CoordinationOptions {
  readonly config: BrokerConfig;
  readonly cluster: Cluster;
  readonly replicas: Replicas;
  readonly producerIds: ProducerIds;
  readonly report: (problem: string) => void;
  readonly inform: (text: string) => void;
}

export class Coordination {
  readonly groups: GroupService;
  readonly transactions: TransactionService;
  readonly markers: MarkerWriter;
  /** Why an internal topic could not be created the last time, by its name. */
  private readonly creationProblems = new Map<string, string>();

  constructor(private readonly o: CoordinationOptions) {
    const { config, cluster, replicas, report, inform } = o;
    const world = { clock: systemClock, timers: systemTimers, report };
    this.markers = new MarkerWriter({
      partition: (topic, index) => replicas.get(topic, index),
      endInGroups: (index, marker) => this.groups.endTransaction(index, marker),
    });
    this.groups = new GroupService({
      ...world,
      config: groupsConfig(config),
      randomUuid: () => crypto.randomUUID(),
      partitionCount: () => this.partitionCount(OFFSETS_TOPIC, config.get("offsets.topic.num.partitions")),
      ensureShard: (partition) => this.ensureLog(OFFSETS_TOPIC, partition),
      transactions: {
        addPartitions: (request) => this.transactions.addPartitions(request),
        verifiesPartitions: () => config.get("transaction.partition.verification.enable"),
      },
    });
    this.transactions = new TransactionService({
      ...world,
      config: transactionsConfig(config),
      inform,
      newProducerId: () => this.newProducerId(),
      partitionCount: () =>
        this.partitionCount(TRANSACTIONS_TOPIC, config.get("transaction.state.log.num.partitions")),
      ensureShard: (partition) => this.ensureLog(TRANSACTIONS_TOPIC, partition),
      leaderEpoch: (partition) => replicas.get(TRANSACTIONS_TOPIC, partition)?.leaderEpoch ?? 0,
      writeMarker: (topic, partition, marker) =>
        this.markers.writeMarker(topic, partition, marker, systemClock.now()),
      exists: (topic, partition) => cluster.image.topics.get(topic)?.partitions[partition] !== undefined,
    });
  }

  /** Each coordinator with its topic; groups first, since transactions that are resumed end in them. */
  private get topics() {
    return [[OFFSETS_TOPIC, this.groups], [TRANSACTIONS_TOPIC, this.transactions]] as const;
  }

  /** Loads what there is, so that no client has to wait for it, and goes on with transactions that were ending. */
  open(): void {
    for (const [topic, coordinator] of this.topics) {
      for (const partition of this.o.replicas.ofTopic(topic)) {
        // An empty one has nothing to load, and costs an open file.
        const isEmpty = partition === undefined ||
          (partition.highWatermark === 0 && !partition.log.isUnchecked);
        if (!isEmpty) coordinator.open(partition.index);
      }
    }
  }

  /** Tries again what a disk did not let be loaded: transactions may be waiting for their end. */
  retry(): void {
    for (const [, coordinator] of this.topics) coordinator.retry();
  }

  /** Takes a change of the metadata over. */
  apply({ deleted }: ClusterChange): void {
    for (const [topic, coordinator] of this.topics) {
      const own = deleted.find(({ name }) => name === topic);
      // The state went with its log: a shard that kept on would append to a log that is gone, until a restart.
      for (const { partition } of own?.partitions ?? []) coordinator.resign(partition);
    }
    if (deleted.length > 0) this.groups.topicsDeleted(deleted.map((topic) => topic.name));
  }

  close(): void {
    this.markers.close();
    this.transactions.close();
    this.groups.close();
  }

  /** Makes an internal topic where it does not exist; the error code is for clients, NONE when it is there. */
  async ensureTopic(topic: string): Promise<number> {
    const { cluster } = this.o;
    if (cluster.image.topics.has(topic)) return ErrorCode.NONE;
    const [{ errorCode, errorMessage }] = await cluster.autoCreateTopics([topic]);
    if (errorCode === ErrorCode.NONE) return ErrorCode.NONE;
    const problem = `Cannot create ${topic}: ${errorMessage ?? errorName(errorCode)}`;
    // Clients go on asking; they are told no more than to ask again.
    if (this.creationProblems.get(topic) !== problem) this.o.report(problem);
    this.creationProblems.set(topic, problem);
    return ErrorCode.COORDINATOR_NOT_AVAILABLE;
  }

  private ensureLog(
    topic: string,
    partition: number,
  ): CoordinatorLog | number | Promise<CoordinatorLog | number> {
    const { cluster, replicas } = this.o;
    const find = () => {
      const hosted = replicas.get(topic, partition);
      return hosted?.log.open() ? new InternalLog(hosted) : ErrorCode.COORDINATOR_NOT_AVAILABLE;
    };
    if (cluster.image.topics.has(topic)) return find();
    return this.ensureTopic(topic).then((error) => error === ErrorCode.NONE ? find() : error);
  }

  private partitionCount(topic: string, configured: number): number {
    return this.o.cluster.image.topics.get(topic)?.partitions.length ?? configured;
  }

  private async newProducerId(): Promise<number | null> {
    try {
      return await this.o.producerIds.next();
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.o.report(`Cannot get a producer id: ${error.message}`);
      return null;
    }
  }
}

function groupsConfig(config: BrokerConfig): GroupsConfig {
  return {
    groupMinSessionTimeoutMs: config.get("group.min.session.timeout.ms"),
    groupMaxSessionTimeoutMs: config.get("group.max.session.timeout.ms"),
    groupMaxSize: config.get("group.max.size"),
    // The only one that may change while the broker runs.
    get groupMaxBytes() {
      return config.get("message.max.bytes");
    },
    groupMaxPendingMembers: config.get("trackway.group.max.pending.members"),
    groupInitialRebalanceDelayMs: config.get("group.initial.rebalance.delay.ms"),
    offsetMetadataMaxBytes: config.get("offset.metadata.max.bytes"),
    offsetsRetentionMs: config.get("offsets.retention.minutes") * 60_000,
    offsetsRetentionCheckIntervalMs: config.get("offsets.retention.check.interval.ms"),
  };
}

function transactionsConfig(config: BrokerConfig): TransactionsConfig {
  return {
    transactionMaxTimeoutMs: config.get("transaction.max.timeout.ms"),
    transactionTwoPhaseCommitEnable: config.get("transaction.two.phase.commit.enable"),
    transactionalIdExpirationMs: config.get("transactional.id.expiration.ms"),
    transactionAbortTimedOutTransactionCleanupIntervalMs: config.get(
      "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    ),
    transactionRemoveExpiredTransactionCleanupIntervalMs: config.get(
      "transaction.remove.expired.transaction.cleanup.interval.ms",
    ),
  };
}
