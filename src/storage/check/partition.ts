/**
 * Looking at one partition's directory: its segments with their indexes, producer snapshots, leader epochs, and what the
 * checkpoints of the data directory say of it. What the broker would do about a fault depends on how the directory was
 * left: after an orderly stop it believes what it finds, after any other it reads from the recovery point on.
 */

import type { Report, Severity } from "../../base/finding.ts";
import { EpochCheck } from "./epochs.ts";
import { OffsetIndexCheck, TimeIndexCheck } from "./index.ts";
import { scanSegment, type SeenBatch, type Stretch } from "./segment.ts";
import { lookAtEpochs, lookAtSnapshot, lookAtTopicId, lookAtTransactions } from "./small_files.ts";
import { TransactionCheck } from "./transactions.ts";
import type { EpochEntry } from "../directory/checkpoints.ts";
import type { Files } from "../files/files.ts";
import type { HandlePool } from "../files/handles.ts";
import {
  CLEANED_SUFFIX,
  DELETED_SUFFIX,
  LEADER_EPOCH_FILE,
  LOG_SUFFIX,
  OFFSET_INDEX_SUFFIX,
  offsetName,
  offsetOfName,
  PARTITION_METADATA_FILE,
  SNAPSHOT_SUFFIX,
  STRAY_SUFFIX,
  SWAP_SUFFIX,
  SYNC_FAILED_FILE,
  TIME_INDEX_SUFFIX,
  TRANSACTION_INDEX_SUFFIX,
} from "../directory/names.ts";
import { floorSegment, Segment, SEGMENT_SUFFIXES } from "../segment/segment.ts";

export interface PartitionCheckInput {
  readonly files: Files;
  readonly pool: HandlePool;
  /** The partition's directory. */
  readonly path: string;
  /** The marker of an orderly stop is there. */
  readonly closed: boolean;
  /** What the checkpoints say; undefined when they do not name the partition. */
  readonly recoveryPoint: number | undefined;
  readonly logStartOffset: number | undefined;
  readonly highWatermark: number | undefined;
  /** What the metadata says; null when it does not know the topic, or is not there. */
  readonly topicId: string | null;
  /** The leader epoch in the metadata; Infinity when not known. */
  readonly maxEpoch: number;
  /** Whether a compactor may have worked here. */
  readonly compacted: boolean;
  readonly deep: boolean;
  readonly report: Report;
  /** Is told of bytes of segments that have been looked at. */
  onBytes(count: number): void;
}

export interface PartitionCheck {
  readonly segments: number;
  readonly batches: number;
}

/** More than these are counted, not told. */
const STRETCHES_TOLD = 20;

/** Looks at everything. Throws `IoError`. */
export function checkPartition(i: PartitionCheckInput): PartitionCheck {
  return new PartitionChecker(i).run();
}

class PartitionChecker {
  private readonly names: string[];
  private readonly segments: Segment[] = [];
  /** Faults in segments, whose outcome depends on what comes behind them; those above a number are counted only. */
  private readonly stretches: (Stretch & { segment: number })[] = [];
  private moreStretches = 0;
  /** The last segment and position at which an intact batch was found. */
  private lastIntact = { segment: -1, position: -1 };
  private batches = 0;
  /** Where the log ends; null when that cannot be told. */
  private endOffset: number | null = null;
  /** Where it ends by the header of its last batch, which is all that a broker looks at after an orderly stop. */
  private claimedEnd: number | null = null;
  /** After a crash, the segment that the broker begins to read in, and where in it. */
  private readonly checkedFrom: { segment: number; position: number };
  private toldOfEpochs = false;
  private readonly transactions: TransactionCheck;

  constructor(private readonly i: PartitionCheckInput) {
    const { files, pool, path } = i;
    this.names = files.list(path).filter((entry) => !entry.isDirectory).map((entry) => entry.name).sort();
    const place = { path };
    for (const name of this.names) {
      const base = offsetOfName(name, LOG_SUFFIX);
      const info = base === null ? null : files.stat(`${path}/${name}`);
      if (info !== null) this.segments.push(new Segment(pool, place, base!, info.size, info.modifiedMs));
    }
    this.transactions = new TransactionCheck(!i.compacted && (this.segments[0]?.baseOffset ?? 0) === 0);
    this.checkedFrom = { segment: floorSegment(this.segments, i.recoveryPoint ?? 0), position: 0 };
  }

  run(): PartitionCheck {
    this.checkTopicId();
    this.checkLeftOvers();
    const epochs = this.epochs();
    this.scanSegments(epochs);
    for (const stretch of this.stretches) this.tellOfStretch(stretch);
    this.tellOfMore();
    this.checkEnds(epochs);
    this.checkSnapshots();
    return { segments: this.segments.length, batches: this.batches };
  }

  private tell(
    severity: Severity,
    name: string,
    position: number | null,
    problem: string,
    outcome: string,
  ): void {
    const { path, report } = this.i;
    report({ severity, file: name === "" ? path : `${path}/${name}`, position, problem, outcome });
  }

  // ------------------------------------------------------------------------------------------------- small files

  private checkTopicId(): void {
    const { files, path, topicId } = this.i;
    const { value, problem } = lookAtTopicId(files, `${path}/${PARTITION_METADATA_FILE}`);
    const rewritten = topicId === null
      ? "adopts the topic with the id that its other partitions have, or a new one"
      : "writes it anew with the id that the metadata has";
    if (problem !== null) {
      const outcome = value === null ? rewritten : "does not look at that";
      this.tell("damage", PARTITION_METADATA_FILE, 0, problem, outcome);
    } else if (value === null) {
      this.tell("damage", PARTITION_METADATA_FILE, null, "it is missing", rewritten);
    }
    if (value !== null && topicId !== null && value !== topicId) {
      const text = `the topic id is ${value}, the metadata has ${topicId} for the topic`;
      const outcome = [...value].filter((character, at) => character !== topicId[at]).length === 1
        ? "puts that in its place: ids that differ so little are one that is damaged"
        : "sets the directory aside, keeps it, and begins an empty one";
      this.tell("damage", PARTITION_METADATA_FILE, null, text, outcome);
    }
  }

  private checkLeftOvers(): void {
    const bases = new Set(this.segments.map((segment) => segment.baseOffset));
    for (const name of this.names) {
      if (name.endsWith(DELETED_SUFFIX)) {
        this.tell("note", name, null, "it waits to be deleted", "removes it");
      } else if (name.endsWith(CLEANED_SUFFIX) || name.endsWith(".tmp")) {
        this.tell("note", name, null, "it was not finished", "removes it");
      } else if (name.endsWith(SWAP_SUFFIX)) {
        const outcome = "puts it in the place of what it covers, unless it is incomplete";
        this.tell("note", name, null, "a compaction was cut short", outcome);
      } else if (name === SYNC_FAILED_FILE) {
        this.tell("note", name, null, "a sync of the log failed", "brings the log to the device anew");
      } else if (name.endsWith(STRAY_SUFFIX)) {
        this.tell("note", name, null, "it was set aside earlier", "leaves it alone");
      }
      for (const suffix of SEGMENT_SUFFIXES) {
        const base = offsetOfName(name, suffix);
        if (base === null || bases.has(base)) continue;
        const text = `the segment's ${offsetName(base, LOG_SUFFIX)} is missing`;
        // Of a segment that is removed this one goes last.
        if (suffix === TRANSACTION_INDEX_SUFFIX) this.tell("note", name, null, text, "removes it");
        else this.tell("damage", name, null, text, "removes it, and goes on without the segment's records");
      }
    }
  }

  private epochs(): EpochEntry[] {
    const { files, path } = this.i;
    const { value, problem } = lookAtEpochs(files, `${path}/${LEADER_EPOCH_FILE}`);
    if (problem !== null) {
      this.tell("damage", LEADER_EPOCH_FILE, null, problem, "reads the epochs from the batches");
      // So that not every batch is told of as well.
      this.toldOfEpochs = true;
    }
    return value ?? [];
  }

  // ---------------------------------------------------------------------------------------------------- segments

  private scanSegments(epochs: EpochEntry[]): void {
    const { closed, recoveryPoint = 0, logStartOffset = 0 } = this.i;
    const check = new EpochCheck(epochs, logStartOffset, closed ? Infinity : recoveryPoint, this.i.maxEpoch);
    let before: number | null = null;
    for (const [index, segment] of this.segments.entries()) {
      if (before !== null) this.checkSeam(index, before);
      const end = this.scanOne(index, check);
      segment.close();
      before = end ?? (segment.size === 0 ? Math.max(before ?? 0, segment.baseOffset) : null);
    }
    this.endOffset = this.segments.length === 0 ? this.i.logStartOffset ?? 0 : before;
    if (check.hasEarlier) {
      const text = `its first epoch begins at offset ${
        epochs[0].startOffset
      }, but there are batches with an epoch before`;
      // Kafka is slow to note a log start: when it crashes, the epochs alone remember.
      this.tell(
        "note",
        LEADER_EPOCH_FILE,
        null,
        text,
        "has records there again that were deleted, if any were",
      );
    }
  }

  /** Whether a segment begins where the one before it ends. */
  private checkSeam(index: number, before: number): void {
    const { baseOffset } = this.segments[index];
    if (baseOffset === before || (baseOffset > before && this.i.compacted)) return;
    const problem = baseOffset < before
      ? `it begins at offset ${baseOffset}, before the segment before it ends, at ${before}`
      : `it begins at offset ${baseOffset}, but the segment before it ends at ${before}: the records between are missing`;
    const kind = baseOffset < before ? "offset" : "gap";
    this.note(index, { kind, position: 0, end: 0, offset: before, problem });
  }

  private note(segment: number, stretch: Stretch): void {
    if (this.stretches.length < STRETCHES_TOLD) this.stretches.push({ ...stretch, segment });
    else this.moreStretches++;
  }

  private scanOne(index: number, epochs: EpochCheck): number | null {
    const { i } = this;
    const segment = this.segments[index];
    const name = offsetName(segment.baseOffset, LOG_SUFFIX);
    const offsets = this.offsetIndex(index);
    const times = this.timeIndex(index);
    let passed = 0;
    let wasDamaged = false;
    const scan = scanSegment({
      segment,
      firstOffset: i.compacted ? null : segment.baseOffset,
      compacted: i.compacted,
      deep: i.deep,
      onBatch: (batch) => {
        this.lastIntact = { segment: index, position: batch.position };
        if (wasDamaged) times?.skipTo(batch.baseOffset);
        wasDamaged = false;
        offsets?.batch(batch.position, batch.baseOffset, batch.lastOffset);
        times?.batch(batch.baseOffset, batch.lastOffset, batch.maxTimestamp);
        this.checkEpoch(epochs, name, batch);
        this.checkRecoveryPoint(name, batch);
      },
      onTransactional: (batch, baseOffset, lastOffset) =>
        this.transactions.batch(batch, baseOffset, lastOffset),
      onStretch: (stretch) => {
        this.note(index, stretch);
        this.transactions.lose();
        if (stretch.kind !== "framing" && stretch.kind !== "content") return;
        offsets?.skipTo(stretch.end);
        wasDamaged = true;
      },
      onPosition: (position) => {
        i.onBytes(position - passed);
        passed = position;
      },
    });
    this.batches += scan.batches;
    offsets?.finish(segment.size);
    if (wasDamaged) times?.skipTo(Infinity);
    times?.finish(i.closed || index < this.checkedFrom.segment);
    if (
      offsets !== null && index === this.checkedFrom.segment && (i.recoveryPoint ?? 0) > segment.baseOffset
    ) {
      this.checkedFrom.position = offsets.positionBefore;
    }
    this.checkTransactions(index);
    this.claimedEnd = scan.claimedNextOffset;
    return scan.nextOffset;
  }

  /** Whether the broker makes the indexes of a segment anew, whatever is in them. */
  private isRebuilt(index: number): boolean {
    const { closed, recoveryPoint = 0 } = this.i;
    const { segment } = this.checkedFrom;
    return !closed &&
      (index > segment || (index === segment && recoveryPoint <= this.segments[index].baseOffset));
  }

  private offsetIndex(index: number): OffsetIndexCheck | null {
    const { baseOffset, offsets: { file } } = this.segments[index];
    const size = this.indexSize(index, file.name);
    if (size === null) return null;
    const fault = this.indexFault(index, file.name);
    return new OffsetIndexCheck(file, size, baseOffset, this.i.recoveryPoint ?? 0, fault);
  }

  private timeIndex(index: number): TimeIndexCheck | null {
    const { baseOffset, times: { file } } = this.segments[index];
    const size = this.indexSize(index, file.name);
    return size === null
      ? null
      : new TimeIndexCheck(file, size, baseOffset, this.indexFault(index, file.name));
  }

  /** Null, and told, when there is no such file. */
  private indexSize(index: number, name: string): number | null {
    const info = this.i.files.stat(`${this.i.path}/${name}`);
    if (info === null) this.indexFault(index, name, "at its next use")(null, "it is missing");
    return info === null ? null : info.size;
  }

  private indexFault(
    index: number,
    name: string,
    when =
      "when a lookup comes upon that, or after the file is deleted while it is stopped; it finds the records all the same",
  ): (position: number | null, problem: string) => void {
    const rebuilt = this.isRebuilt(index);
    const outcome = `makes the segment's indexes anew ${rebuilt ? "at start" : when}`;
    return (position, problem) => this.tell(rebuilt ? "note" : "damage", name, position, problem, outcome);
  }

  private checkEpoch(epochs: EpochCheck, name: string, batch: SeenBatch): void {
    const problem = epochs.batch(batch);
    if (problem === null || this.toldOfEpochs) return;
    this.toldOfEpochs = true;
    const outcome = "goes by the checkpoint, and consumers are told what the batch says";
    this.tell("damage", name, batch.position, problem, outcome);
  }

  private checkRecoveryPoint(name: string, { position, baseOffset, lastOffset }: SeenBatch): void {
    const { recoveryPoint = 0, closed } = this.i;
    if (closed || recoveryPoint <= baseOffset || recoveryPoint > lastOffset) return;
    const text =
      `the recovery point ${recoveryPoint} lies inside of the batch from ${baseOffset} to ${lastOffset}`;
    this.tell("damage", name, position, text, "reads the log from that batch on");
  }

  private checkTransactions(index: number): void {
    const { files, path, closed, recoveryPoint = 0 } = this.i;
    const segment = this.segments[index];
    const name = offsetName(segment.baseOffset, TRANSACTION_INDEX_SUFFIX);
    const { value, problem, position } = lookAtTransactions(files, `${path}/${name}`, segment.baseOffset);
    const remade =
      "makes it anew from the batches, at start or when a reader of committed records comes to it";
    if (problem !== null) {
      const isAtEnd = !closed && segment === this.segments.at(-1);
      this.tell(isAtEnd ? "note" : "damage", name, position, problem, remade);
    }
    const isThere = (suffix: string) =>
      files.stat(`${path}/${offsetName(segment.baseOffset, suffix)}`) !== null;
    // As `TransactionIndex` does: nobody leaves an empty one where something was aborted.
    const isDoubted = value?.length === 0 &&
      (isThere(TRANSACTION_INDEX_SUFFIX) || !isThere(OFFSET_INDEX_SUFFIX) || !isThere(TIME_INDEX_SUFFIX));
    for (const { lastOffset, problem } of this.transactions.problems(value ?? [])) {
      if (value === null) continue;
      // What lies behind the recovery point is read from the batches.
      const isRemade = !closed && lastOffset >= recoveryPoint;
      const outcome = isRemade
        ? "makes it anew at start"
        : isDoubted
        ? remade
        : "goes by it: who reads committed records may be given what was aborted, or not what was committed";
      this.tell(isRemade ? "note" : "damage", name, null, problem, outcome);
    }
  }

  // ---------------------------------------------------------------------------------- what comes of faults in segments

  private tellOfStretch(stretch: Stretch & { segment: number }): void {
    const name = offsetName(this.segments[stretch.segment].baseOffset, LOG_SUFFIX);
    const { severity, outcome } = this.isCheckedAtStart(stretch)
      ? this.outcomeAtStart(stretch)
      : this.outcomeLater(stretch);
    this.tell(severity, name, stretch.position, stretch.problem, outcome);
  }

  private tellOfMore(): void {
    if (this.moreStretches === 0) return;
    const text = `${this.moreStretches} more places in its segments are damaged`;
    this.tell("damage", "", null, text, "treats them as those told of");
  }

  private isCheckedAtStart({ segment, position }: { segment: number; position: number }): boolean {
    if (!this.i.closed) {
      const from = this.checkedFrom;
      return segment > from.segment || (segment === from.segment && position >= from.position);
    }
    // Of a log that was closed in order the last segment is read when the log does not end where it should.
    const end = this.endOffset ?? this.claimedEnd;
    return segment === this.segments.length - 1 && end !== this.i.recoveryPoint;
  }

  private outcomeAtStart(stretch: Stretch & { segment: number }): { severity: Severity; outcome: string } {
    const { closed, recoveryPoint = 0, highWatermark = 0 } = this.i;
    const { kind, segment, position, end, offset, isCutShort = false } = stretch;
    if (kind === "records") return this.outcomeLater(stretch);
    if (kind === "gap" && position === 0) return this.outcomeLater(stretch);
    const { lastIntact } = this;
    const intactBehind = kind === "offset" || kind === "gap" || lastIntact.segment > segment ||
      (lastIntact.segment === segment && lastIntact.position > position);
    if (intactBehind) {
      const outcome =
        "takes the partition offline and cuts nothing off: there are intact batches from there on";
      return { severity: "damage", outcome };
    }
    if (closed && !isCutShort) {
      const outcome = "takes the partition offline: what is there was whole when the log was closed";
      return { severity: "damage", outcome };
    }
    const lost = Math.max(recoveryPoint, highWatermark);
    if (closed || offset < lost) {
      const outcome = `cuts the end off here: the records from offset ${offset} to ${
        Math.max(lost - 1, offset)
      } are lost`;
      return { severity: "damage", outcome };
    }
    if (kind === "content" && end === this.segments[segment].size) {
      const outcome =
        "cuts the end off here: an append that was not finished, or damage, since its checksum does not fit. " +
        `The records from offset ${offset} on are lost then, unless the file is restored from a copy before it starts`;
      return { severity: "damage", outcome };
    }
    return { severity: "note", outcome: "cuts the end off here: an append that was not finished" };
  }

  private outcomeLater({ kind, position }: Stretch): { severity: Severity; outcome: string } {
    if (kind === "gap" && position === 0) {
      return { severity: "damage", outcome: "tells of it, and goes on behind the gap" };
    }
    const outcomes: Record<Stretch["kind"], string> = {
      framing: "answers reads that come here with KAFKA_STORAGE_ERROR",
      content: "gives the batch as it is, and consumers refuse it by its checksum",
      offset: "answers reads that come here with KAFKA_STORAGE_ERROR",
      gap: "answers reads that come here with KAFKA_STORAGE_ERROR",
      records: "gives the batch as it is, and consumers cannot read it",
    };
    return { severity: "damage", outcome: outcomes[kind] };
  }

  // --------------------------------------------------------------------------------------------------- both ends

  private checkEnds(epochs: EpochEntry[]): void {
    const { closed, recoveryPoint, highWatermark } = this.i;
    const end = this.endOffset;
    const reached = Math.max(recoveryPoint ?? 0, highWatermark ?? 0);
    const last = this.segments.at(-1);
    const name = last === undefined ? "" : offsetName(last.baseOffset, LOG_SUFFIX);
    if (end !== null && end < reached) {
      const text = `the log ends at offset ${end}, but the checkpoints say that it reached ${reached}`;
      this.tell("damage", name, last?.size ?? null, text, "gives the lost offsets to new records");
    } else if (closed && end !== null && end > (recoveryPoint ?? 0)) {
      const says = recoveryPoint === undefined ? "do not name it" : `say ${recoveryPoint}`;
      const text =
        `the log ends at offset ${end}, but the recovery points ${says}, although it was closed in order`;
      this.tell(
        "damage",
        name,
        last?.size ?? null,
        text,
        "checks the last segment, and goes on at the log's end",
      );
    } else if (closed && end !== null && end > 0 && highWatermark === undefined) {
      this.tell(
        "damage",
        "",
        null,
        "the checkpoint of high watermarks does not name it",
        "takes the log's end",
      );
    }
    this.checkStart(epochs, end);
  }

  private checkStart(epochs: EpochEntry[], end: number | null): void {
    const { closed, logStartOffset } = this.i;
    const base = this.segments[0]?.baseOffset ?? 0;
    if (end !== null && (logStartOffset ?? 0) > end) {
      const text = `the log start ${logStartOffset} lies past the log's end ${end}`;
      return this.tell("damage", "", null, text, "has the log start at its end");
    }
    if (epochs.length > 0 && (logStartOffset ?? 0) > base && epochs[0].startOffset < logStartOffset!) {
      const text = `the log starts at offset ${logStartOffset}, but its first leader epoch at ${
        epochs[0].startOffset
      }`;
      this.tell("damage", LEADER_EPOCH_FILE, null, text, "starts the log at the lower offset");
    }
    if (!closed) return;
    if (logStartOffset !== undefined && logStartOffset <= base && this.segments.length > 0) {
      const text = `the log start ${logStartOffset} lies not behind the first segment's ${base}`;
      this.tell("damage", "", null, text, "has the log start with its first segment");
    }
    const first = epochs[0];
    if (first !== undefined && last(epochs).startOffset > (end ?? Infinity)) {
      const text = `epoch ${last(epochs).epoch} begins at ${
        last(epochs).startOffset
      }, past the log's end ${end}`;
      this.tell("damage", LEADER_EPOCH_FILE, null, text, "forgets that epoch");
    }
  }

  // --------------------------------------------------------------------------------------------------- producers

  private checkSnapshots(): void {
    const { files, path, closed, recoveryPoint = 0 } = this.i;
    let latest = -1;
    for (const name of this.names) {
      const offset = offsetOfName(name, SNAPSHOT_SUFFIX);
      if (offset === null) continue;
      latest = Math.max(latest, offset);
      const found = lookAtSnapshot(files, `${path}/${name}`, offset);
      const torn = !closed && offset >= recoveryPoint;
      if (found !== null) {
        const outcome = "removes it, and reads the producers from an older one or from the batches";
        this.tell(torn ? "note" : "damage", name, found.position, found.problem, outcome);
      } else if (this.endOffset !== null && offset > this.endOffset) {
        const text = `it is of offset ${offset}, past the log's end ${this.endOffset}`;
        this.tell(torn ? "note" : "damage", name, null, text, "removes it, or does not look at it");
      }
    }
    if (!closed || this.endOffset === null || this.endOffset === 0 || latest >= this.endOffset) return;
    const name = offsetName(this.endOffset, SNAPSHOT_SUFFIX);
    this.tell(
      "damage",
      name,
      null,
      "it is missing",
      "reads the producers from an older one or from the batches",
    );
  }
}

function last<T>(items: readonly T[]): T {
  return items[items.length - 1];
}
