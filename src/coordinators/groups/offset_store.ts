/**
 * What the log says of offsets, made true: those that are committed, and those that transactions have left pending.
 * Of several commits of one partition the last in the log counts, wherever the end of its transaction is: compaction
 * goes by that, so that any other rule would give other offsets after a restart.
 */
import type { Producer } from "../machine.ts";
import type { OffsetCommitFact } from "./facts.ts";
import { type GroupOffsets, type GroupsState, type LoggedOffset, newGroup } from "./types.ts";

type OffsetKey = OffsetCommitFact["key"];

/** Makes a commit or a deletion true. A deletion takes what is pending with it. */
export function applyOffset(state: GroupsState, { key, value }: OffsetCommitFact, logOffset: number): void {
  if (value !== null) return setOffset(state, key, { ...value, logOffset });
  removeOffset(state.offsets, key.group, key);
  const pending = state.pending.get(key.group);
  for (const producerId of [...pending?.keys() ?? []]) {
    removeOffset(pending!, producerId, key);
    if (!pending!.has(producerId)) leaveTransaction(state, producerId, key.group);
  }
}

/** Takes note of a commit that counts if the producer's transaction does. */
export function applyPendingOffset(
  state: GroupsState,
  { key, value }: OffsetCommitFact,
  logOffset: number,
  { producerId, producerEpoch }: Producer,
): void {
  // Nobody deletes offsets in a transaction.
  if (value === null) return;
  ensureGroup(state, key.group);
  const transaction = state.transactions.get(producerId);
  if (transaction === undefined) {
    state.transactions.set(producerId, { producerEpoch, groups: new Set([key.group]) });
  } else {
    transaction.producerEpoch = producerEpoch;
    transaction.groups.add(key.group);
  }
  let pending = state.pending.get(key.group);
  if (pending === undefined) state.pending.set(key.group, pending = new Map());
  putOffset(pending, producerId, key, { ...value, logOffset });
}

/** Makes what the producer left pending true, or forgets it. */
export function endTransaction(state: GroupsState, producerId: number, isCommit: boolean): void {
  for (const group of state.transactions.get(producerId)?.groups ?? []) {
    const offsets = state.pending.get(group)!.get(producerId)!;
    if (isCommit) commitAll(state, group, offsets);
    leaveTransaction(state, producerId, group);
  }
}

function commitAll(state: GroupsState, group: string, offsets: GroupOffsets): void {
  for (const [topic, partitions] of offsets) {
    for (const [partition, offset] of partitions) {
      const committed = state.offsets.get(group)?.get(topic)?.get(partition);
      if (committed !== undefined && committed.logOffset > offset.logOffset) continue;
      setOffset(state, { group, topic, partition }, offset);
    }
  }
}

/** Nothing of the group is pending in the producer's transaction any more. */
function leaveTransaction(state: GroupsState, producerId: number, group: string): void {
  const pending = state.pending.get(group)!;
  pending.delete(producerId);
  if (pending.size === 0) state.pending.delete(group);
  const { groups } = state.transactions.get(producerId)!;
  groups.delete(group);
  if (groups.size === 0) state.transactions.delete(producerId);
}

/** Whether a transaction that has not ended may move the group's offset of this partition. */
export function isPending(state: GroupsState, group: string, topic: string, partition: number): boolean {
  for (const offsets of state.pending.get(group)?.values() ?? []) {
    if (offsets.get(topic)?.has(partition)) return true;
  }
  return false;
}

/** Every partition that the group has an offset of, committed or pending, by topic. */
export function partitionsWithOffsets(state: GroupsState, group: string): Map<string, Set<number>> {
  const all = new Map<string, Set<number>>();
  for (const offsets of [state.offsets.get(group), ...state.pending.get(group)?.values() ?? []]) {
    for (const [topic, partitions] of offsets ?? []) {
      const known = all.get(topic);
      if (known === undefined) all.set(topic, new Set(partitions.keys()));
      else for (const partition of partitions.keys()) known.add(partition);
    }
  }
  return all;
}

/** The groups that have offsets of one of the topics, committed or pending. */
export function groupsWithOffsetsOf(state: GroupsState, topics: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  const look = (group: string, offsets: GroupOffsets) => {
    for (const topic of offsets.keys()) if (topics.has(topic)) return void found.add(group);
  };
  for (const [group, offsets] of state.offsets) look(group, offsets);
  for (const [group, pending] of state.pending) for (const offsets of pending.values()) look(group, offsets);
  return found;
}

function setOffset(state: GroupsState, key: OffsetKey, offset: LoggedOffset): void {
  ensureGroup(state, key.group);
  putOffset(state.offsets, key.group, key, offset);
}

/** A simple group has no record of its own: its offsets are its record, be they pending. */
function ensureGroup(state: GroupsState, group: string): void {
  if (!state.groups.has(group)) state.groups.set(group, newGroup(group, -1));
}

function putOffset<Owner>(
  all: Map<Owner, GroupOffsets>,
  owner: Owner,
  { topic, partition }: OffsetKey,
  offset: LoggedOffset,
): void {
  const topics = all.get(owner);
  if (topics === undefined) all.set(owner, new Map([[topic, new Map([[partition, offset]])]]));
  else if (topics.has(topic)) topics.get(topic)!.set(partition, offset);
  else topics.set(topic, new Map([[partition, offset]]));
}

function removeOffset<Owner>(
  all: Map<Owner, GroupOffsets>,
  owner: Owner,
  { topic, partition }: OffsetKey,
): void {
  const topics = all.get(owner);
  const partitions = topics?.get(topic);
  partitions?.delete(partition);
  if (partitions?.size === 0) topics!.delete(topic);
  if (topics?.size === 0) all.delete(owner);
}
