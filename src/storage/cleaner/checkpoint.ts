/**
 * How far each log was compacted, in Kafka's `cleaner-offset-checkpoint`. It is also what tells that offsets may be missing
 * in a log whose topic is not compacted any more: so a log is named in it, on the device, before its first record goes.
 */

import { formatOffsets, type PartitionOffset, writeOffsets } from "../directory/checkpoints.ts";
import { CLEANER_FILE } from "../log/compacted.ts";
import { type Files, replaceFileBeside } from "../files/files.ts";
import { parsePartitionDirectory } from "../directory/names.ts";

export class CleanerCheckpoint {
  private readonly path: string;
  /** Offsets by partition directory. */
  private readonly offsets: Map<string, number>;
  /** The file says something else. */
  private isDirty = false;
  private saving: Promise<boolean> | null = null;
  /** Whom the file names, or may name by now. */
  private inFile: Set<string>;
  /** How often it was written blocking. */
  private written = 0;

  constructor(private readonly files: Files, directory: string, offsets: ReadonlyMap<string, number>) {
    this.path = `${directory}/${CLEANER_FILE}`;
    this.offsets = new Map(offsets);
    this.inFile = new Set(offsets.keys());
  }

  /** Everything before it is clean; undefined of a log that was never cleaned. */
  of(name: string): number | undefined {
    return this.offsets.get(name);
  }

  set(name: string, offset: number): void {
    if (this.offsets.get(name) === offset) return;
    this.offsets.set(name, offset);
    this.isDirty = true;
  }

  forget(name: string): void {
    if (this.offsets.delete(name)) this.isDirty = true;
  }

  /** As {@link forget}, durably, where the file may still name the log. Throws `IoError`. */
  forgetNow(name: string): void {
    this.forget(name);
    if (this.inFile.has(name)) this.saveNow();
  }

  /** Resolves when what was set before is on the device. Rejects with `IoError`. */
  async save(): Promise<void> {
    // One under way may have begun before.
    while (this.saving !== null) await this.saving.catch(() => {});
    if (!this.isDirty) return;
    this.isDirty = false;
    const { written } = this;
    for (const name of this.offsets.keys()) this.inFile.add(name);
    const content = formatOffsets(this.entries());
    this.saving = replaceFileBeside(this.files, this.path, content, () => written === this.written);
    try {
      await this.saving;
    } catch (error) {
      this.isDirty = true;
      throw error;
    } finally {
      this.saving = null;
    }
  }

  /** As {@link save}, blocking. Throws `IoError`. */
  saveNow(): void {
    if (!this.isDirty && this.saving === null) return;
    this.written++;
    writeOffsets(this.files, this.path, this.entries(), true);
    this.inFile = new Set(this.offsets.keys());
    this.isDirty = false;
  }

  private entries(): PartitionOffset[] {
    return [...this.offsets].flatMap(([name, offset]) => {
      const place = parsePartitionDirectory(name);
      return place === null ? [] : [{ ...place, offset }];
    });
  }
}
