/** What a broker among hostile clients promises, in numbers; docs/limits.md tells the same. */

/**
 * Resident memory: the requests in flight, their answers and the heap that both cause. With default settings, whose
 * `queued.max.request.bytes` is 256 MiB.
 */
export const MAX_RSS_MIB = 768;

/**
 * A round of the neighbour's, three or five requests, at its worst; on a machine that has other work besides broker and
 * attackers, whose disk may be busy too.
 */
export const MAX_NEIGHBOUR_MS = 15_000;

/** What a connection costs on which nothing happens. */
export const MAX_BYTES_PER_IDLE_CONNECTION = 16 * 1024;
