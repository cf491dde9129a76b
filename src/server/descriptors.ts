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

type ReadTextFile = (path: string) => string;

/** The soft limit on open files of this process, where the system tells it. */
export function descriptorLimit(readTextFile: ReadTextFile = Deno.readTextFileSync): number | null {
  return numberIn("/proc/self/limits", /^Max open files\s+(\d+)/m, readTextFile);
}

/**
 * All descriptors that this process has are below it, where the system tells it: about as many as were open at once, which
 * the limit may be a thousand times of.
 */
export function descriptorSlots(readTextFile: ReadTextFile = Deno.readTextFileSync): number | null {
  return numberIn("/proc/self/status", /^FDSize:\s+(\d+)/m, readTextFile);
}

function numberIn(path: string, pattern: RegExp, readTextFile: ReadTextFile): number | null {
  let text: string;
  try {
    text = readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null; // Not Linux.
    if (error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable) return null;
    throw error;
  }
  const found = pattern.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}
