/**
 * Connections that are not served and yet not closed at once: a client that connects too often would be back the moment
 * that it sees its connection closed. Nothing is read from them.
 */

/** What a connection must have to be kept. */
export interface Closable {
  close(): void;
}

/** So many are kept at most; they cost a descriptor each. Those beyond are closed at once. */
const MAX_KEPT = 1000;

export class DelayedCloses {
  readonly #kept = new Map<Closable, ReturnType<typeof setTimeout>>();

  constructor(private readonly max = MAX_KEPT) {}

  get size(): number {
    return this.#kept.size;
  }

  /** Closes `conn` in `ms`. */
  closeIn(conn: Closable, ms: number): void {
    if (this.#kept.size >= this.max) return conn.close();
    this.#kept.set(conn, setTimeout(() => this.#close(conn), ms));
  }

  /** Closes all of them now. */
  closeAll(): void {
    for (const [conn, timer] of [...this.#kept]) {
      clearTimeout(timer);
      this.#close(conn);
    }
  }

  #close(conn: Closable): void {
    this.#kept.delete(conn);
    conn.close();
  }
}
