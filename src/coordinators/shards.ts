/** The shards of one coordinator on this broker: one for each partition of its internal topic, made at its first use. */
import { ErrorCode } from "../codec/errors.ts";
import { coordinatorPartition } from "./partitioner.ts";
import type { Ticket } from "./machine.ts";
import type { CoordinatorLog, Shard } from "./shard.ts";

export interface ShardsPorts<OneShard> {
  /** Partitions of the internal topic, or how many it will have. */
  readonly partitionCount: () => number;
  /**
   * The log of a partition if this broker leads it, creating the topic on first use; else the error code for clients:
   * NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE. Asked again on each request until it gives a log.
   */
  readonly ensureLog: (partition: number) => CoordinatorLog | number | Promise<CoordinatorLog | number>;
  /** A new shard, not open yet. */
  readonly make: (partition: number) => OneShard;
}

type AnyShard<Input, Body> = Pick<
  // deno-lint-ignore no-explicit-any -- what these do is the same for every machine
  Shard<any, Input, any, any, Body, any>,
  "open" | "close" | "submit" | "isReplaceable" | "heldRequests"
>;

export class Shards<Input, Body, OneShard extends AnyShard<Input, Body>> {
  private readonly byPartition = new Map<number, OneShard>();
  private closed = false;

  constructor(private readonly ports: ShardsPorts<OneShard>) {}

  get isClosed(): boolean {
    return this.closed;
  }

  /** The shards that were asked for so far. */
  get all(): Iterable<OneShard> {
    return this.byPartition.values();
  }

  /** The partition that holds `key`; FindCoordinator answers with its leader. */
  partitionOf(key: string): number {
    return coordinatorPartition(key, this.ports.partitionCount());
  }

  /** The shard of a partition, opened if it is not; one that could not be opened is tried anew. Not once closed. */
  at(partition: number): OneShard {
    const existing = this.byPartition.get(partition);
    if (existing !== undefined && !existing.isReplaceable) return existing;
    const shard = this.ports.make(partition);
    this.byPartition.set(partition, shard);
    shard.open(this.ports.ensureLog(partition));
    return shard;
  }

  /** Hands an input to the shard that holds `key`; see {@link Shard.submit}. */
  ask<Answer extends Body>(
    key: string,
    input: (ticket: Ticket) => Input,
    fail: (errorCode: number) => Answer,
  ): Promise<Answer> {
    if (this.closed) return Promise.resolve(fail(ErrorCode.COORDINATOR_NOT_AVAILABLE));
    return this.at(this.partitionOf(key)).submit(input, fail);
  }

  /** Loads a partition that this broker has come to lead, so that it need not be loaded when a client waits for it. */
  open(partition: number): void {
    if (!this.closed) this.at(partition);
  }

  /** Tries again to load what could not be: transactions may be waiting for their end, and clients need not ask. */
  retry(): void {
    if (this.closed) return;
    for (const [partition, shard] of [...this.byPartition]) if (shard.isReplaceable) this.at(partition);
  }

  /** Gives up a partition that this broker no longer leads; what is held there is answered with NOT_COORDINATOR. */
  resign(partition: number): void {
    this.byPartition.get(partition)?.close();
    this.byPartition.delete(partition);
  }

  /** Answers everything that is held, and serves no more. */
  close(): void {
    this.closed = true;
    for (const shard of this.byPartition.values()) shard.close();
    this.byPartition.clear();
  }

  /** Requests that are held at the moment, for metrics. */
  get heldRequests(): number {
    let held = 0;
    for (const shard of this.byPartition.values()) held += shard.heldRequests;
    return held;
  }
}
