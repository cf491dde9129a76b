/**
 * What Trackway answers otherwise than Kafka, on purpose: each rule has its reason, and DIFFERENCES.md has them for
 * people. A rule takes out of both sides what may differ.
 */

/** Settings of Kafka that Trackway does not have: what they control is not there. */
const foreignSettings: ReadonlySet<string> = new Set<string>([]);

/** Defaults that Trackway sets otherwise; the value and the source may differ, the setting must be there. */
const ownDefaults: ReadonlySet<string> = new Set<string>(["min.insync.replicas"]);

/** A call that Trackway answers otherwise altogether. */
interface OwnAnswer {
  readonly scenario: string;
  /** The call, or several of the scenario. */
  readonly call: string | RegExp;
  /** What DIFFERENCES.md says, in short. */
  readonly why: string;
}

export const ownAnswers: readonly OwnAnswer[] = [
  {
    scenario: "Metadata by id in the versions that have ids",
    call: /neither id nor name/,
    why: "a topic without name and id spoils nobody else's answer",
  },
  {
    scenario: "ApiVersions tells of every API its versions",
    call: /.*/,
    why: "what is not served is not advertised, and old versions are served that Kafka dropped",
  },
  {
    scenario: "Produce of damaged records, not compressed",
    call: /length|longer|headers|three|bytes behind/,
    why: "records are not read where nothing asks for it",
  },
  {
    scenario: "Produce of damaged records, compressed",
    call: /offset|length|longer|headers|record |records |bytes/,
    why: "records are not read where nothing asks for it",
  },
  {
    scenario: "Produce of damaged records to a topic that compresses by itself",
    call: /offset is/,
    why: "an offset that cannot be is not corrected",
  },
  {
    scenario: "Produce of what cannot be decompressed",
    call: /.*/,
    why: "records are not read where nothing asks for it, and INVALID_RECORD for UNKNOWN_SERVER_ERROR",
  },
  {
    scenario: "OffsetCommit 0 and OffsetFetch 0 meant ZooKeeper",
    call: /.*/,
    why: "they use the group's offsets",
  },
  {
    scenario: "Produce of what is no batch at all, among others",
    call: /.*/,
    why: "each partition is judged by itself",
  },
  {
    scenario: "ListOffsets 0 of a topic without partitions, of nothing, and of one twice",
    call: /twice/,
    why: "what is named twice is answered once",
  },
  {
    scenario: "DescribeGroups and OffsetFetch name a group twice",
    call: /.*/,
    why: "what is named twice is answered once",
  },
  {
    scenario: "DescribeTopicPartitions of a topic without a name",
    call: /.*/,
    why: "a topic without a name spoils nobody else's answer",
  },
  {
    scenario: "Produce with every codec, and with codecs that there are not",
    call: /codec [567]/,
    why: "INVALID_RECORD for UNKNOWN_SERVER_ERROR",
  },
  {
    scenario: "Produce of a batch with a length that cannot be",
    call: /length (49|2147483647)/,
    why: "INVALID_RECORD for UNKNOWN_SERVER_ERROR, and where the checksum of a shorter batch fails",
  },
  {
    scenario: "Produce of two batches, of which one is good",
    call: /good, then/,
    why: "nothing is acknowledged that was not stored whole",
  },
  {
    scenario: "Fetch under isolation levels that there are and that there are not",
    call: /level (2|-1|127)/,
    why: "what is not read_committed is read_uncommitted",
  },
  {
    scenario: "ListOffsets under isolation levels that there are and that there are not",
    call: /level (2|-1)/,
    why: "what is not read_committed is read_uncommitted",
  },
  {
    scenario: "ApiVersions of any unknown version is answered in version 0 with error 35",
    call: "v99 with the header of v0",
    why: "who asks what is spoken is told, whatever the header",
  },
  {
    scenario: "Tagged fields must come in order and once",
    call: /.*/,
    why: "the protocol's rule is held to",
  },
  {
    scenario: "Fetch with negative limits",
    call: /.*/,
    why: "a negative limit is no room",
  },
  {
    scenario: "Produce of timestamps: none, negative, at the ends, with a wrong maximum",
    call: /after none/,
    why: "no record has the largest timestamp where none has any",
  },
  {
    scenario: "Fetch below version 4 gives what is in transactions as messages, and no markers",
    call: /v[0-3]: from [36]/,
    why: "behind a marker each message comes once",
  },
  {
    scenario: "DeleteRecords before, in and behind an open transaction",
    call: /deleted to 2/,
    why: "the last stable offset is not below the log's start",
  },
  {
    scenario: "transaction.version goes down and up, and what transactions do with it",
    call: /level 0/,
    why: "a request of the newer protocol is served at every level",
  },
  {
    scenario: "WriteTxnMarkers of a producer, an epoch and a version that cannot be",
    call: /WriteTxnMarkers/,
    why: "INVALID_REQUEST for UNKNOWN_SERVER_ERROR",
  },
];

/** What was answered to a scenario, without what may differ. */
export function comparable(scenario: string, answers: readonly unknown[]): unknown[] {
  const own = ownAnswers.filter((one) => one.scenario === scenario);
  return answers.map((answer) => {
    const [call] = Object.keys(answer as Record<string, unknown>);
    return own.some((one) => matches(one, call))
      ? { [call]: "<Trackway's own>" }
      : withoutDifferences(answer);
  });
}

/** The calls of a scenario that a rule excuses. */
export function excused(rule: OwnAnswer, answers: readonly unknown[]): unknown[] {
  return answers.filter((answer) => matches(rule, Object.keys(answer as Record<string, unknown>)[0]));
}

function matches({ call }: OwnAnswer, name: string): boolean {
  return typeof call === "string" ? call === name : call.test(name);
}

/** Takes out of an answer what may differ everywhere. */
function withoutDifferences(value: unknown): unknown {
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
