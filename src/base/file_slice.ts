/**
 * A stretch of a file that is to be sent. It stays in its file until the socket is ready for it: an answer takes no memory
 * for it, and where the system can send files by itself, the bytes never come into the process.
 */
export interface FileSlice {
  readonly length: number;
  /** Fills `into` from byte `from` of the slice on. Throws when the file cannot be read or does not reach so far any more. */
  read(into: Uint8Array, from: number): void;
  /**
   * Calls `send` with the system's number of the open file, which is good for that call only, and the position in it of byte
   * `from`; gives what it gave. Null where the file has no such number. Throws when the file cannot be opened.
   */
  through<T>(from: number, send: (descriptor: number, position: number) => T): T | null;
}

/** A piece of a message: bytes at hand, or in a file. */
export type Chunk = Uint8Array | FileSlice;
