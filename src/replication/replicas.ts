/** The partitions that this broker hosts. */
import type { Partition } from "./partition.ts";

export class Replicas {
  private readonly byName = new Map<string, Partition[]>();

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

  /** Forgets a topic; who waits at its partitions is woken and finds them gone. */
  removeTopic(topic: string): void {
    const partitions = this.byName.get(topic);
    if (partitions === undefined) return;
    this.byName.delete(topic);
    // forEach leaves the holes out.
    partitions.forEach((partition) => partition.wakeAll());
  }
}
