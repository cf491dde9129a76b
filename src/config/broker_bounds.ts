/**
 * Bounds on what clients may make the broker do or keep, where Kafka has no setting for it. docs/limits.md has all
 * bounds in one table, with what a client sees of each.
 */
import { int, long } from "./setting.ts";

/** One row each; see setting.ts for the words. */
export const boundRows = {
  "trackway.request.min.bytes.per.second": int({
    or: 102400,
    min: 1,
    doc: "While others wait for memory, a request above 64 KiB that comes more slowly than this is cut off.",
  }),
  "trackway.request.memory.wait.ms": int({
    or: 30000,
    min: 1,
    doc: "When a request has waited so long for memory, those that have had some for as long are cut off.",
  }),
  "trackway.connection.unsent.bytes": int({
    or: 8388608,
    min: 1,
    doc: "Answers that a client has not taken, beyond which its requests are not read.",
  }),
  "trackway.group.max.pending.members": int({
    or: 5000,
    min: 1,
    doc: "Member ids of a group that were given out and not used yet; the oldest makes way for one more.",
  }),
  "trackway.list.offsets.decompressed.bytes": long({
    or: 536870912,
    min: 1,
    doc: "What one ListOffsets may have decompressed; partitions beyond it are to be asked for again.",
  }),
};
