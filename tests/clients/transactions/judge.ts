/**
 * What transactions must have made of their input: worked out from the records of the input topic, from those that a
 * read_committed consumer is given of the output topic, and from what the transactions' owners were told. Pure; each
 * function gives what is wrong, or null.
 */

export interface Read {
  readonly partition: number;
  readonly offset: number;
  readonly value: string;
}

/** What the owner of a transaction was told of its end. */
export interface Outcome {
  readonly tx: string;
  readonly end: "committed" | "aborted" | "fenced" | "failed";
}

/** A record of the output topic: which record of the input it is made of, by which transaction. */
export interface Made {
  readonly sourcePartition: number;
  readonly sourceOffset: number;
  /** Each record of the input becomes two, numbered 0 and 1. */
  readonly copy: number;
  readonly tx: string;
  /** How many records the transaction has. */
  readonly count: number;
  readonly value: string;
}

export const COPIES = 2;

/** Reads "partition offset copy transaction count value", where the value may have spaces of its own. */
export function parseMade(text: string): Made {
  const [partition, offset, copy, tx, count, ...value] = text.split(" ");
  const numbers = [partition, offset, copy, count].map(Number);
  if (numbers.some((number) => !Number.isSafeInteger(number)) || value.length === 0) {
    throw new Error(`a record of the output says "${text}"`);
  }
  const [sourcePartition, sourceOffset, copyNumber, records] = numbers;
  return { sourcePartition, sourceOffset, copy: copyNumber, tx, count: records, value: value.join(" ") };
}

/** In which partition of the output a copy belongs. */
export function partitionOf(made: Made, partitions: number): number {
  return (made.sourcePartition + made.copy) % partitions;
}

/** Holds that each record of the input is in the output with all its copies, and none of them twice. */
export function onceFault(input: readonly Read[], output: readonly Read[]): string | null {
  if (input.length === 0) return "there was nothing to compare";
  const left = new Map<string, string>();
  for (const { partition, offset, value } of input) {
    for (let copy = 0; copy < COPIES; copy++) left.set(`${partition} ${offset} ${copy}`, value);
  }
  const found = new Set<string>();
  for (const record of output) {
    const made = parseMade(record.value);
    const key = `${made.sourcePartition} ${made.sourceOffset} ${made.copy}`;
    if (found.has(key)) return `${at(record)} repeats "${key}"`;
    found.add(key);
    const wanted = left.get(key);
    if (wanted === undefined) return `${at(record)} is made of nothing: "${record.value}"`;
    if (wanted !== made.value) return `${at(record)} says "${made.value}" and not "${wanted}"`;
    left.delete(key);
  }
  const [missing] = left.keys();
  return missing === undefined ? null : `${left.size} records are missing, among them "${missing}"`;
}

/** Holds that the output has each input partition's records in their order, each in the partition where it belongs. */
export function orderFault(output: readonly Read[], partitions: number): string | null {
  const last = new Map<string, number>();
  for (const record of output.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset)) {
    const made = parseMade(record.value);
    const wanted = partitionOf(made, partitions);
    if (record.partition !== wanted) return `${at(record)} belongs into partition ${wanted}`;
    const stream = `${made.sourcePartition} ${made.copy}`;
    const before = last.get(stream) ?? -1;
    if (made.sourceOffset < before) {
      return `${at(record)}, of offset ${made.sourceOffset}, follows on ${before}`;
    }
    last.set(stream, made.sourceOffset);
  }
  return null;
}

/** Holds that of each transaction all of its records are there, or none. */
export function tornFault(output: readonly Read[]): string | null {
  const seen = new Map<string, { of: number; found: number }>();
  for (const { value } of output) {
    const { tx, count } = parseMade(value);
    const one = seen.get(tx) ?? { of: count, found: 0 };
    one.found++;
    seen.set(tx, one);
  }
  for (const [tx, { of, found }] of seen) {
    if (found !== of) return `of transaction ${tx} there are ${found} of ${of} records`;
  }
  return null;
}

/**
 * Holds that what was said to be committed is there, and that what was said to be aborted, or was ended by fencing, is
 * not. A transaction whose owner was killed or failed may be either.
 */
export function toldFault(outcomes: readonly Outcome[], output: readonly Read[]): string | null {
  const there = new Set(output.map(({ value }) => parseMade(value).tx));
  for (const { tx, end } of outcomes) {
    if (end === "committed" && !there.has(tx)) return `transaction ${tx} was committed and is not there`;
    if ((end === "aborted" || end === "fenced") && there.has(tx)) {
      return `transaction ${tx} was ${end} and is there`;
    }
  }
  for (const end of ["committed", "aborted"] as const) {
    if (!outcomes.some((outcome) => outcome.end === end)) return `no transaction was ${end}`;
  }
  return null;
}

/** Holds that somebody else was given the same records in the same order. */
export function sameFault(wanted: readonly Read[], found: readonly Read[]): string | null {
  const byPartition = (records: readonly Read[]) => Map.groupBy(records, ({ partition }) => partition);
  const others = byPartition(found);
  for (const [partition, records] of byPartition(wanted)) {
    const other = others.get(partition) ?? [];
    const i = records.findIndex(({ offset, value }, i) =>
      other[i]?.offset !== offset || other[i].value !== value
    );
    if (i >= 0) {
      return `${at(records[i])} came as ${other[i] ? `${at(other[i])} "${other[i].value}"` : "nothing"}`;
    }
  }
  return found.length === wanted.length ? null : `${found.length} records came, and not ${wanted.length}`;
}

function at({ partition, offset }: Read): string {
  return `the record at ${partition}@${offset}`;
}
