/**
 * Answers in a form that is the same in every run: what cannot be the same twice (ids, times, addresses) is replaced by
 * a word, and lists that Kafka gives in the order of a hash table are sorted.
 */
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";

/** Fields whose value is never the same twice. */
const volatile: Readonly<Record<string, (value: unknown) => unknown>> = {
  clusterId: (v) => v === null || v === "" ? v : "<cluster>",
  host: (v) => v === "" ? v : "<host>",
  port: (v) => typeof v === "number" && v > 0 ? "<port>" : v,
  topicId: (v) => v === ZERO_UUID ? v : "<topic id>",
  memberId: (v) => v === "" ? v : "<member>",
  leader: (v) => typeof v === "string" && v !== "" ? "<member>" : v,
  logAppendTimeMs: (v) => v === "-1" ? v : "<now>",
  producerId: (v) => v === "-1" ? v : "<producer>",
  sessionId: (v) => v === 0 ? v : "<session>",
  // Kafka's wording is its own; that there is a text is the same.
  errorMessage: (v) => v === null || v === "" || v === "NONE" ? v : "<text>",
  batchIndexErrorMessage: (v) => v === null ? v : "<text>",
  documentation: (v) => v === null || v === "" ? v : "<text>",
  errorCode: (v) => typeof v === "number" && v !== ErrorCode.NONE ? `${v} ${errorName(v)}` : v,
};

/** Lists that Kafka gives in the order of a hash table, and by what they are sorted to be compared. */
const unordered: Readonly<Record<string, string>> = {
  configs: "name",
  responses: "name",
  topics: "name",
  groups: "groupId",
  partitionResponses: "index",
  partitions: "partitionIndex",
  results: "groupId",
};

/** `value`, a decoded answer as JSON, in its normal form. */
export function normal(value: unknown, key = ""): unknown {
  if (key !== "" && volatile[key]) return volatile[key](value);
  if (Array.isArray(value)) {
    const items = value.map((item) => normal(item));
    return key in unordered ? sorted(items, unordered[key]) : items;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, normal(inner, name)]));
}

/** By the field, and where that is the same or not there, by all that is left. */
function sorted(items: unknown[], field: string): unknown[] {
  const by = (item: unknown) => {
    const named = (item as Record<string, unknown> | null)?.[field] ?? "";
    return `${named}\0${JSON.stringify(item)}`;
  };
  return items.map((item) => ({ item, by: by(item) })).sort((a, b) => a.by < b.by ? -1 : a.by > b.by ? 1 : 0)
    .map(({ item }) => item);
}
