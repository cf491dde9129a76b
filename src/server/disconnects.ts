/** Telling that a client is gone from everything else that reading from it or writing to it may end in. */

/** Whether `error` only says that the connection is gone. */
export function isDisconnect(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe ||
    error instanceof Deno.errors.ConnectionAborted || error instanceof Deno.errors.BadResource ||
    error instanceof Deno.errors.Interrupted || error instanceof Deno.errors.TimedOut ||
    error instanceof Deno.errors.NotConnected || error instanceof Deno.errors.UnexpectedEof;
}
