/**
 * Where the cluster's metadata is kept: a small key-value map in which every commit has a revision. Everything that the
 * cluster must not forget or disagree about goes through `commit`, whose comparisons make concurrent writers safe. The
 * shape is that of etcd's v3 API, so that a cluster can put etcd behind this port. Leases (a key that goes when its
 * holder does) belong here as soon as there is more than one broker.
 */

/** A key with its value, and the revision of the commit that wrote it. */
export interface Entry {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
}

/** The key must have been written last by this revision; {@link ABSENT} if it must not exist. */
export interface Comparison {
  readonly key: string;
  readonly revision: number;
}

/** The revision of a key that does not exist. */
export const ABSENT = 0;

/** All of it happens, or nothing. No key may be named twice among `put` and `delete`. */
export interface Transaction {
  readonly compare: readonly Comparison[];
  readonly put: readonly { readonly key: string; readonly value: string }[];
  readonly delete: readonly string[];
}

/** `revision` is the commit's own, or the one at which a comparison failed: a reader of that revision sees why. */
export interface CommitResult {
  readonly ok: boolean;
  readonly revision: number;
}

/** What one commit changed. */
export interface ChangeBatch {
  readonly revision: number;
  readonly put: readonly { readonly key: string; readonly value: string }[];
  readonly delete: readonly string[];
}

/** A subscription; `close` ends it. */
export interface Watch {
  close(): void;
}

/** What is stored under a prefix, at one moment. */
export interface Listing {
  /** Of the last commit to the store, whatever it touched: where a watch goes on. */
  readonly revision: number;
  /** Sorted by key. */
  readonly entries: readonly Entry[];
}

/** A store of metadata. Every method but `watch` and `close` rejects with {@link StoreFailure} when the store is out of order. */
export interface MetadataStore {
  /** What to name in messages: a file, an address. */
  readonly location: string;
  /** Every entry whose key starts with `prefix`. */
  list(prefix: string): Promise<Listing>;
  /** Durable when it resolves with `ok`. */
  commit(transaction: Transaction): Promise<CommitResult>;
  /**
   * Calls `listener` with each commit after `fromRevision`, in order and without gaps, this writer's own commits
   * included. Throws when the store no longer remembers the commits that far back: then list again.
   */
  watch(fromRevision: number, listener: (batch: ChangeBatch) => void): Watch;
  close(): Promise<void>;
}

/** The store could not be read or written: a full disk, a lost connection. What was asked for may not have happened. */
export class StoreFailure extends Error {
  override name = "StoreFailure";
}
