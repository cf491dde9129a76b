/**
 * A data directory as a whole: whose it is, that no one else uses it, and whether it was closed in order.
 */

import { newUuid } from "../../codec/uuid.ts";
import {
  CLEAN_SHUTDOWN_FILE,
  type CleanShutdown,
  CorruptCheckpoint,
  LOCK_FILE,
  META_PROPERTIES_FILE,
  type MetaProperties,
  readCleanShutdown,
  readMetaProperties,
  writeMetaProperties,
} from "./checkpoints.ts";
import { type Files, IoError, parentOf, type Unlock } from "../files/files.ts";

/** Why a data directory cannot be used. The text says what to do. */
export class DataDirectoryError extends Error {
  override name = "DataDirectoryError";
  constructor(
    readonly kind: "locked" | "unusable" | "foreign-cluster" | "foreign-node",
    text: string,
    options?: ErrorOptions,
  ) {
    super(text, options);
  }
}

export interface Claim {
  meta: MetaProperties;
  /** The marker was there. It is gone now: what happens from here on may end uncleanly. */
  cleanShutdown: CleanShutdown | null;
  /** What is wrong with the marker, which then says nothing; null when nothing is. */
  problem: string | null;
  unlock: Unlock;
}

/** Who claims a directory. */
export interface Claimant {
  /** Null adopts the cluster that the directory, or else the store, names. */
  clusterId: string | null;
  nodeId: number;
  /**
   * The cluster that the metadata store in the directory belongs to, null for a new store. Is asked once the directory is
   * locked: whoever loses `meta.properties` must not become another cluster by it.
   */
  storedClusterId?(): Promise<string | null>;
}

/**
 * Locks the directory (made when missing) and checks that it belongs to this broker; an empty one becomes its own.
 * Nothing is written before everything has been checked. Throws {@link DataDirectoryError}.
 */
export async function claimDirectory(files: Files, directory: string, claimant: Claimant): Promise<Claim> {
  const { clusterId, nodeId } = claimant;
  const unlock = lockDirectory(files, directory);
  try {
    const path = `${directory}/${META_PROPERTIES_FILE}`;
    const found = readMetaProperties(files, path);
    if (found !== null) checkOwner(found, directory, clusterId, nodeId);
    const stored = await claimant.storedClusterId?.() ?? null;
    const newId = () => newUuid((bytes) => crypto.getRandomValues(bytes));
    const meta = found ?? { clusterId: clusterId ?? stored ?? newId(), nodeId, directoryId: newId() };
    if (stored !== null && stored !== meta.clusterId) throw foreignStore(directory, meta.clusterId, stored);
    if (found === null) writeMetaProperties(files, path, meta);
    const { cleanShutdown, problem } = takeMarker(files, directory);
    // Whoever made the directory may have died before.
    if (cleanShutdown === null) syncName(files, directory);
    files.syncDirectoryNow(directory);
    return { meta, cleanShutdown, problem, unlock };
  } catch (error) {
    unlock();
    throw unusable(directory, error);
  }
}

/** The marker of an orderly stop, null without one. It is gone afterwards. */
function takeMarker(
  files: Files,
  directory: string,
): { cleanShutdown: CleanShutdown | null; problem: string | null } {
  const marker = `${directory}/${CLEAN_SHUTDOWN_FILE}`;
  let cleanShutdown: CleanShutdown | null = null;
  let problem: string | null = null;
  try {
    cleanShutdown = readCleanShutdown(files, marker);
  } catch (error) {
    if (!(error instanceof CorruptCheckpoint)) throw error;
    problem = `${error.message}; reading the logs as after a crash`;
  }
  if (cleanShutdown !== null || problem !== null) files.remove(marker);
  return { cleanShutdown, problem };
}

/** What to tell the operator of a directory in which something cannot be read or written; other errors come back as they are. */
export function unusable(directory: string, error: unknown): unknown {
  let wayOut: string;
  if (error instanceof CorruptCheckpoint) {
    wayOut = "Put the right one back, or move it away: what the directory tells otherwise then has to do";
  } else if (error instanceof IoError) {
    wayOut =
      "See to it that this user may read and write there, that files are files, and that there is space";
  } else return error;
  const text = `Cannot use data directory ${directory}: ${error.message}. ${wayOut}`;
  return new DataDirectoryError("unusable", text, { cause: error });
}

/** Makes a new directory's own name durable, where the directory above may be opened: not everyone may. */
function syncName(files: Files, directory: string): void {
  try {
    files.syncDirectoryNow(parentOf(directory));
  } catch (error) {
    if (!(error instanceof IoError) || !["EACCES", "EPERM"].includes(error.code)) throw error;
  }
}

function lockDirectory(files: Files, directory: string): Unlock {
  let unlock: Unlock | null;
  try {
    files.makeDirectory(directory);
    unlock = files.lock(`${directory}/${LOCK_FILE}`);
  } catch (error) {
    throw unusable(directory, error);
  }
  if (unlock === null) {
    throw new DataDirectoryError(
      "locked",
      `Cannot use data directory ${directory}: another broker is running on it. Stop that one, or choose another ` +
        `directory with --data`,
    );
  }
  return unlock;
}

function foreignStore(directory: string, clusterId: string, stored: string): DataDirectoryError {
  return new DataDirectoryError(
    "foreign-cluster",
    `Cannot use data directory ${directory}: ${META_PROPERTIES_FILE} says cluster ${clusterId}, the metadata in it belongs ` +
      `to cluster ${stored}. The two are of different brokers; put the right one in its place`,
  );
}

function checkOwner(meta: MetaProperties, directory: string, clusterId: string | null, nodeId: number): void {
  if (clusterId !== null && meta.clusterId !== clusterId) {
    throw new DataDirectoryError(
      "foreign-cluster",
      `Cannot use data directory ${directory}: it belongs to cluster ${meta.clusterId}, this broker to ${clusterId}`,
    );
  }
  if (meta.nodeId !== nodeId) {
    throw new DataDirectoryError(
      "foreign-node",
      `Cannot use data directory ${directory}: it belongs to node ${meta.nodeId}, this broker is ${nodeId}`,
    );
  }
}
