/** The partitions that this broker hosts. */
import type { Partition } from "./partition.ts";

export class Replicas {
  private readonly byName = new Map<string, Partition[]>();
  /** Indexes of partitions that cannot be hosted as long as their directory is away, by topic. */
  private readonly offline = new Map<string, Set<number>>();

  /** The hosted partition, or undefined. */
  get(topic: string, index: number): Partition | undefined {
    return this.byName.get(topic)?.[index];
  }

  /** The hosted partitions of a topic; indexes may have holes. */
  ofTopic(topic: string): readonly Partition[] {
    return this.byName.get(topic) ?? [];
  }

  *all(): Iterable<Partition> {
    for (const partitions of this.byName.values()) {
      for (const partition of partitions) if (partition) yield partition;
    }
  }

  add(partition: Partition): void {
    let partitions = this.byName.get(partition.topic);
    if (partitions === undefined) this.byName.set(partition.topic, partitions = []);
    partitions[partition.index] = partition;
  }

  /** Whether the partition is on a disk that is away, so that nobody leads it; changes only when the topic goes. */
  isOffline(topic: string, index: number): boolean {
    return this.offline.size > 0 && (this.offline.get(topic)?.has(index) ?? false);
  }

  /** To be called at start. */
  setOffline(topic: string, index: number): void {
    const indexes = this.offline.get(topic);
    if (indexes === undefined) this.offline.set(topic, new Set([index]));
    else indexes.add(index);
  }

  /** Forgets a topic; who waits at its partitions is woken and finds them gone. */
  removeTopic(topic: string): void {
    this.offline.delete(topic);
    const partitions = this.byName.get(topic);
    if (partitions === undefined) return;
    this.byName.delete(topic);
    // forEach leaves the holes out.
    partitions.forEach((partition) => partition.wakeAll());
  }
}
