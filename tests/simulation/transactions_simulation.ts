/**
 * Transactions from a seed: producers of both protocols that stall, retry, are replaced and come back late, a network
 * that delays, repeats and loses, disks that fail, and a broker that dies at any step of any write and starts again.
 *
 * What has to hold: a transaction is seen whole or not at all; none that was aborted is ever seen; whoever was told that
 * it committed finds it; offsets come with the records; who was fenced does not write; and when all is quiet, nothing is
 * left undecided.
 */
import { ManualClock } from "../../src/base/clock.ts";
import { Prng } from "../../src/base/prng.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { DataDirectoryError } from "../../src/storage/directory/data_directory.ts";
import { IoError } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { type Bug, PARTITIONS, SimulatedBroker } from "./transactions_broker.ts";
import { type Attempt, type Chronicle, ClientLife, Network } from "./transactions_clients.ts";

const TRANSACTIONAL_IDS = 3;
const STEPS = 400;
/** Longer than any transaction may take, and the broker to look for it. */
const QUIET_MS = 40_000;

export interface Tally {
  committed: number;
  aborted: number;
  unknown: number;
  fenced: number;
  inits: number;
  crashes: number;
  /** Of them in the middle of a write. */
  torn: number;
  sick: number;
}

export class Violation extends Error {}

export class TransactionsSimulation implements Chronicle {
  readonly tallies: Tally = {
    committed: 0,
    aborted: 0,
    unknown: 0,
    fenced: 0,
    inits: 0,
    crashes: 0,
    torn: 0,
    sick: 0,
  };
  readonly attempts: Attempt[] = [];
  readonly attemptOf = new Map<string, Attempt>();
  readonly told = new Map<number, number>();
  readonly givenOut = new Set<string>();
  readonly initsOf = new Map<string, number>();
  private readonly random: Prng;
  private readonly clock = new ManualClock();
  private readonly network: Network;
  private memory = new MemoryFiles(() => this.clock.now());
  private broker!: SimulatedBroker;
  private readonly clients: ClientLife[] = [];
  private sleeping: { at: number; wake: () => void }[] = [];
  private nextProducerId = 0;
  private boots = 0;
  /** A partition's directory whose disk fails. */
  private sick: string | null = null;
  /** The process dies at this operation from now; Infinity when it lives. */
  private operationsLeft = Infinity;
  private readonly seen = new Set<string>();
  private found: Violation | null = null;
  private readonly flushes: boolean;

  constructor(readonly seed: number, private readonly bug: Bug | null = null) {
    this.random = new Prng(seed);
    this.network = new Network(this.random);
    this.flushes = seed % 4 === 0;
  }

  violation(text: string): void {
    this.found ??= new Violation(text);
  }

  tally(what: keyof Tally): void {
    this.tallies[what]++;
  }

  /** Throws {@link Violation}. */
  async run(): Promise<void> {
    await this.start();
    for (let index = 0; index < TRANSACTIONAL_IDS; index++) this.replace(index);
    for (let step = 0; step < STEPS; step++) {
      await this.step();
      if (step % 25 === 0) await this.checkReaders();
      if (this.found !== null) throw this.found;
    }
    await this.quieten();
    await this.checkEnd();
    if (this.found !== null) throw this.found;
    this.broker.die();
  }

  private async step(): Promise<void> {
    const { random } = this;
    const what = random.float();
    if (what < 0.7) this.network.deliver(this.broker);
    else if (what < 0.9) this.pass(random.int(200));
    else if (what < 0.93) this.pass(random.int(30_000));
    else if (what < 0.95) this.replace(random.int(TRANSACTIONAL_IDS));
    else if (what < 0.965) this.operationsLeft = random.int(12);
    else if (what < 0.975) await this.restart();
    else if (what < 0.985) this.fallSick();
    else this.sick = null;
    await settle();
    if (this.operationsLeft < 0) {
      this.tallies.torn++;
      await this.restart();
    }
  }

  // -------------------------------------------------------------------------------------------- the broker's life

  private async start(): Promise<void> {
    const { memory, clock, flushes, bug } = this;
    this.operationsLeft = Infinity;
    for (;;) {
      try {
        this.broker = await SimulatedBroker.start({
          memory,
          clock,
          flushes,
          bug,
          bootId: `boot ${this.boots}`,
          newProducerId: () => this.nextProducerId++,
          fails: (path) => this.memory !== memory || this.fails(path),
        });
        return;
      } catch (error) {
        if (!(error instanceof DataDirectoryError || error instanceof IoError)) throw error;
        // The broker does not start on a disk that fails; somebody looks after that.
        this.sick = null;
        this.memory = memory.crashed("killed");
        return await this.start();
      }
    }
  }

  private fails(path: string): boolean {
    if (--this.operationsLeft < 0) return true;
    return this.sick !== null && path.includes(this.sick);
  }

  private async restart(): Promise<void> {
    this.tallies.crashes++;
    if (this.operationsLeft === Infinity && this.sick === null) this.checkStates();
    this.broker.die();
    this.network.cut();
    const isPowerOut = this.flushes && this.random.chance(0.5);
    if (isPowerOut) this.boots++;
    this.memory = this.memory.crashed(isPowerOut ? () => this.random.float() : "killed");
    await settle();
    await this.start();
    await settle();
  }

  private fallSick(): void {
    this.tallies.sick++;
    this.sick = this.random.pick(["t-0", "t-1", "__transaction_state-0", "__consumer_offsets-0"]);
  }

  // -------------------------------------------------------------------------------------------- clients and time

  private replace(index: number): void {
    const before = this.clients[index];
    if (before !== undefined) before.isReplaced = true;
    const client = new ClientLife(
      `id-${index}`,
      index,
      this.random.chance(0.5) ? 1 : 2,
      this.network,
      this.random,
      this,
      (ms) => new Promise((wake) => this.sleeping.push({ at: this.clock.monotonic() + ms, wake })),
    );
    this.clients[index] = client;
    client.run().catch((error) => this.found ??= new Violation(`a client: ${error?.stack ?? error}`));
  }

  private pass(ms: number): void {
    this.broker.timers.advance(ms);
    const now = this.clock.monotonic();
    const awake = this.sleeping.filter(({ at }) => at <= now);
    this.sleeping = this.sleeping.filter(({ at }) => at > now);
    for (const { wake } of awake) wake();
  }

  /** Clients fall silent; what they sent arrives; disks are well; time passes. */
  private async quieten(): Promise<void> {
    this.sleeping = [];
    for (const client of this.clients) client.isReplaced = true;
    if (this.operationsLeft !== Infinity || this.sick !== null) {
      this.sick = null;
      await this.restart();
    }
    for (let left = this.network.length; left > 0; left--) {
      this.network.deliver(this.broker);
      await settle();
    }
    this.sleeping = [];
    for (let turns = 0; turns < 40; turns++) {
      this.broker.timers.advance(QUIET_MS / 20);
      this.broker.retry();
      await settle();
    }
  }

  // -------------------------------------------------------------------------------------------------- what holds

  /** What readers of committed records see while all goes on. */
  private async checkReaders(): Promise<void> {
    if (this.sick !== null || this.operationsLeft !== Infinity) return;
    for (const value of this.visible()) {
      const attempt = this.attemptOf.get(value);
      if (attempt === undefined) throw new Violation(`${value}: nobody wrote it`);
      if (!attempt.commitAsked) throw new Violation(`${value} is visible before its commit was asked for`);
      if (attempt.outcome === "aborted") throw new Violation(`${value} is visible, although it was aborted`);
      this.seen.add(value);
    }
    for (let index = 0; index < TRANSACTIONAL_IDS; index++) await this.checkStableOffset(index);
  }

  /** A committed transaction's offset is what a reader of stable offsets is told, or it is told to wait. */
  private async checkStableOffset(index: number): Promise<void> {
    const last = this.attempts.findLast(({ transactionalId }) => transactionalId === `id-${index}`);
    if (last?.outcome !== "committed" || last.ackedOffset === null) return;
    const { offset, errorCode } = await this.broker.offset(index, true);
    if (errorCode === ErrorCode.NONE && offset !== last.ackedOffset) {
      throw new Violation(`the stable offset is ${offset}, ${last.ackedOffset} was committed`);
    }
  }

  private visible(): string[] {
    const values: string[] = [];
    for (let index = 0; index < PARTITIONS; index++) values.push(...this.broker.committedValues(index));
    if (new Set(values).size !== values.length) throw new Violation("a value is there twice");
    return values;
  }

  private async checkEnd(): Promise<void> {
    this.checkStates();
    for (let index = 0; index < PARTITIONS; index++) {
      const [stable, end] = [this.broker.lastStableOffset(index), this.broker.highWatermark(index)];
      if (stable !== end) throw new Violation(`t-${index} is stable up to ${stable} of ${end} only`);
    }
    for (let id = 0; id < TRANSACTIONAL_IDS; id++) {
      const { transactionalId, transactionState } = await this.broker.transactions.describe(`id-${id}`);
      if (/Ongoing|Prepare/.test(transactionState)) {
        throw new Violation(`${transactionalId} is left ${transactionState}`);
      }
    }
    const visible = new Set(this.visible());
    for (const value of this.seen) {
      if (!visible.has(value)) throw new Violation(`${value} was visible, and is not any more`);
    }
    for (const attempt of this.attempts) checkWhole(attempt, visible);
    for (const value of visible) {
      if (this.attemptOf.get(value)?.commitAsked !== true) {
        throw new Violation(`${value} was not to be committed`);
      }
    }
    for (let index = 0; index < TRANSACTIONAL_IDS; index++) await this.checkOffset(index, visible);
  }

  /** The offset is that of the last transaction that staged one and is visible. */
  private async checkOffset(index: number, visible: ReadonlySet<string>): Promise<void> {
    const counted = this.attempts.filter((attempt) =>
      attempt.transactionalId === `id-${index}` && attempt.ackedOffset !== null &&
      attempt.acked.some((value) => visible.has(value))
    );
    const expected = counted.at(-1)?.ackedOffset ?? -1;
    const { offset, errorCode } = await this.broker.offset(index, true);
    if (errorCode !== ErrorCode.NONE) throw new Violation(`the offset of id-${index}: error ${errorCode}`);
    if (offset !== expected) throw new Violation(`the offset of id-${index} is ${offset}, not ${expected}`);
  }

  /** What the coordinator knows is what its log says. */
  private checkStates(): void {
    this.broker.retry();
    const { live, rebuilt } = this.broker.states();
    const text = (transactions: typeof live) =>
      JSON.stringify([...transactions.values()].map(({ partitions, lastProducerEpoch: _, ...rest }) => ({
        ...rest,
        partitions: [...partitions].map(([topic, indexes]) => [topic, [...indexes]]),
      })));
    if (text(live) !== text(rebuilt)) {
      throw new Violation(`the log says\n${text(rebuilt)}, the coordinator\n${text(live)}`);
    }
  }
}

/** All of a transaction is visible, or nothing. */
function checkWhole({ acked, outcome, transactionalId }: Attempt, visible: ReadonlySet<string>): void {
  const there = acked.filter((value) => visible.has(value));
  const text = `${transactionalId}: of ${acked} there is [${there}]`;
  if (outcome === "committed" && there.length < acked.length) throw new Violation(`lost, ${text}`);
  if (outcome === "aborted" && there.length > 0) {
    throw new Violation(`aborted and visible, ${text}`);
  }
  if (there.length > 0 && there.length < acked.length) throw new Violation(`torn, ${text}`);
}

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 40; turns++) await Promise.resolve();
}
