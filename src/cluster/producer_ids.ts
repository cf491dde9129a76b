/**
 * Producer ids, each given out once and never again. They are taken from the store a block at a time, so that most of
 * them cost nothing; what is left of a block when the broker stops is lost, which Kafka's clients do not mind.
 */
import { assert } from "../base/assert.ts";
import { parseProducerIdsRow, PRODUCER_IDS_KEY, producerIdsRow } from "./rows.ts";
import { ABSENT, type MetadataStore } from "./store.ts";

/** As in Kafka. */
export const PRODUCER_ID_BLOCK_SIZE = 1000;

/** Another place that knows up to where ids were given out, which an older store that was put back does not change. */
export interface IdMark {
  /** The lowest id that was not given out. */
  read(): number;
  write(next: number): void;
}

const noMark: IdMark = { read: () => 0, write: () => {} };

export class ProducerIds {
  #next = 0;
  #blockEnd = 0;
  #claiming: Promise<void> | null = null;

  constructor(
    private readonly store: MetadataStore,
    private readonly mark: IdMark = noMark,
    private readonly report: (problem: string) => void = () => {},
  ) {}

  /** An id that no producer has. Synchronous while the block lasts; rejects with `StoreFailure` when the store is out of order. */
  next(): number | Promise<number> {
    if (this.#next < this.#blockEnd) return this.#next++;
    return this.#nextOfNewBlock();
  }

  /** From when it resolves, no id up to `lastUsed` is given out: for data that came with producer ids from somewhere else. */
  async skipPast(lastUsed: number): Promise<void> {
    assert(Number.isSafeInteger(lastUsed), `producer id ${lastUsed}`);
    while (this.#claiming) await this.#claiming;
    if (this.#next <= lastUsed) await this.#claim(lastUsed + 1);
  }

  async #nextOfNewBlock(): Promise<number> {
    // Others may have used up the new block by the time this one gets to run.
    while (this.#next >= this.#blockEnd) await this.#claim(0);
    return this.#next++;
  }

  /** All who wait share one claim. */
  async #claim(lowest: number): Promise<void> {
    this.#claiming ??= this.#claimBlock(lowest).finally(() => this.#claiming = null);
    await this.#claiming;
  }

  async #claimBlock(lowest: number): Promise<void> {
    for (;;) {
      const { entries } = await this.store.list(PRODUCER_IDS_KEY);
      const entry = entries.find(({ key }) => key === PRODUCER_IDS_KEY);
      const stored = entry === undefined ? 0 : parseProducerIdsRow(entry.value);
      const marked = this.mark.read();
      if (marked > stored && entry !== undefined) {
        this.report(
          `The metadata knows of producer ids up to ${stored}, though ids up to ${marked} were given out: it is an ` +
            `older copy that was put back, or Kafka has had the directory meanwhile. Ids go on from ${marked}.`,
        );
      }
      const first = Math.max(lowest, stored, marked);
      const end = first + PRODUCER_ID_BLOCK_SIZE;
      const { ok } = await this.store.commit({
        compare: [{ key: PRODUCER_IDS_KEY, revision: entry?.revision ?? ABSENT }],
        put: [{ key: PRODUCER_IDS_KEY, value: producerIdsRow(end) }],
        delete: [],
      });
      if (!ok) continue; // Another broker took that block.
      this.mark.write(end);
      this.#next = first;
      this.#blockEnd = end;
      return;
    }
  }
}
