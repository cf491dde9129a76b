/**
 * What clients did and saw in transactions, as a list of events in the manner of Jepsen: what is about to be done
 * (`invoke`), what came of it (`ok`, `fail`, or `info` where nobody knows). The n-th record of a transaction says
 * "PROCESS TRANSACTION n", one that answers another record goes on with " PLACE@OFFSET". Of a process that was killed
 * everything is here that it had begun, since it says so before.
 *
 * `at` is in ms by a clock that all processes share: of an invocation before it, of a result after it.
 */

/** "topic-partition" */
export type Place = string;

/** A process that is about to run; a slot has one after the other, and two when one was stopped and replaced. */
export interface ClientEvent {
  readonly f: "client";
  readonly process: string;
  readonly role: "writer" | "reader" | "transformer";
  readonly isolation: "read_committed" | "read_uncommitted";
  readonly transactionalId?: string;
  /** Of a member; without one, all places are read from their beginning. */
  readonly group?: string;
}

/** A producer of a transactional id: nobody who had it before may go on. */
export interface InitEvent {
  readonly f: "init";
  readonly type: "invoke" | "ok";
  readonly process: string;
  readonly at: number;
}

export interface BeginEvent {
  readonly f: "txn";
  readonly type: "invoke";
  readonly process: string;
  readonly at: number;
  readonly txn: number;
  /** Where the n-th record goes. */
  readonly sends: readonly Place[];
  /** Whether it is to be committed. */
  readonly commit: boolean;
  /** What the n-th record answers. */
  readonly inputs?: readonly (readonly [Place, number])[];
  /** The group's offsets that it takes along. */
  readonly offsets?: readonly (readonly [Place, number])[];
}

/** From here on it may be committed. */
export interface CommitEvent {
  readonly f: "commit";
  readonly type: "invoke";
  readonly process: string;
  readonly at: number;
  readonly txn: number;
}

/** Committed, aborted, or nobody knows. */
export interface EndEvent {
  readonly f: "txn";
  readonly type: "ok" | "fail" | "info";
  readonly process: string;
  readonly at: number;
  readonly txn: number;
  /** Where the n-th record was acknowledged; -1 for nowhere. */
  readonly offsets?: readonly number[];
  readonly error?: string;
}

export interface PollEvent {
  readonly f: "poll";
  readonly process: string;
  readonly at: number;
  readonly records: readonly (readonly [Place, number, string])[];
  /** Where the reader is after it, as far as its client tells: past records that it was not given, too. */
  readonly positions?: readonly (readonly [Place, number])[];
  /** The transaction of this process in which it was. */
  readonly txn?: number;
}

/** A member's places change, or it goes back to what its group has committed: its next poll may be anywhere. */
export interface MovedEvent {
  readonly f: "assigned" | "revoked" | "rewound";
  readonly process: string;
  readonly at: number;
}

/** The producer was told that another has its transactional id. */
export interface FencedEvent {
  readonly f: "fenced";
  readonly process: string;
  readonly at: number;
  readonly error: string;
}

/** What a group's offsets were found to be, at some time from `began` to `at`. The last one is after all else. */
export interface OffsetsEvent {
  readonly f: "offsets";
  readonly at: number;
  readonly began: number;
  readonly group: string;
  readonly offsets: readonly (readonly [Place, number])[];
}

/** What was done to the broker or a client. */
export interface NemesisEvent {
  readonly f: "nemesis";
  readonly did: string;
}

/** A process ended as it was told to, after all others had stopped to write and it had time to read. */
export interface EndedEvent {
  readonly f: "ended";
  readonly process: string;
}

/** A batch as it is in the log: of a producer's records, or the end of a transaction. */
export type LoggedBatch =
  & { readonly offset: number; readonly producerId: number; readonly epoch: number }
  & ({ readonly values: readonly string[] } | { readonly marker: "commit" | "abort" });

/** All that is in a place at the end. */
export interface LogEvent {
  readonly f: "log";
  readonly place: Place;
  readonly start: number;
  /** The last stable offset, after every transaction must have ended. */
  readonly stable: number;
  readonly end: number;
  readonly batches: readonly LoggedBatch[];
}

export type TransactionEvent =
  | ClientEvent
  | InitEvent
  | BeginEvent
  | CommitEvent
  | EndEvent
  | PollEvent
  | MovedEvent
  | FencedEvent
  | OffsetsEvent
  | NemesisEvent
  | EndedEvent
  | LogEvent;
