/**
 * Whether SQLite will take everything that is in a write-ahead log. After a crash it goes by the frames up to the first one
 * that does not check, and forgets the rest without a word: right for a commit that was cut short, but a damaged byte in
 * the middle takes acknowledged commits with it.
 *
 *     header: magic | format | page size | checkpoint number | salt 1 | salt 2 | checksum 1 | checksum 2     uint32 each
 *     frame:  page number | pages after the commit, 0 inside of one | salt 1 | salt 2 | checksum 1 | checksum 2 | page
 *
 * Each frame's checksum goes on from the one before it, over the first two fields and the page, so a frame can be checked
 * by its neighbour although what comes before that is damaged. Frames with other salts than the header's are of an
 * earlier round, and end the log.
 */

import { readUint32 } from "../codec/big_endian.ts";

export interface WalFault {
  /** Of what is damaged, or torn. */
  readonly position: number;
  readonly problem: string;
  /**
   * Whether commits are lost for certain. If not, it may be the last commit only, which a power failure cut short before it
   * was acknowledged.
   */
  readonly isDamage: boolean;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The lowest bit tells that checksums are over big-endian words. */
const MAGIC = 0x377f0682;
const FORMAT = 3007000;

/** Looks through the bytes of a `-wal` file. Null when SQLite takes all of it, but for an earlier round's. */
export function findWalFault(bytes: Uint8Array): WalFault | null {
  if (bytes.length === 0) return null;
  if (bytes.length < HEADER_BYTES) {
    return { position: 0, problem: `it has ${bytes.length} bytes, less than its header`, isDamage: false };
  }
  const wal = new Wal(bytes);
  const taken = wal.headerProblem === null ? wal.framesTaken() : 0;
  const next = wal.frame(taken);
  if (wal.headerProblem === null) {
    if (next === null) return null;
    if (!wal.isCurrent(next)) {
      // Only a damaged salt leaves a frame that goes on from the one before it, and is of another round.
      if (wal.isLinked(taken)) return wal.fault(taken, "its salt is wrong", true);
      // Of a commit that a power failure cut short any frames may be there: this one is what was in its place before.
      const commits = wal.commitsBehind(taken + 1);
      return commits > 0 ? wal.fault(taken, "its salt is wrong", commits > 1) : null;
    }
    // A commit is acknowledged once its frames are on the disk, and only then is there another.
    return wal.fault(taken, "its checksum is wrong", wal.commitsBehind(taken) > 1);
  }
  return { position: 0, problem: wal.headerProblem, isDamage: wal.commitsBehind(0) > 0 };
}

class Wal {
  private readonly bigEndian: boolean;
  private readonly pageBytes: number;
  private readonly frames: number;
  private readonly salts: string;
  /** Why SQLite takes nothing of the file. */
  readonly headerProblem: string | null;

  constructor(private readonly bytes: Uint8Array) {
    const magic = readUint32(bytes, 0);
    this.bigEndian = (magic & 1) === 1;
    const pageBytes = readUint32(bytes, 8);
    const isPageSize = pageBytes >= 512 && pageBytes <= 65536 && (pageBytes & (pageBytes - 1)) === 0;
    this.headerProblem = this.problemOfHeader(magic, isPageSize);
    // What all files have unless somebody asks for something else.
    this.pageBytes = isPageSize ? pageBytes : 4096;
    this.frames = Math.floor((bytes.length - HEADER_BYTES) / this.frameBytes);
    const isHeaderOurs = this.headerProblem === null || this.frames === 0;
    this.salts = this.saltsAt(isHeaderOurs ? 16 : HEADER_BYTES + 8);
  }

  private problemOfHeader(magic: number, isPageSize: boolean): string | null {
    if ((magic & ~1) !== MAGIC) return `the header's magic is ${magic.toString(16)}`;
    if (readUint32(this.bytes, 4) !== FORMAT) return `the header's format is ${readUint32(this.bytes, 4)}`;
    if (!isPageSize) return `the header's page size is ${readUint32(this.bytes, 8)}`;
    const sum = this.sum([0, 0], 0, 24);
    return this.isSum(sum, 24) ? null : "the header's checksum is wrong";
  }

  private get frameBytes(): number {
    return FRAME_HEADER_BYTES + this.pageBytes;
  }

  /** Where the frame begins; null when there is none. */
  frame(index: number): number | null {
    return index < this.frames ? HEADER_BYTES + index * this.frameBytes : null;
  }

  isCurrent(at: number): boolean {
    return this.saltsAt(at + 8) === this.salts;
  }

  private saltsAt(at: number): string {
    return `${readUint32(this.bytes, at)} ${readUint32(this.bytes, at + 4)}`;
  }

  /** Whether the frame's checksum goes on from the one that its neighbour, or the header, says it has. */
  isLinked(index: number): boolean {
    const at = this.frame(index)!;
    const before = index === 0 ? 24 : at - this.frameBytes + 16;
    const seed: [number, number] = [readUint32(this.bytes, before), readUint32(this.bytes, before + 4)];
    const sum = this.sum(this.sum(seed, at, 8), at + FRAME_HEADER_BYTES, this.pageBytes);
    return this.isSum(sum, at + 16);
  }

  /** How many frames SQLite takes. */
  framesTaken(): number {
    let index = 0;
    while (index < this.frames && this.isCurrent(this.frame(index)!) && this.isLinked(index)) index++;
    return index;
  }

  /** Commits of this round among the frames from `index` on. */
  commitsBehind(index: number): number {
    let commits = 0;
    for (; index < this.frames; index++) {
      const at = this.frame(index)!;
      if (this.isCurrent(at) && readUint32(this.bytes, at + 4) > 0) commits++;
    }
    return commits;
  }

  fault(index: number, problem: string, isDamage: boolean): WalFault {
    return {
      position: this.frame(index)!,
      problem: `frame ${index} cannot be believed: ${problem}`,
      isDamage,
    };
  }

  private isSum([first, second]: [number, number], at: number): boolean {
    return readUint32(this.bytes, at) === first && readUint32(this.bytes, at + 4) === second;
  }

  private sum([first, second]: [number, number], at: number, length: number): [number, number] {
    const { bytes, bigEndian } = this;
    const word = bigEndian
      ? (at: number) => readUint32(bytes, at)
      : (at: number) => swapped(readUint32(bytes, at));
    for (const end = at + length; at < end; at += 8) {
      first = (first + word(at) + second) >>> 0;
      second = (second + word(at + 4) + first) >>> 0;
    }
    return [first, second];
  }
}

function swapped(value: number): number {
  return ((value & 0xff) << 24 | (value & 0xff00) << 8 | (value >>> 8 & 0xff00) | value >>> 24) >>> 0;
}
