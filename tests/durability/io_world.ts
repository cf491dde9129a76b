/**
 * A workload over a data directory that makes every kind of I/O call there is, the same ones for the same seed: appends,
 * rolls, flushes, retention, deletions, snapshots, checkpoints, truncations, clean and unclean restarts, lost indexes.
 * Every call is shown to whoever looks on, who may make it fail or take an image of what a crash would leave.
 */

import { assert } from "../../src/base/assert.ts";
import { ManualClock } from "../../src/base/clock.ts";
import { Prng } from "../../src/base/prng.ts";
import { BatchView, buildBatch } from "../../src/codec/batch.ts";
import { buildEndMarker } from "../../src/codec/end_marker.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { newUuid } from "../../src/codec/uuid.ts";
import { Partition, UNVERIFIED } from "../../src/replication/partition.ts";
import { DataDirectoryError } from "../../src/storage/directory/data_directory.ts";
import { type Fault, FaultyFiles, type Operation } from "../../src/storage/files/faulty.ts";
import { IoError } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { Log } from "../../src/storage/log/log.ts";
import { SYNC_FAILED_FILE } from "../../src/storage/directory/names.ts";
import { checkLogs, claimLogs, DIRECTORY, openDirectory, type Opened } from "./io_checker.ts";
import { KEYED } from "./io_compacted.ts";
import { type Entry, entryOf, Ledger, Violation } from "./io_ledger.ts";

/** Is shown each call before it is done; what it gives makes the call fail. */
export type Onlooker = (operation: Operation, world: World) => Fault | null;

const TOPICS = ["plain", "synced", "aged", "sized", "follower", "churn", "transacted", KEYED] as const;
/** More than any run of faults lasts. */
const TRIES = 40;

interface Producer {
  id: number;
  epoch: number;
  nextSequence: number;
  /** A batch that was sent and not acknowledged: to be sent again before any other. */
  pending: Uint8Array | null;
  /** Has written since its last transaction ended. */
  isInTransaction: boolean;
}

/** A partition that is in use. */
interface Hosted {
  ledger: Ledger;
  log: Log;
  partition: Partition;
  producers: Producer[];
}

type Step = (world: World) => void | Promise<void>;

export class World {
  memory: MemoryFiles;
  readonly clock = new ManualClock();
  /** All that there ever was. */
  readonly ledgers: Ledger[] = [];
  /** Operations so far. */
  operations = 0;
  /** So many of them failed. */
  faults = 0;
  /** What is being done, for the trace. */
  doing = "";
  readonly bootId = "boot";
  /** Directories in which a sync failed, and no flush has succeeded since. */
  private readonly failedSyncs = new Set<string>();
  /** Whose file of leader epochs does not know of a deletion: after a crash that is believed, and hides fewer records. */
  private readonly staleEpochs = new Set<Ledger>();
  private readonly random: Prng;
  private opened: Opened | null = null;
  private readonly hosted = new Map<string, Hosted>();
  private epoch = 0;
  private records = 0;

  constructor(readonly seed: number, private readonly onlooker: Onlooker = () => null) {
    this.random = new Prng(seed);
    this.memory = new MemoryFiles(() => this.clock.now());
  }

  /** Runs the workload, or as much of it as `goesOn` lets. Throws {@link Violation}. */
  async run(goesOn: () => boolean = () => true): Promise<void> {
    for (const { name, step } of this.script()) {
      this.doing = name;
      await step(this);
      // What was begun in the background goes on beside the next step, or is done by then.
      for (let turns = this.random.int(12); turns > 0; turns--) await Promise.resolve();
      if (!goesOn()) return;
    }
  }

  private script(): { name: string; step: Step }[] {
    const steps: { name: string; step: Step }[] = [];
    const add = (count: number, name: string, step: Step) => {
      for (let i = 0; i < count; i++) steps.push({ name, step });
    };
    const { random } = this;
    const any = () => random.pick([...this.hosted.values()]);
    add(34, "append", (world) => world.append(any()));
    add(5, "append to the follower", (world) => world.append(world.hosted.get("follower-0")!));
    add(5, "append at once", (world) => world.appendAtOnce());
    add(14, "append to the compacted", (world) => world.append(world.hosted.get(`${KEYED}-0`)!));
    add(20, "append to the transacted", (world) => world.append(world.hosted.get("transacted-0")!));
    add(4, "flush", (world) => world.flush(any()));
    add(2, "tick after 1 s", (world) => world.tick(1000));
    add(2, "tick after 6 s", (world) => world.tick(6000));
    add(2, "tick after 61 s", (world) => world.tick(61_000));
    add(2, "tick after 301 s", (world) => world.tick(301_000));
    add(3, "read", (world) => world.read(any()));
    add(2, "delete records", (world) => world.deleteRecords(any()));
    add(2, "truncate", (world) => world.truncate(world.hosted.get("follower-0")!));
    add(2, "delete and make again", (world) => world.recreate());
    add(1, "new leader epoch", (world) => world.newEpoch());
    add(1, "stop and start", (world) => world.restart(true));
    add(2, "kill and start", (world) => world.restart(false));
    add(1, "stop, lose an index, start", (world) => world.loseIndex());
    random.shuffle(steps);
    return [
      { name: "start", step: (world) => world.start() },
      { name: "make partitions", step: (world) => world.makeAll() },
      ...steps,
      { name: "stop", step: (world) => world.stop() },
      { name: "start", step: (world) => world.start() },
    ];
  }

  // ------------------------------------------------------------------------------------------------- the process

  private files(): FaultyFiles {
    const { memory } = this;
    return new FaultyFiles(memory, (operation) => {
      // A process that was killed does nothing any more.
      if (this.memory !== memory) return { code: "ESRCH" };
      const fault = this.onlooker({ ...operation, number: ++this.operations }, this);
      if (fault !== null) this.faults++;
      if (fault !== null && operation.kind === "sync") {
        this.failedSyncs.add(operation.path.split("/")[2]);
        memory.failSync(operation.path, () => this.random.float(), false);
      }
      return fault;
    });
  }

  private async start(): Promise<void> {
    for (let tries = 1;; tries++) {
      try {
        this.opened = await openDirectory(this.files(), this.clock, this.bootId);
        claimLogs(this.opened, this.ledgers);
        break;
      } catch (error) {
        if (!(error instanceof DataDirectoryError || error instanceof IoError)) throw error;
        await this.opened?.manager.close();
        if (tries === TRIES) throw new Violation(`the directory cannot be opened any more: ${error}`);
      }
    }
    this.hosted.clear();
    for (const ledger of this.ledgers) this.host(ledger);
    this.makeAll();
  }

  private host(ledger: Ledger): void {
    const log = this.opened!.manager.get(ledger.topic, ledger.partition);
    if (log === undefined || log.topicId !== ledger.topicId || ledger.state === "removed") return;
    const partition = new Partition(log, ledger.topicId, 1, this.epoch, [1]);
    const producers: Producer[] = [];
    ledger.state = "there";
    this.hosted.set(ledger.name, { ledger, log, partition, producers });
  }

  private async stop(): Promise<void> {
    await this.opened!.manager.close();
    this.doubt();
    this.hosted.clear();
    this.opened = null;
  }

  /** The ledgers as they are now, should everything end here. */
  ledgersAtEnd(): Ledger[] {
    return this.ledgers.map((ledger) => {
      const copy = ledger.copy();
      copy.isDoubted ||= this.lacksNote(ledger);
      return copy;
    });
  }

  private doubt(): void {
    for (const { ledger } of this.hosted.values()) ledger.isDoubted ||= this.lacksNote(ledger);
  }

  /** What a failed sync has dropped, and nobody has written again, the next process cannot know without a note. */
  private lacksNote({ name }: Ledger): boolean {
    return this.failedSyncs.has(name) &&
      this.memory.stat(`${DIRECTORY}/${name}/${SYNC_FAILED_FILE}`) === null;
  }

  private async restart(cleanly: boolean): Promise<void> {
    const former = new Map([...this.hosted].map(([name, { producers }]) => [name, producers]));
    if (cleanly) {
      await this.stop();
    } else {
      this.doubt();
      this.memory = this.memory.crashed("killed");
    }
    await this.start();
    this.adopt();
    for (const [name, hosted] of this.hosted) hosted.producers = former.get(name) ?? [];
  }

  /** After a restart the log decides which batches there are that nobody was told of. */
  private adopt(): void {
    for (let tries = 1;; tries++) {
      const { faults } = this;
      try {
        // The first use opens a log that the disk kept from being opened at the start.
        for (const { log } of this.hosted.values()) log.activeProducers();
        for (const { ledger, originals } of checkLogs(this.opened!, this.ledgers, "killed")) {
          const first = originals[0]?.baseOffset ?? Infinity;
          const before = ledger.written.filter(({ lastOffset }) => lastOffset < first);
          ledger.written = [...before, ...originals];
        }
        return;
      } catch (error) {
        // Some call of the look itself failed: the next look is not disturbed.
        if (faults === this.faults || tries === TRIES) throw error;
      }
    }
  }

  private async loseIndex(): Promise<void> {
    await this.stop();
    const paths = this.memory.list(DIRECTORY).filter(({ isDirectory }) => isDirectory).flatMap(({ name }) =>
      this.memory.list(`${DIRECTORY}/${name}`).map((file) => `${DIRECTORY}/${name}/${file.name}`)
    );
    for (const path of paths) {
      // What was aborted is in no other place: of a closed segment it is not looked for in the batches.
      if (/\.(time)?index$/.test(path) && this.random.chance(0.3)) this.memory.remove(path);
    }
    await this.start();
    this.adopt();
  }

  // --------------------------------------------------------------------------------------------------- partitions

  private makeAll(): void {
    for (const topic of TOPICS) if (!this.hosted.has(`${topic}-0`)) this.make(topic);
  }

  private make(topic: string): void {
    const { manager } = this.opened!;
    const unfinished = this.ledgers.find((one) => one.topic === topic && one.state === "making");
    const topicId = newUuid(({ length }) => this.random.bytes(length));
    const ledger = unfinished ?? new Ledger(
      topic,
      0,
      topicId,
      topic === "synced",
      topic === "aged" ? 200_000 : -1,
      topic === "sized" ? 2000 : -1,
    );
    if (unfinished === undefined) this.ledgers.push(ledger);
    for (let tries = 1; tries <= TRIES; tries++) {
      try {
        // One that nobody knows is in the way, as after a deletion that a crash undid.
        const stranger = manager.get(topic, 0);
        if (stranger !== undefined && stranger.topicId !== ledger.topicId) manager.setAside(stranger);
        if (manager.get(topic, 0) === undefined) manager.create(topic, 0, ledger.topicId);
        ledger.state = "there";
        return this.host(ledger);
      } catch (error) {
        if (!(error instanceof IoError)) throw error;
      }
    }
    throw new Violation(`${topic}-0 cannot be made any more`);
  }

  private recreate(): void {
    const { manager } = this.opened!;
    const { ledger } = this.hosted.get("churn-0")!;
    ledger.state = "removing";
    for (let tries = 1;; tries++) {
      try {
        manager.remove("churn", 0);
        break;
      } catch (error) {
        if (!(error instanceof IoError)) throw error;
        if (tries === TRIES) throw new Violation("churn-0 cannot be removed any more");
      }
    }
    ledger.state = "removed";
    this.hosted.delete("churn-0");
    this.make("churn");
  }

  private newEpoch(): void {
    this.epoch++;
    for (const hosted of this.hosted.values()) {
      hosted.log.assignLeaderEpoch(this.epoch);
      const { highWatermark } = hosted.log;
      hosted.partition = new Partition(hosted.log, hosted.ledger.topicId, 1, this.epoch, [1]);
      // What nobody acknowledged yet is not committed by this either.
      if (hosted.ledger.syncs) hosted.log.highWatermark = highWatermark;
    }
  }

  // ------------------------------------------------------------------------------------------------------ writing

  private nextBatch(hosted: Hosted): { producer: Producer | null; bytes: Uint8Array } {
    const { random, clock } = this;
    const count = random.between(1, 3);
    const isKeyed = hosted.ledger.topic === KEYED;
    const records = Array.from({ length: count }, () => ({
      timestamp: clock.now() + random.between(-3000, 3000),
      key: isKeyed ? new TextEncoder().encode(`key ${random.int(6)}`) : null,
      value: isKeyed && random.chance(0.2)
        ? null
        : new TextEncoder().encode(`${++this.records}`.padEnd(random.between(5, 200), "x")),
    }));
    if (random.chance(0.2)) return { producer: null, bytes: buildBatch(records) };
    const { producers } = hosted;
    if (producers.length < 3 && random.chance(0.4)) {
      producers.push({
        id: random.nextU32(),
        epoch: 0,
        nextSequence: 0,
        pending: null,
        isInTransaction: false,
      });
    }
    if (producers.length === 0) return { producer: null, bytes: buildBatch(records) };
    const producer = random.pick(producers);
    if (producer.pending !== null) return { producer, bytes: producer.pending };
    const isTransactional = hosted.ledger.topic === "transacted";
    if (isTransactional && producer.isInTransaction && random.chance(0.4)) {
      return { producer, bytes: this.endOf(producer) };
    }
    const { id, epoch, nextSequence } = producer;
    const bytes = buildBatch(records, {
      producerId: id,
      producerEpoch: epoch,
      baseSequence: nextSequence,
      isTransactional,
    });
    producer.pending = bytes;
    producer.isInTransaction = isTransactional;
    producer.nextSequence += count;
    return { producer, bytes };
  }

  /** The marker that ends the producer's transaction, and often raises its epoch. */
  private endOf(producer: Producer): Uint8Array {
    const { random, clock } = this;
    if (random.chance(0.3)) {
      producer.epoch++;
      producer.nextSequence = 0;
    }
    producer.isInTransaction = false;
    const { id: producerId, epoch: producerEpoch } = producer;
    const marker = { producerId, producerEpoch, isCommit: random.chance(0.4), coordinatorEpoch: 0 };
    return producer.pending = buildEndMarker(marker, clock.now());
  }

  private async append(hosted: Hosted): Promise<void> {
    if (hosted.ledger.topic === "follower") return this.replicate(hosted);
    const { producer, bytes } = this.nextBatch(hosted);
    for (let tries = 0; tries < 3; tries++) {
      if (await this.sendOnce(hosted, bytes)) {
        if (producer !== null) producer.pending = null;
        return;
      }
      if (producer === null) return;
    }
  }

  /** True when the batch was acknowledged. */
  private async sendOnce({ ledger, log, partition }: Hosted, sent: Uint8Array): Promise<boolean> {
    const bytes = sent.slice();
    const result = this.appendOnce(ledger, log, bytes, partition.leaderEpoch, () => {
      const origin = new BatchView(bytes).isControl ? "coordinator" : "client";
      return partition.append(bytes, origin, this.clock.now(), { verification: UNVERIFIED });
    });
    if (result === null) return false;
    const { lastOffset, mustFlush, committed } = result;
    assert(mustFlush === ledger.syncs || result.duplicate, "flush.messages is not obeyed");
    if (committed !== null && await committed !== ErrorCode.NONE) return false;
    ledger.acknowledgedEnd = Math.max(ledger.acknowledgedEnd, lastOffset + 1);
    if (committed !== null) ledger.flushedEnd = Math.max(ledger.flushedEnd, lastOffset + 1);
    return true;
  }

  /** Notes what the append may leave behind before it is made, and what it did. Null when the disk failed. */
  private appendOnce<R extends { errorCode: number; baseOffset: number; duplicate: boolean }>(
    ledger: Ledger,
    log: Log,
    bytes: Uint8Array,
    leaderEpoch: number,
    work: () => R,
  ): R | null {
    const planned = bytes.slice();
    const batch = new BatchView(planned);
    batch.baseOffset = log.nextOffset;
    batch.partitionLeaderEpoch = leaderEpoch;
    const entry = entryOf(planned, ledger.last);
    ledger.doubtful.push(entry);
    const result = work();
    if (result.errorCode === ErrorCode.KAFKA_STORAGE_ERROR) return null;
    if (result.errorCode !== ErrorCode.NONE) {
      throw new Violation(`${ledger.name} refuses a batch with error ${result.errorCode}`);
    }
    if (result.duplicate) return result;
    if (result.baseOffset !== entry.baseOffset) {
      throw new Violation(
        `${ledger.name} gave offset ${result.baseOffset}, but ended at ${entry.baseOffset}`,
      );
    }
    this.enter(ledger, entry);
    return result;
  }

  private enter(ledger: Ledger, entry: Entry): void {
    ledger.doubtful = ledger.doubtful.filter((other) => other !== entry);
    ledger.written.push(entry);
  }

  /** Several at once; where acknowledging waits for a sync, all wait for one. */
  private async appendAtOnce(): Promise<void> {
    const hosted = this.hosted.get("synced-0")!;
    const batches = Array.from({ length: 3 }, () => {
      const record = {
        timestamp: this.clock.now(),
        key: null,
        value: new TextEncoder().encode(`${++this.records}`),
      };
      return buildBatch([record]);
    });
    await Promise.all(batches.map((bytes) => this.sendOnce(hosted, bytes)));
  }

  private replicate({ ledger, log }: Hosted): void {
    const { random, clock } = this;
    const value = new TextEncoder().encode(`${++this.records}`.padEnd(random.between(5, 200), "y"));
    const records = [{ timestamp: clock.now(), key: null, value }];
    // Two producers, in transactions that end now and then.
    const producer = { producerId: random.int(2), producerEpoch: 0 };
    const bytes = random.chance(0.3)
      ? buildEndMarker({ ...producer, isCommit: random.chance(0.4), coordinatorEpoch: 0 }, clock.now())
      : buildBatch(records, { ...producer, baseSequence: this.records, isTransactional: true });
    const batch = new BatchView(bytes);
    batch.baseOffset = log.nextOffset;
    batch.partitionLeaderEpoch = this.epoch;
    for (let tries = 0; tries < 3; tries++) {
      const result = this.appendOnce(
        ledger,
        log,
        bytes,
        this.epoch,
        () => log.appendAsFollower(bytes, clock.now()),
      );
      if (result === null) continue;
      log.highWatermark = log.nextOffset;
      ledger.acknowledgedEnd = log.nextOffset;
      return;
    }
  }

  private truncate({ ledger, log }: Hosted): void {
    const entries = ledger.written.filter(({ baseOffset }) => baseOffset > ledger.start);
    if (entries.length === 0) return;
    const to = this.random.pick(entries.slice(-6)).baseOffset;
    ledger.cut(to);
    for (let tries = 1;; tries++) {
      if (this.opened!.manager.truncate(log, to) === ErrorCode.NONE) break;
      if (tries === TRIES) throw new Violation(`${ledger.name} cannot be truncated any more`);
    }
    log.highWatermark = Math.min(log.highWatermark, log.nextOffset);
    this.epoch++;
  }

  // ------------------------------------------------------------------------------------------------------- upkeep

  private async flush({ ledger, log }: Hosted): Promise<void> {
    const { end } = ledger;
    try {
      await log.flush();
      this.failedSyncs.delete(ledger.name);
      if (log.nextOffset >= end && log.flushedOffset >= end) {
        ledger.flushedEnd = Math.max(ledger.flushedEnd, end);
      }
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
    }
  }

  private async tick(ms: number): Promise<void> {
    this.clock.advance(ms);
    const { faults } = this;
    await this.opened!.manager.tick();
    await this.opened!.manager.compactionSettled();
    for (const { ledger, log } of this.hosted.values()) {
      ledger.start = Math.max(ledger.start, log.logStartOffset);
      if (faults === this.faults && !this.staleEpochs.has(ledger)) {
        ledger.checkpointedStart = log.logStartOffset;
      }
    }
  }

  private deleteRecords({ ledger, log }: Hosted): void {
    const { highWatermark, logStartOffset } = log;
    if (highWatermark <= logStartOffset) return;
    const offset = this.random.between(logStartOffset, highWatermark);
    const { faults } = this;
    const errorCode = this.opened!.manager.deleteRecordsBefore(log, offset);
    if (errorCode === ErrorCode.NONE) ledger.start = Math.max(ledger.start, offset);
    if (faults < this.faults) this.staleEpochs.add(ledger);
  }

  private read({ ledger, log }: Hosted): void {
    const offset = this.random.between(log.logStartOffset, log.nextOffset);
    const limits = { maxBytes: this.random.between(1, 1000), maxOffset: Infinity, minOneMessage: true };
    const { errorCode, bytes } = log.read(offset, limits);
    if (errorCode === ErrorCode.NONE && bytes.length > 0) {
      const { baseOffset, lastOffset } = new BatchView(bytes);
      if ((offset < baseOffset && ledger.topic !== KEYED) || offset > lastOffset) {
        throw new Violation(`${ledger.name} gives ${baseOffset}-${lastOffset} for a read at ${offset}`);
      }
    }
    try {
      log.offsetForTime(this.clock.now() - this.random.int(10_000), Infinity);
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
    }
  }

  /** With a disk that works again, everything does: what is acknowledged can be read, and appends are taken. */
  async checkAlive(): Promise<void> {
    this.doing = "look whether all is well again";
    this.adopt();
    for (const hosted of this.hosted.values()) {
      if (hosted.ledger.topic === "follower") continue;
      const alive = new TextEncoder().encode("alive");
      const key = hosted.ledger.topic === KEYED ? alive : null;
      const record = { timestamp: this.clock.now(), key, value: alive };
      if (!await this.sendOnce(hosted, buildBatch([record]))) {
        throw new Violation(`${hosted.ledger.name} takes no records although the disk works`);
      }
      const { highWatermark, nextOffset } = hosted.log;
      if (highWatermark !== nextOffset) {
        throw new Violation(`${hosted.ledger.name} has committed ${highWatermark} of ${nextOffset}`);
      }
      await this.flush(hosted);
    }
  }
}
