/**
 * The metadata log of a Kafka that has these directories, or had them before. It tells up to where Kafka has given out
 * producer ids, of which partitions know only those that wrote to them not long ago, and whether Kafka was there again.
 */
import { StartupError } from "../../base/startup_error.ts";
import { batchesIn, checkBatch } from "../../codec/batch.ts";
import { MalformedFrame } from "../../codec/malformed.ts";
import { Reader } from "../../codec/reader.ts";
import { type Files, IoError, readText, replaceFile } from "../files/files.ts";
import { HandlePool, PooledFile } from "../files/handles.ts";
import { scanBatches } from "../segment/batch_scan.ts";
import { LOG_SUFFIX, METADATA_TOPIC, partitionDirectory } from "./names.ts";

/** Of KRaft's metadata log: what it has compacted of itself. */
const CHECKPOINT_SUFFIX = ".checkpoint";
/** `ProducerIdsRecord` among the metadata's records. */
const PRODUCER_IDS_RECORD = 15;
/** How Kafka's metadata looked when Trackway had the directory last. Not Kafka's. */
export const KAFKA_METADATA_FILE = "trackway-kafka-metadata";

interface MetadataFile {
  readonly directory: string;
  readonly name: string;
  readonly bytes: number;
}

export class KafkaMetadata {
  private producerIds: number | null = null;

  /** `directories`: where a metadata log may be, each with the partitions' directories in it. */
  constructor(
    private readonly files: Files,
    private readonly directories: readonly string[],
    private readonly report: (problem: string) => void,
  ) {}

  /** The lowest producer id that no Kafka has given out, as far as can be seen; 0 without its metadata. Reads it once. */
  nextProducerId(): number {
    this.producerIds ??= this.readProducerIds();
    return this.producerIds;
  }

  /**
   * Throws {@link StartupError} when Kafka has written to its metadata since {@link note} was called for `directory`: it may
   * have made topics, raised epochs and given out ids of which nothing is known here.
   */
  checkUnchanged(directory: string, metadataFile: string): void {
    const [noted, state] =
      this.attempt(() =>
        [readText(this.files, `${directory}/${KAFKA_METADATA_FILE}`), this.state()] as const
      ) ?? [null, ""];
    if (noted === null || noted === state) return;
    if (state === "") {
      // A disk may be away.
      this.report(
        `Kafka's metadata, which was there when Trackway had ${directory} last, is not to be seen; nor is, whether Kafka has ` +
          `had it since. metadata.log.dir says where it is; if it is gone for good, remove ${directory}/${KAFKA_METADATA_FILE}`,
      );
      return;
    }
    throw new StartupError(
      `Cannot start: Kafka has had ${directory} since Trackway last did, and ${metadataFile} knows nothing of what it has ` +
        `changed. Remove ${metadataFile}, with the -wal and -shm files beside it, to have Kafka's topics taken over anew; ` +
        "settings of topics, groups and quotas have to be made again then",
    );
  }

  /** Notes how Kafka's metadata looks now, if there is any. */
  note(directory: string): void {
    const path = `${directory}/${KAFKA_METADATA_FILE}`;
    this.attempt(() => {
      const state = this.state();
      if (state !== "" && state !== readText(this.files, path)) replaceFile(this.files, path, state, true);
    });
  }

  private attempt<T>(work: () => T): T | null {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      this.report(`${error.message}; a Kafka that has this directory in between would not be noticed`);
      return null;
    }
  }

  /** Grows, or changes its names, whenever a Kafka runs. Throws `IoError`. */
  private state(): string {
    const all = this.directories.flatMap((directory) => this.filesIn(directory));
    return all.map(({ name, bytes }) => `${name} ${bytes}\n`).sort().join("");
  }

  private filesIn(data: string): MetadataFile[] {
    const directory = `${data}/${partitionDirectory(METADATA_TOPIC, 0)}`;
    if (this.files.stat(directory) === null) return [];
    return this.files.list(directory).map(({ name }) => name)
      .filter((name) => name.endsWith(LOG_SUFFIX) || name.endsWith(CHECKPOINT_SUFFIX))
      .map((name) => ({ directory, name, bytes: this.files.stat(`${directory}/${name}`)?.size ?? 0 }));
  }

  private readProducerIds(): number {
    let next = 0;
    for (const directory of this.directories) {
      try {
        for (const file of this.filesIn(directory)) next = Math.max(next, this.readFile(file));
      } catch (error) {
        if (!(error instanceof IoError)) throw error;
        this.report(`${error.message}; producer ids that Kafka has given out there may be given out again`);
      }
    }
    return next;
  }

  private readFile({ directory, name, bytes }: MetadataFile): number {
    const file = new PooledFile(new HandlePool(this.files, 1), { path: directory }, name);
    let next = 0;
    try {
      scanBatches(file, 0, bytes, (bytes, at, size) => {
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
