/**
 * Up to where a Kafka that had these directories before has given out producer ids. Its metadata log has a record for each
 * block of ids; partitions know only the producers that wrote to them not long ago.
 */
import { batchesIn, checkBatch } from "../../codec/batch.ts";
import { MalformedFrame } from "../../codec/malformed.ts";
import { Reader } from "../../codec/reader.ts";
import { LOG_SUFFIX, METADATA_TOPIC, partitionDirectory } from "../directory/names.ts";
import { type Files, IoError } from "../files/files.ts";
import { HandlePool, PooledFile } from "../files/handles.ts";
import { scanBatches } from "../segment/batch_scan.ts";

/** Of KRaft's metadata log: what it has compacted of itself. */
const CHECKPOINT_SUFFIX = ".checkpoint";
/** `ProducerIdsRecord` among the metadata's records. */
const PRODUCER_IDS_RECORD = 15;

export class KafkaProducerIds {
  private next: number | null = null;

  /** `directories`: where a metadata log may be, each with the partitions' directories in it. */
  constructor(
    private readonly files: Files,
    private readonly directories: readonly string[],
    private readonly report: (problem: string) => void,
  ) {}

  /** The lowest id that no Kafka has given out, as far as can be seen; 0 without its metadata. Reads it once. */
  read(): number {
    this.next ??= Math.max(0, ...this.directories.map((directory) => this.readIn(directory)));
    return this.next;
  }

  private readIn(directory: string): number {
    const path = `${directory}/${partitionDirectory(METADATA_TOPIC, 0)}`;
    let next = 0;
    try {
      if (this.files.stat(path) === null) return 0;
      const names = this.files.list(path).map(({ name }) => name)
        .filter((name) => name.endsWith(LOG_SUFFIX) || name.endsWith(CHECKPOINT_SUFFIX));
      for (const name of names) next = Math.max(next, this.readFile(path, name));
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      this.report(`${error.message}; producer ids that Kafka has given out there may be given out again`);
    }
    return next;
  }

  private readFile(path: string, name: string): number {
    const file = new PooledFile(new HandlePool(this.files, 1), { path }, name);
    let next = 0;
    try {
      scanBatches(file, 0, file.get().size(), (bytes, at, size) => {
        if (checkBatch(bytes, at, at + size) !== null) return false;
        for (const batch of batchesIn(bytes.subarray(at, at + size))) {
          const cursor = batch.cursor();
          while (!batch.isControl && cursor.next()) next = Math.max(next, nextProducerId(cursor.value));
        }
        return true;
      });
    } finally {
      file.close();
    }
    return next;
  }
}

/** What a record of the metadata says of producer ids; 0 when it is about something else. */
function nextProducerId(value: Uint8Array | null): number {
  if (value === null) return 0;
  const reader = new Reader(value);
  try {
    // A frame's version, which has always been 1, the record's type and version.
    if (reader.unsignedVarint() !== 1 || reader.unsignedVarint() !== PRODUCER_IDS_RECORD) return 0;
    reader.unsignedVarint();
    // Who got the block: a broker, and since when.
    reader.int32();
    reader.int64();
    return Number(reader.int64());
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    return 0;
  }
}
