/**
 * How the file descriptors of the process are shared out. Each connection takes one, and so does each open file of a
 * segment: clients must not take those that the log needs, or writing would fail because somebody connects.
 */

export interface DescriptorShares {
  readonly connections: number;
  /** Segments and indexes that may be open at a time. */
  readonly files: number;
  /** Connections that may have a second one, to be sent files through. */
  readonly senders: number;
}

/** So many are worth keeping open. */
const ENOUGH_FILES = 1000;
/** More clients than that do not read much at the same time. */
const ENOUGH_SENDERS = 1000;
/** Standard streams, listeners, the metadata, the lock, and files that are open for a moment. */
const SPARE = 64;

/** `limit` is the most that the process may have open; null when it is not known, and then connections have no bound. */
export function shareDescriptors(limit: number | null): DescriptorShares {
  if (limit === null) return { connections: Infinity, files: ENOUGH_FILES, senders: ENOUGH_SENDERS };
  const files = Math.max(8, Math.min(ENOUGH_FILES, Math.floor((limit - SPARE) / 2)));
  const senders = Math.max(0, Math.min(ENOUGH_SENDERS, Math.floor((limit - SPARE - files) / 16)));
  return { connections: Math.max(8, limit - SPARE - files - senders), files, senders };
}

/** The soft limit on open files of this process, where the system tells it. */
export function descriptorLimit(
  readTextFile: (path: string) => string = Deno.readTextFileSync,
): number | null {
  let limits: string;
  try {
    limits = readTextFile("/proc/self/limits");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null; // Not Linux.
    if (error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable) return null;
    throw error;
  }
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? null : Number(soft);
}
