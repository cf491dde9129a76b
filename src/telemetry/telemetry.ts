/**
 * Client metrics (KIP-714): clients ask which of their metrics are wanted, and push them. What comes is kept among the
 * broker's own metrics; nothing has to be plugged in for that, unlike in Kafka.
 */
import { decompress } from "../codec/compression/index.ts";
import { Compression } from "../codec/batch_format.ts";
import { ErrorCode } from "../codec/errors.ts";
import { MalformedFrame } from "../codec/malformed.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import { type Instance, Instances, type Lifetime, mayAsk, mayPush, quietMs } from "./instances.ts";
import { readMetrics } from "./otlp.ts";
import { ReceivedMetrics } from "./received.ts";
import { Subscriptions, type TelemetryClient, type Wanted } from "./subscriptions.ts";

/** What clients may compress by, the best first: that is what they take. */
export const ACCEPTED_COMPRESSION_TYPES: readonly number[] = [
  Compression.ZSTD,
  Compression.LZ4,
  Compression.GZIP,
  Compression.SNAPPY,
];

/** Ids that no client instance has. */
const RESERVED_IDS: ReadonlySet<string> = new Set([ZERO_UUID, "AAAAAAAAAAAAAAAAAAAAAQ"]);

/** A push as the request has it. */
export interface Push {
  readonly clientInstanceId: string;
  readonly subscriptionId: number;
  readonly terminating: boolean;
  readonly compressionType: number;
  readonly metrics: Uint8Array;
}

/** What a client that asks is told. */
export type Subscribed =
  | { readonly errorCode: number }
  | { readonly errorCode: 0; readonly clientInstanceId: string; readonly wanted: Wanted };

export class Telemetry {
  readonly #instances = new Instances(new Subscriptions());
  readonly received = new ReceivedMetrics();
  /** Pushes that were taken, and that were refused, by error code. */
  pushes = 0;
  readonly refused = new Map<number, number>();

  constructor(
    /** `telemetry.max.bytes`: of a push, compressed or not. */
    private readonly maxBytes: () => number,
    private readonly newId: () => string,
  ) {}

  /** Asks for what these client-metrics resources say from now on. */
  setSubscriptions(configs: Iterable<ReadonlyMap<string, string>>): void {
    this.#instances.subscribe(new Subscriptions(configs));
  }

  get instanceCount(): number {
    return this.#instances.count;
  }

  /** GetTelemetrySubscriptions. A client that has no id yet is given one. */
  ask(clientInstanceId: string, client: TelemetryClient, connection: Lifetime, now: number): Subscribed {
    const id = clientInstanceId === ZERO_UUID ? this.#unusedId(now) : clientInstanceId;
    const instance = this.#instances.heard(id, client, connection, now);
    if (!mayAsk(instance, now)) return { errorCode: ErrorCode.THROTTLING_QUOTA_EXCEEDED };
    instance.lastErrorCode = ErrorCode.NONE;
    return { errorCode: ErrorCode.NONE, clientInstanceId: id, wanted: instance.wanted };
  }

  /** PushTelemetry; gives the error code. */
  push(push: Push, client: TelemetryClient, connection: Lifetime, now: number): number {
    const errorCode = this.#take(push, client, connection, now);
    if (errorCode === ErrorCode.NONE) this.pushes++;
    else this.refused.set(errorCode, (this.refused.get(errorCode) ?? 0) + 1);
    return errorCode;
  }

  #take(push: Push, client: TelemetryClient, connection: Lifetime, now: number): number {
    if (RESERVED_IDS.has(push.clientInstanceId)) return ErrorCode.INVALID_REQUEST;
    const instance = this.#instances.heard(push.clientInstanceId, client, connection, now);
    const errorCode = this.#refusal(push, instance, now) || this.#keep(push, instance, now);
    instance.lastErrorCode = errorCode;
    // Also of one that was refused, as in Kafka: a client that goes on after all is taken back by its next push.
    instance.terminating = push.terminating;
    return errorCode;
  }

  #refusal(
    { subscriptionId, terminating, compressionType, metrics }: Push,
    instance: Instance,
    now: number,
  ): number {
    if (instance.terminating) return ErrorCode.INVALID_REQUEST;
    // The last push need not be in time; that it came is remembered all the same.
    if (!mayPush(instance, now) && !terminating) return ErrorCode.THROTTLING_QUOTA_EXCEEDED;
    if (subscriptionId !== instance.wanted.subscriptionId) return ErrorCode.UNKNOWN_SUBSCRIPTION_ID;
    if (compressionType !== Compression.NONE && !ACCEPTED_COMPRESSION_TYPES.includes(compressionType)) {
      return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE;
    }
    return metrics.length > this.maxBytes() ? ErrorCode.TELEMETRY_TOO_LARGE : ErrorCode.NONE;
  }

  #keep({ compressionType, metrics }: Push, instance: Instance, now: number): number {
    if (metrics.length === 0) return ErrorCode.NONE;
    try {
      // All of it before any of it is kept: a push counts as a whole or not at all.
      const points = [...readMetrics(decompress(compressionType, metrics, this.maxBytes()))];
      this.received.take(instance.id, instance.client.clientId, points, now, now + quietMs(instance));
      return ErrorCode.NONE;
    } catch (error) {
      if (!(error instanceof MalformedFrame)) throw error;
      return ErrorCode.INVALID_RECORD;
    }
  }

  #unusedId(now: number): string {
    for (;;) {
      const id = this.newId();
      if (!RESERVED_IDS.has(id) && !this.#instances.has(id, now)) return id;
    }
  }
}
