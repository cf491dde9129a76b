/**
 * What a handler is and what it may use. A handler is a function from a decoded request to a response: it decides
 * and converts, the services below do the work. It answers errors with the protocol's codes and never throws for
 * bad input; null as an answer means that nothing is sent (Produce with acks=0).
 */
import type { Clock } from "../base/clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Api, RequestOf, ResponseOf } from "../codec/schema.ts";
import type { BrokerConfig } from "../config/broker_config.ts";
import type { GroupService } from "../coordinators/groups/service.ts";
import type { MarkerWriter } from "../coordinators/marker_writer.ts";
import type { TransactionService } from "../coordinators/transactions/service.ts";
import type { Quotas } from "../quotas/quotas.ts";
import type { FetchSessions } from "../replication/fetch_sessions.ts";
import type { HeldRequests } from "../replication/held_requests.ts";
import type { LogMover } from "../replication/log_mover.ts";
import type { Replicas } from "../replication/replicas.ts";
import type { SlowAppends } from "../replication/slow_appends.ts";
import type { Principal } from "../security/principal.ts";
import type { Lifetime } from "../telemetry/instances.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { LogDirectories } from "../storage/manager/log_directories.ts";

/** The broker as handlers see it. */
export interface Services {
  readonly config: BrokerConfig;
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly replicas: Replicas;
  readonly logs: LogDirectories;
  /** Appends that wait for another thread, and what is behind them. */
  readonly slowAppends: SlowAppends;
  /** Moves partitions between data directories. */
  readonly mover: LogMover;
  readonly groups: GroupService;
  readonly transactions: TransactionService;
  /** Ends transactions in partitions. */
  readonly markers: MarkerWriter;
  readonly fetchSessions: FetchSessions;
  readonly held: HeldRequests;
  readonly quotas: Quotas;
  readonly telemetry: Telemetry;
  /** How many bytes of answers there is memory for, in view of those that clients have not taken yet. */
  answerRoomBytes(): number;
  /** Makes an internal topic where it does not exist yet; gives the error code for clients when it cannot. */
  ensureInternalTopic(topic: string): Promise<number>;
}

/** What a client calls itself (KIP-511). */
export interface ClientSoftware {
  readonly name: string;
  readonly version: string;
}

/** One request's surroundings. */
export interface RequestContext {
  readonly services: Services;
  readonly version: number;
  /** As the client names itself; "" when it does not. */
  readonly clientId: string;
  readonly principal: Principal;
  /** What the client called itself on this connection; null when it has not. Set by ApiVersions. */
  software: ClientSoftware | null;
  /** The client's address without its port, in Kafka's form: "/127.0.0.1". */
  readonly clientHost: string;
  /** "127.0.0.1:50312" */
  readonly remote: string;
  /** Tells, later too, whether the client's connection is still there. */
  readonly connection: Lifetime;
  /** The listener that the request came in by. */
  readonly listenerName: string;
  /** How long the request has been worked at; once it waits, how long before that. */
  handlerTimeMs(): number;
  /** Whether records may stay in their file in an answer: the system sends them from there. */
  readonly sendsFiles: boolean;
  /** Buffers for the answer, which are taken back when it is out. */
  readonly loans: Lender;
  /**
   * Counts so many more bytes of an answer that may be far larger than its request; to be called before they are made. What
   * it gives is to be waited for: others have the memory. Then the connection may be over, and nobody wants the answer.
   */
  growAnswer(bytes: number): Promise<void> | null;
  /** Set by a handler that waits: called when the connection goes away, so that the wait ends at once. */
  onDisconnect: (() => void) | null;
  /** Cuts the connection off where the protocol has no answer; `reason` goes into the log. */
  disconnect(reason: string): void;
}

/** Lends buffers that are used again. */
export interface Lender {
  /** A buffer of at least `bytes` bytes. */
  lend(bytes: number): Uint8Array;
  /** Gives back what was lent since the last call, but for the buffer that `bytes` lies in. */
  keepOnly(bytes: Uint8Array): void;
  /** Gives everything back, before a wait: what was read is read again after it. */
  giveAll(): void;
}

/**
 * Serves one API. Answers at once where it can: a promise costs a turn of the event loop. What waits for another request
 * gives a {@link Later}, which is answered in the turn of that request.
 */
export type Handler<A extends Api> = (
  request: RequestOf<A>,
  context: RequestContext,
) => ResponseOf<A> | null | PromiseLike<ResponseOf<A> | null>;
