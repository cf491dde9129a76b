/**
 * The partitions of one fetch session: found by topic and index, kept in the order in which they are to be read. There
 * may be hundreds of thousands, of which each request looks at every one: each is one small object, and what a request
 * reads are these objects themselves.
 */

/** Names a partition in a session. */
export interface PartitionKey {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
}

/** What a client wants of one partition. */
export interface FetchedPartition extends PartitionKey {
  readonly currentLeaderEpoch: number;
  readonly fetchOffset: number;
  readonly lastFetchedEpoch: number;
  readonly partitionMaxBytes: number;
}

/** What a partition and a topic cost in memory, measured; a topic's name comes on top of it. */
const PARTITION_BYTES = 200, TOPIC_BYTES = 500;

/** What a client wants of a partition, which does not change, and what it was told of it last, which does. */
export class SessionPartition implements FetchedPartition {
  readonly partition: number;
  readonly currentLeaderEpoch: number;
  readonly fetchOffset: number;
  readonly lastFetchedEpoch: number;
  readonly partitionMaxBytes: number;
  highWatermark = -1;
  lastStableOffset = -1;
  logStartOffset = -1;
  /** Neighbours in the order of the session. */
  previous: SessionPartition | null = null;
  next: SessionPartition | null = null;
  /** Whether it is still what the client wants. */
  isCurrent = true;

  constructor(wanted: FetchedPartition, readonly topic: string, readonly topicId: string) {
    this.partition = wanted.partition;
    this.currentLeaderEpoch = wanted.currentLeaderEpoch;
    this.fetchOffset = wanted.fetchOffset;
    this.lastFetchedEpoch = wanted.lastFetchedEpoch;
    this.partitionMaxBytes = wanted.partitionMaxBytes;
  }
}

/** A topic has one copy of its names, however often requests name it. */
interface Topic {
  name: string;
  readonly id: string;
  readonly partitions: Map<number, SessionPartition>;
}

export class SessionPartitions {
  private readonly topics = new Map<string, Topic>();
  private first: SessionPartition | null = null;
  private last: SessionPartition | null = null;
  private count = 0;
  private topicBytes = 0;

  /** `keyOf` gives what a topic is told apart by: its id or its name. */
  constructor(private readonly keyOf: (partition: PartitionKey) => string) {}

  get size(): number {
    return this.count;
  }

  /** About what all of it takes of memory. */
  get bytes(): number {
    return this.count * PARTITION_BYTES + this.topicBytes;
  }

  find(key: PartitionKey): SessionPartition | undefined {
    return this.topics.get(this.keyOf(key))?.partitions.get(key.partition);
  }

  /** Takes a partition in at the end; one that is there already keeps its place and what was said of it. */
  put(wanted: FetchedPartition): void {
    const topic = this.topicOf(wanted);
    const before = topic.partitions.get(wanted.partition);
    const now = new SessionPartition(wanted, topic.name, topic.id);
    topic.partitions.set(wanted.partition, now);
    if (before === undefined) {
      this.count++;
      this.append(now);
    } else {
      before.isCurrent = false;
      now.highWatermark = before.highWatermark;
      now.lastStableOffset = before.lastStableOffset;
      now.logStartOffset = before.logStartOffset;
      this.link(before.previous, now);
      this.link(now, before.next);
    }
  }

  remove(key: PartitionKey): void {
    const name = this.keyOf(key);
    const topic = this.topics.get(name);
    const gone = topic?.partitions.get(key.partition);
    if (topic === undefined || gone === undefined) return;
    topic.partitions.delete(key.partition);
    if (topic.partitions.size === 0) {
      this.topics.delete(name);
      this.topicBytes -= bytesOf(name);
    }
    gone.isCurrent = false;
    this.count--;
    this.unlink(gone);
  }

  moveToEnd(partition: SessionPartition): void {
    if (partition === this.last) return;
    this.unlink(partition);
    this.append(partition);
  }

  /** All partitions, in their order at this moment. */
  toArray(): SessionPartition[] {
    const all: SessionPartition[] = [];
    for (let partition = this.first; partition !== null; partition = partition.next) all.push(partition);
    return all;
  }

  private topicOf(wanted: PartitionKey): Topic {
    const key = this.keyOf(wanted);
    let topic = this.topics.get(key);
    if (topic === undefined) {
      this.topics.set(key, topic = { name: wanted.topic, id: wanted.topicId, partitions: new Map() });
      this.topicBytes += bytesOf(key);
    } else if (topic.name !== wanted.topic) topic.name = wanted.topic;
    return topic;
  }

  private append(partition: SessionPartition): void {
    this.link(this.last, partition);
    this.link(partition, null);
  }

  private unlink(partition: SessionPartition): void {
    this.link(partition.previous, partition.next);
  }

  private link(one: SessionPartition | null, other: SessionPartition | null): void {
    if (one === null) this.first = other;
    else one.next = other;
    if (other === null) this.last = one;
    else other.previous = one;
  }
}

function bytesOf(topicKey: string): number {
  return TOPIC_BYTES + 2 * topicKey.length;
}
