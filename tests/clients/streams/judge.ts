/**
 * What a Streams application must have made of what it was fed: worked out from the records of its input topics alone,
 * and compared with the records of its results. Pure; each function gives what is wrong, or null.
 */

export interface Record {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly key: string | null;
  readonly value: string | null;
}

/** The last value of each key, deleted ones left out. All records of a key are in one partition, in order. */
export function lastValues(records: readonly Record[]): Map<string, string> {
  const last = new Map<string, string>();
  for (const { key, value } of records) {
    if (value === null) last.delete(key!);
    else last.set(key!, value);
  }
  return last;
}

/** In how many lines each word is. A line is "partition number word ...". */
export function wordCounts(lines: readonly Record[]): Map<string, string> {
  return counted(lines, (word) => word);
}

/** The same for each stretch of time, by the lines' timestamps: "word@start of the window". */
export function windowedCounts(lines: readonly Record[], windowMs: number): Map<string, string> {
  return counted(lines, (word, timestamp) => `${word}@${timestamp - timestamp % windowMs}`);
}

function counted(
  lines: readonly Record[],
  keyOf: (word: string, timestamp: number) => string,
): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { value, timestamp } of lines) {
    for (const word of new Set(value!.split(" ").slice(2))) {
      const key = keyOf(word, timestamp);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return new Map([...counts].map(([key, count]) => [key, String(count)]));
}

/** Every pair of records of one key that are no further apart than the window, as "left|right". */
export function windowedPairs(
  left: readonly Record[],
  right: readonly Record[],
  windowMs: number,
): Set<string> {
  const byKey = Map.groupBy(right, ({ key }) => key);
  return new Set(left.flatMap((l) =>
    (byKey.get(l.key) ?? [])
      .filter((r) => Math.abs(l.timestamp - r.timestamp) <= windowMs)
      .map((r) => `${l.value}|${r.value}`)
  ));
}

/** The inner join of two tables by their keys. */
export function joinedTables(left: Map<string, string>, right: Map<string, string>): Map<string, string> {
  return new Map(
    [...left].filter(([key]) => right.has(key)).map(([key, value]) => [key, `${value}|${right.get(key)}`]),
  );
}

/** The inner join of a table with the one that the second word of its values names the keys of. */
export function joinedForeign(left: Map<string, string>, right: Map<string, string>): Map<string, string> {
  const found = [...left].map(([key, value]) => [key, value, right.get(value.split(" ")[1])] as const);
  return new Map(
    found.filter(([, , other]) => other !== undefined).map((
      [key, value, other],
    ) => [key, `${value}|${other}`]),
  );
}

/** Holds that a table is exactly what it must be. */
export function tableFault(wanted: Map<string, string>, found: Map<string, string>): string | null {
  const keys = [...new Set([...wanted.keys(), ...found.keys()])];
  const wrong = keys.filter((key) => wanted.get(key) !== found.get(key));
  if (wrong.length === 0) return wanted.size === 0 ? "there was nothing to compare" : null;
  const [first] = wrong;
  return `${wrong.length} of ${keys.length} keys are wrong, among them ${first}: ` +
    `${found.get(first) ?? "nothing"} instead of ${wanted.get(first) ?? "nothing"}`;
}

/** Holds that no number is less than it must be; more is what at_least_once allows. */
export function lessFault(wanted: Map<string, string>, found: Map<string, string>): string | null {
  const less = [...wanted].filter(([key, count]) => Number(found.get(key) ?? 0) < Number(count));
  if (less.length === 0) return wanted.size === 0 ? "there was nothing to compare" : null;
  const [[key, count]] = less;
  return `${less.length} numbers are too small, among them that of ${key}: ${
    found.get(key)
  } and not ${count}`;
}

/** Holds that results are these and no others; the same one again is what at_least_once allows. */
export function setFault(wanted: Set<string>, found: Set<string>): string | null {
  const missing = [...wanted].filter((value) => !found.has(value));
  const strange = [...found].filter((value) => !wanted.has(value));
  if (missing.length + strange.length === 0) return wanted.size === 0 ? "there was nothing to compare" : null;
  return `${missing.length} of ${wanted.size} are missing (${missing[0]}), ${strange.length} from nowhere (${
    strange[0]
  })`;
}

/** Holds that of each word every number from 1 to its count is there, once and in order. */
export function countsFault(wanted: Map<string, string>, found: readonly Record[]): string | null {
  const last = new Map<string, number>();
  for (const { key, value } of found) {
    const before = last.get(key!) ?? 0;
    if (Number(value) !== before + 1) return `the count of ${key} goes from ${before} to ${value}`;
    last.set(key!, before + 1);
  }
  return tableFault(wanted, new Map([...last].map(([key, count]) => [key, String(count)])));
}

/** Holds that no result is there twice. */
export function onceFault(found: readonly string[]): string | null {
  const seen = new Set<string>();
  const again = found.filter((value) => seen.size === seen.add(value).size);
  return again.length === 0 ? null : `${again.length} are there again, among them ${again[0]}`;
}
