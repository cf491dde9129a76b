/**
 * Producers of transactions, and the network between them and the broker: requests are delayed, reordered, sent twice and
 * lost, and so are answers.
 */
import { ErrorCode } from "../../src/codec/errors.ts";
import { OFFSETS_TOPIC } from "../../src/cluster/topic_names.ts";
import type { Prng } from "../../src/base/prng.ts";
import { PARTITIONS, type SimulatedBroker, TOPIC } from "./transactions_broker.ts";

export const LOST = Symbol("lost");
type Answer<T> = T | typeof LOST;

interface Message {
  readonly ask: (broker: SimulatedBroker) => Promise<unknown>;
  /** Null for a copy: nobody waits for its answer. */
  readonly answer: ((value: unknown) => void) | null;
}

export class Network {
  private queue: Message[] = [];
  private underWay = new Set<Message>();

  constructor(private readonly random: Prng) {}

  get length(): number {
    return this.queue.length;
  }

  /** `mayRepeat`: the protocol stands a copy that arrives at any later time. */
  call<T>(mayRepeat: boolean, ask: (broker: SimulatedBroker) => Promise<T>): Promise<Answer<T>> {
    return new Promise((resolve) => {
      const answer = resolve as (value: unknown) => void;
      this.queue.push({ ask, answer });
      if (mayRepeat && this.random.chance(0.1)) this.queue.push({ ask, answer: null });
    });
  }

  /** Brings one message to the broker, or loses it. */
  deliver(broker: SimulatedBroker): void {
    if (this.queue.length === 0) return;
    const [message] = this.queue.splice(this.random.int(this.queue.length), 1);
    if (this.random.chance(0.03)) return message.answer?.(LOST);
    const isAnswerLost = this.random.chance(0.08);
    this.underWay.add(message);
    message.ask(broker).then((value) => {
      if (!this.underWay.delete(message)) return;
      message.answer?.(isAnswerLost || broker.isDead ? LOST : value);
    });
  }

  /** The broker is gone: whoever waits for an answer of it gets none. */
  cut(): void {
    const waiting = [...this.underWay];
    this.underWay.clear();
    for (const { answer } of waiting) answer?.(LOST);
  }
}

/** One transaction as its producer saw it. */
export interface Attempt {
  readonly transactionalId: string;
  /** Values that the broker acknowledged. */
  readonly acked: string[];
  ackedOffset: number | null;
  commitAsked: boolean;
  outcome: "open" | "committed" | "aborted" | "unknown";
}

/** What the simulation keeps of all clients. */
export interface Chronicle {
  readonly attempts: Attempt[];
  readonly attemptOf: Map<string, Attempt>;
  /** Of each producer id the highest epoch that InitProducerId has told. */
  readonly told: Map<number, number>;
  /** Ids with their epochs that InitProducerId has given out. */
  readonly givenOut: Set<string>;
  /** How often InitProducerId was executed for a transactional id: whoever asks fences the others. */
  readonly initsOf: Map<string, number>;
  violation(text: string): void;
  tally(what: "committed" | "aborted" | "unknown" | "fenced" | "inits"): void;
}

const passing: ReadonlySet<number> = new Set([
  ErrorCode.CONCURRENT_TRANSACTIONS,
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
  ErrorCode.NOT_ENOUGH_REPLICAS,
  ErrorCode.NOT_LEADER_OR_FOLLOWER,
  ErrorCode.KAFKA_STORAGE_ERROR,
  ErrorCode.UNKNOWN_SERVER_ERROR,
]);

/** Thrown when the client has to give its transaction, or itself, up. */
class Ended extends Error {
  constructor(readonly errorCode: number) {
    super(`error ${errorCode}`);
  }
}

export class ClientLife {
  /** Its owner thinks it dead. What it has sent is still on its way. */
  isReplaced = false;
  private producerId = -1;
  private producerEpoch = -1;
  private sequences = new Map<number, number>();

  constructor(
    readonly transactionalId: string,
    private readonly index: number,
    private readonly protocol: 1 | 2,
    private readonly network: Network,
    private readonly random: Prng,
    private readonly record: Chronicle,
    /** Resolves after some time of the simulated clock. */
    private readonly sleep: (ms: number) => Promise<void>,
  ) {}

  /** Transactions one after the other until it is fenced or replaced. */
  async run(): Promise<void> {
    try {
      await this.init(false);
      for (;;) {
        if (this.isReplaced) return;
        const clean = await this.transaction();
        // As clients do when a batch may still be on its way.
        if (!clean) await this.init(true);
      }
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      this.record.tally("fenced");
    }
  }

  /** Repeats what is lost or passes; throws {@link Ended} with any other error. */
  private async insist<T>(
    mayRepeat: boolean,
    ask: (broker: SimulatedBroker) => Promise<T>,
    errorOf: (reply: T) => number,
    onLost: () => void = () => {},
  ): Promise<T> {
    for (;;) {
      const reply = await this.network.call(mayRepeat, ask);
      if (reply === LOST) onLost();
      else {
        const errorCode = errorOf(reply as T);
        if (errorCode === ErrorCode.NONE) return reply as T;
        if (!passing.has(errorCode)) throw new Ended(errorCode);
        // It may have been decided all the same, and only not be safe on the disk.
        onLost();
      }
      await this.sleep(50);
    }
  }

  private async init(again: boolean): Promise<void> {
    const { transactionalId, record } = this;
    const [producerId, producerEpoch] = again ? [this.producerId, this.producerEpoch] : [-1, -1];
    const reply = await this.insist(false, async (broker) => {
      record.initsOf.set(transactionalId, (record.initsOf.get(transactionalId) ?? 0) + 1);
      const answer = await broker.transactions.initProducerId({
        transactionalId,
        transactionTimeoutMs: 20_000,
        producerId,
        producerEpoch,
        enable2Pc: false,
        keepPreparedTxn: false,
      });
      if (answer.errorCode === ErrorCode.NONE) {
        const before = record.told.get(answer.producerId) ?? -1;
        record.told.set(answer.producerId, Math.max(before, answer.producerEpoch));
        const name = `${answer.producerId}/${answer.producerEpoch}`;
        if (!again && record.givenOut.has(name)) record.violation(`${name} was told twice`);
        record.givenOut.add(name);
      }
      return answer;
    }, ({ errorCode }) => errorCode);
    record.tally("inits");
    this.goOnAs(reply.producerId, reply.producerEpoch);
  }

  private goOnAs(producerId: number, producerEpoch: number): void {
    if (producerId !== this.producerId || producerEpoch !== this.producerEpoch) this.sequences.clear();
    this.producerId = producerId;
    this.producerEpoch = producerEpoch;
  }

  private isAt(producerId: number, producerEpoch: number): boolean {
    return this.producerId === producerId && this.producerEpoch === producerEpoch;
  }

  /** True when the producer can go on as it is. */
  private async transaction(): Promise<boolean> {
    const { random, record } = this;
    const attempt: Attempt = {
      transactionalId: this.transactionalId,
      acked: [],
      ackedOffset: null,
      commitAsked: false,
      outcome: "open",
    };
    const number = record.attempts.push(attempt);
    let isWhole = true;
    try {
      const writes = random.between(1, 4);
      for (let i = 0; i < writes; i++) await this.write(attempt, `${number}:${i}`);
      if (random.chance(0.5)) await this.stageOffset(attempt, number);
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      isWhole = false;
    }
    if (random.chance(0.1)) await this.sleep(random.between(1000, 40_000));
    const isCommit = isWhole && random.chance(0.7);
    await this.end(attempt, isCommit);
    return isWhole;
  }

  private async write(attempt: Attempt, value: string): Promise<void> {
    const { transactionalId, producerId, producerEpoch, record } = this;
    const partition = this.random.int(PARTITIONS);
    if (this.protocol === 1) await this.add(TOPIC, partition);
    const sequence = this.sequences.get(partition) ?? 0;
    record.attemptOf.set(value, attempt);
    const version = this.protocol === 1 ? 11 : 12;
    await this.insist(true, async (broker) => {
      const request = { transactionalId, producerId, producerEpoch, partition, sequence, value, version };
      const told = record.told.get(producerId) ?? -1;
      const reply = await broker.produce(request);
      if (reply.errorCode === ErrorCode.NONE && !reply.duplicate && told > producerEpoch) {
        record.violation(`producer ${producerId} wrote under epoch ${producerEpoch} after ${told} was told`);
      }
      return reply;
    }, ({ errorCode }) => errorCode);
    this.sequences.set(partition, sequence + 1);
    attempt.acked.push(value);
  }

  private async add(topic: string, partition: number): Promise<void> {
    const { transactionalId, producerId, producerEpoch } = this;
    await this.insist(false, (broker) =>
      broker.transactions.addPartitions({
        transactionalId,
        producerId,
        producerEpoch,
        partitions: [{ topic, partition }],
        verifyOnly: false,
        clientTransactionVersion: 0,
      }), ({ errorCodes: [errorCode] }) => errorCode);
  }

  private async stageOffset(attempt: Attempt, offset: number): Promise<void> {
    const { transactionalId, producerId, producerEpoch, index } = this;
    if (this.protocol === 1) await this.add(OFFSETS_TOPIC, 0);
    const version = this.protocol === 1 ? 4 : 5;
    await this.insist(
      this.protocol === 2,
      (broker) => broker.commitOffset(transactionalId, { producerId, producerEpoch }, index, offset, version),
      (errorCode) => errorCode,
    );
    attempt.ackedOffset = offset;
  }

  private async end(attempt: Attempt, isCommit: boolean): Promise<void> {
    const { transactionalId, producerId, producerEpoch, protocol, record } = this;
    let isSure = protocol === 1;
    attempt.commitAsked = isCommit;
    // Nobody can say any more that it was not committed, once a copy may be on its way.
    const doubt = () => isSure = false;
    if (!isCommit) attempt.outcome = "aborted";
    try {
      const reply = await this.insist(
        protocol === 2,
        (broker) =>
          broker.transactions.endTxn({
            transactionalId,
            producerId,
            producerEpoch,
            isCommit,
            clientTransactionVersion: protocol === 1 ? 0 : 2,
          }),
        ({ errorCode }) => errorCode,
        doubt,
      );
      attempt.outcome = isCommit ? "committed" : "aborted";
      record.tally(attempt.outcome);
      if (protocol === 2) this.goOnAs(reply.producerId, reply.producerEpoch);
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      if (isCommit) attempt.outcome = isSure ? "aborted" : "unknown";
      record.tally(attempt.outcome === "unknown" ? "unknown" : "aborted");
      throw error;
    }
  }
}
