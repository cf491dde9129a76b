/**
 * Appends that have to wait until another thread has compressed the batch anew (`compression.type`), and those behind them:
 * a partition's batches go into its log in the order in which they came.
 */
import { CompressionThread } from "../codec/compression/thread.ts";
import type { Clock } from "../base/clock.ts";
import { isSlowToCompress, recompressBeside } from "../storage/log/append.ts";
import type { AppendTerms, Partition, PartitionAppend } from "./partition.ts";

export class SlowAppends {
  private readonly thread = new CompressionThread();
  /** The last append that waits, by partition. */
  private readonly last = new Map<Partition, Promise<unknown>>();

  constructor(private readonly clock: Clock) {}

  /** Whether a batch of so many bytes may have to wait: {@link append} tells. */
  concerns(partition: Partition, bytes: number): boolean {
    return isSlowToCompress(bytes, partition.log.config) || (this.last.size > 0 && this.last.has(partition));
  }

  /**
   * Appends `bytes`, which must stay as they are until then, when it is their turn; null when it is their turn now, and
   * nothing has to be waited for. `isThere` is asked then: null stands for a partition that is gone.
   */
  append(
    partition: Partition,
    bytes: Uint8Array,
    terms: AppendTerms,
    isThere: () => boolean,
  ): Promise<PartitionAppend | null> | null {
    const { maxDecompressedBytes, verification } = terms;
    const before = this.last.get(partition);
    const now = this.clock.now();
    const options = { leaderEpoch: partition.leaderEpoch, origin: "client" as const, now, ...terms };
    const recompressed = recompressBeside(bytes, partition.log.config, options, this.thread);
    if (before === undefined && recompressed === null) return null;
    const appended = Promise.all([recompressed ?? bytes, before]).then(([ready]) =>
      // What looking into it costs was paid for above.
      isThere()
        ? partition.append(ready, "client", this.clock.now(), { maxDecompressedBytes, verification })
        : null
    );
    const last = appended.then(() => {}, () => {}).finally(() => {
      if (this.last.get(partition) === last) this.last.delete(partition);
    });
    this.last.set(partition, last);
    return appended;
  }

  /** Ends the thread; what waits for it is done at once. */
  close(): void {
    this.thread.end();
  }
}
