/**
 * Up to where producer ids have been given out, in a small file beside the logs. The metadata store knows it too, but a
 * store that is restored from a backup knows what was true then: ids would be given out a second time, and the second
 * producer's batches would be taken for repetitions of the first one's and thrown away. Logs have the ids as well, but
 * to look for them all would have to be opened, and a start reads none.
 */
import { CorruptCheckpoint } from "../directory/checkpoints.ts";
import { type Files, IoError, readText, replaceFile } from "../files/files.ts";

/** Not Kafka's. A number and a line break. */
export const PRODUCER_ID_FILE = "trackway-next-producer-id";

export class ProducerIdMark {
  private readonly path: string;

  constructor(
    private readonly files: Files,
    directory: string,
    private readonly report: (problem: string) => void,
  ) {
    this.path = `${directory}/${PRODUCER_ID_FILE}`;
  }

  /** The lowest id that was not given out as far as the file knows; 0 without one. One that cannot be read is told. */
  read(): number {
    try {
      const text = readText(this.files, this.path);
      if (text === null) return 0;
      const next = Number(text);
      if (/^\d+\n$/.test(text) && Number.isSafeInteger(next)) return next;
      throw new CorruptCheckpoint(`Cannot read ${this.path}: ${JSON.stringify(text.slice(0, 100))}`);
    } catch (error) {
      if (!(error instanceof CorruptCheckpoint) && !(error instanceof IoError)) throw error;
      this.report(`${error.message}; producer ids go on from where the metadata says`);
      return 0;
    }
  }

  /** Notes that ids below `next` may be in use. A failure is told: the store, which knows it first, still counts. */
  write(next: number): void {
    try {
      replaceFile(this.files, this.path, `${next}\n`, false);
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      this.report(error.message);
    }
  }
}
