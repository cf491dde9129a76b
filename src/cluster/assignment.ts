/** The rules for replicas that a client names itself, the same for new topics and for new partitions. */

/**
 * Why a partition cannot live on `brokerIds`, in one line; null when it can. `replicationFactor` is that of the
 * partitions before it, null for the first.
 */
export function assignmentProblem(
  brokerIds: readonly number[],
  replicationFactor: number | null,
  brokers: ReadonlyMap<number, unknown>,
): string | null {
  if (brokerIds.length === 0) return "The replica assignment of a partition is empty";
  const seen = new Set<number>();
  for (const id of brokerIds.toSorted((a, b) => a - b)) {
    if (!brokers.has(id)) return `The replica assignment names broker ${id}, which is not registered`;
    if (seen.has(id)) return `The replica assignment names broker ${id} twice for one partition`;
    seen.add(id);
  }
  if (replicationFactor !== null && brokerIds.length !== replicationFactor) {
    return `The replica assignment gives one partition ${brokerIds.length} replicas and another ${replicationFactor}`;
  }
  return null;
}
