/** A transaction service without a broker around it: a log in memory, a clock that the test turns, and partitions that take markers. */
import { ManualClock } from "../../../src/base/clock.ts";
import { ErrorCode, errorName } from "../../../src/codec/errors.ts";
import type { InitProducerIdRequest } from "../../../src/coordinators/transactions/requests.ts";
import { TransactionService } from "../../../src/coordinators/transactions/service.ts";
import type { TransactionsConfig } from "../../../src/coordinators/transactions/types.ts";
import type { TransactionMarker } from "../../../src/replication/transaction_marker.ts";
import { ManualTimers, MemoryLog, settled } from "../harness.ts";

/** Kafka's defaults. */
export const defaultConfig: TransactionsConfig = {
  transactionMaxTimeoutMs: 900_000,
  transactionTwoPhaseCommitEnable: false,
  transactionalIdExpirationMs: 604_800_000,
  transactionAbortTimedOutTransactionCleanupIntervalMs: 10_000,
  transactionRemoveExpiredTransactionCleanupIntervalMs: 3_600_000,
};

export interface Producer {
  readonly producerId: number;
  readonly producerEpoch: number;
}

export interface WrittenMarker extends TransactionMarker {
  readonly topic: string;
  readonly partition: number;
}

export const ID = "tx";

export class Stage {
  readonly clock: ManualClock;
  readonly timers: ManualTimers;
  readonly log: MemoryLog;
  /** Markers in the order in which they were written. */
  readonly markers: WrittenMarker[] = [];
  /** What writing a marker gives, by topic; NONE for others. */
  readonly outcomes = new Map<string, number | Promise<number>>();
  readonly missingTopics = new Set<string>();
  /** When a marker was written or could not be, in steady ms. */
  readonly attempts: number[] = [];
  readonly problems: string[] = [];
  /** What whoever runs the broker was told. */
  readonly notices: string[] = [];
  /** How long it takes to write one. */
  msPerMarker = 0;
  newProducerId = () => Promise.resolve(this.ids.next++);
  readonly service: TransactionService;
  private readonly ids: { next: number };

  constructor(readonly config: Partial<TransactionsConfig> = {}, before?: Stage) {
    this.clock = before?.clock ?? new ManualClock();
    this.timers = new ManualTimers(this.clock);
    this.log = before?.log ?? new MemoryLog();
    this.ids = before?.ids ?? { next: 1000 };
    this.service = new TransactionService({
      config: { ...defaultConfig, ...config },
      clock: this.clock,
      timers: this.timers,
      newProducerId: () => this.newProducerId(),
      partitionCount: () => 1,
      ensureShard: () => this.log,
      leaderEpoch: () => 7,
      writeMarker: (topic, partition, marker) => {
        this.attempts.push(this.clock.monotonic());
        this.clock.advance(this.msPerMarker);
        const outcome = this.outcomes.get(topic) ?? ErrorCode.NONE;
        if (outcome === ErrorCode.NONE) this.markers.push({ topic, partition, ...marker });
        return outcome;
      },
      exists: (topic) => !this.missingTopics.has(topic),
      report: (problem) => this.problems.push(problem),
      inform: (text) => this.notices.push(text),
    });
    this.service.open(0);
  }

  /** Another broker over what the log has, as after a crash; `outcomes` start anew. */
  restarted(config: Partial<TransactionsConfig> = this.config): Stage {
    this.service.close();
    return new Stage(config, this);
  }

  init(more: Partial<InitProducerIdRequest> = {}) {
    return this.service.initProducerId({
      transactionalId: ID,
      transactionTimeoutMs: 60_000,
      producerId: -1,
      producerEpoch: -1,
      enable2Pc: false,
      keepPreparedTxn: false,
      ...more,
    });
  }

  /** `ERROR`, or `id/epoch` with the first id as A, the next as B. */
  async initText(more: Partial<InitProducerIdRequest> = {}): Promise<string> {
    const { errorCode, producerId, producerEpoch } = await this.init(more);
    return errorCode === ErrorCode.NONE ? producerText({ producerId, producerEpoch }) : errorName(errorCode);
  }

  /** Adds partitions of topic `t`, or what is named. */
  async add(
    producer: Producer,
    partitions: readonly (number | string)[],
    { verifyOnly = false, version = 2 } = {},
  ): Promise<string> {
    const { errorCodes } = await this.service.addPartitions({
      ...producer,
      transactionalId: ID,
      partitions: partitions.map((p) =>
        typeof p === "number" ? { topic: "t", partition: p } : { topic: p, partition: 0 }
      ),
      verifyOnly,
      clientTransactionVersion: version,
    });
    return errorCodes.map(errorName).join(" ");
  }

  /** `ERROR`, or `id/epoch` where the version has them, or `NONE`. */
  async end(producer: Producer, isCommit: boolean, version = 2): Promise<string> {
    const { errorCode, ...next } = await this.service.endTxn({
      ...producer,
      transactionalId: ID,
      isCommit,
      clientTransactionVersion: version,
    });
    return errorCode === ErrorCode.NONE && next.producerId !== -1 ? producerText(next) : errorName(errorCode);
  }

  /** `STATUS id/epoch t[0,1]` */
  async state(): Promise<string> {
    const found = await this.service.describe(ID);
    if (found.errorCode !== ErrorCode.NONE) return errorName(found.errorCode);
    const topics = found.topics.map(({ topic, partitions }) => ` ${topic}[${partitions}]`);
    return `${found.transactionState} ${producerText(found)}${topics.join("")}`;
  }

  /** `t-0 COMMIT A/1` for each marker since the last call. */
  takeMarkers(): string[] {
    return this.markers.splice(0).map((m) =>
      `${m.topic}-${m.partition} ${m.isCommit ? "COMMIT" : "ABORT"} ${producerText(m)}`
    );
  }

  async advance(ms: number): Promise<void> {
    await settled();
    this.timers.advance(ms);
    await settled();
  }
}

function producerText({ producerId, producerEpoch }: Producer): string {
  return `${String.fromCharCode(65 + producerId - 1000)}/${producerEpoch}`;
}

/** What `A/1` stands for. */
export function producer(text: string): Producer {
  const [id, epoch] = text.split("/");
  return { producerId: id.charCodeAt(0) - 65 + 1000, producerEpoch: Number(epoch) };
}
