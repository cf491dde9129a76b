/**
 * A data directory as a whole: whose it is, that no one else uses it, and whether it was closed in order.
 */

import { newUuid } from "../codec/uuid.ts";
import {
  CLEAN_SHUTDOWN_FILE,
  CorruptCheckpoint,
  LOCK_FILE,
  META_PROPERTIES_FILE,
  type MetaProperties,
  readMetaProperties,
  writeMetaProperties,
} from "./checkpoints.ts";
import { type Files, IoError, parentOf, type Unlock } from "./files.ts";

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
  closedCleanly: boolean;
  unlock: Unlock;
}

/**
 * Locks the directory (made when missing) and checks that it belongs to this broker; an empty one becomes its own.
 * `clusterId` null adopts the cluster that the directory names. Throws {@link DataDirectoryError}.
 */
export function claimDirectory(
  files: Files,
  directory: string,
  clusterId: string | null,
  nodeId: number,
): Claim {
  const unlock = lockDirectory(files, directory);
  try {
    const path = `${directory}/${META_PROPERTIES_FILE}`;
    const found = readMetaProperties(files, path);
    const meta = found ?? {
      clusterId: clusterId ?? newUuid((bytes) => crypto.getRandomValues(bytes)),
      nodeId,
      directoryId: newUuid((bytes) => crypto.getRandomValues(bytes)),
    };
    checkOwner(meta, directory, clusterId, nodeId);
    if (found === null) {
      writeMetaProperties(files, path, meta);
      syncName(files, directory);
    }
    const marker = `${directory}/${CLEAN_SHUTDOWN_FILE}`;
    const closedCleanly = files.stat(marker) !== null;
    if (closedCleanly) {
      files.remove(marker);
      files.syncDirectoryNow(directory);
    }
    return { meta, closedCleanly, unlock };
  } catch (error) {
    unlock();
    if (!(error instanceof IoError) && !(error instanceof CorruptCheckpoint)) throw error;
    throw new DataDirectoryError("unusable", `Cannot use data directory ${directory}: ${error.message}`, {
      cause: error,
    });
  }
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
    if (!(error instanceof IoError)) throw error;
    throw new DataDirectoryError("unusable", `Cannot use data directory ${directory}: ${error.message}`, {
      cause: error,
    });
  }
  if (unlock === null) {
    throw new DataDirectoryError(
      "locked",
      `Cannot use data directory ${directory}: another broker is running on it`,
    );
  }
  return unlock;
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
