/**
 * What Trackway answers otherwise than Kafka, on purpose: each rule has its reason, and DIFFERENCES.md has them for
 * people. A rule takes out of both sides what may differ.
 */

/** Settings of Kafka that Trackway does not have: what they control is not there. */
const foreignSettings: ReadonlySet<string> = new Set<string>([]);

/** Defaults that Trackway sets otherwise; the value and the source may differ, the setting must be there. */
const ownDefaults: ReadonlySet<string> = new Set<string>(["min.insync.replicas"]);

/** Takes out of an answer what may differ. */
export function withoutDifferences(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((item) => !foreignSettings.has((item as { name?: string } | null)?.name ?? "")).map(
      withoutDifferences,
    );
  }
  if (typeof value !== "object" || value === null) return value;
  const object = { ...value } as Record<string, unknown>;
  // Trackway says why, where Kafka has no text.
  if ("errorMessage" in object && object.errorCode !== 0) delete object.errorMessage;
  if (ownDefaults.has(String(object.name))) {
    delete object.value;
    delete object.configSource;
    delete object.synonyms;
  }
  return Object.fromEntries(Object.entries(object).map(([key, inner]) => [key, withoutDifferences(inner)]));
}
