/** A stretch of a segment's file that is sent from there. See {@link FileSlice}. */

import type { FileSlice } from "../../base/file_slice.ts";
import type { FileHandle } from "../files/files.ts";
import { damaged } from "./read.ts";
import type { ReadAhead } from "./read_ahead.ts";
import type { Segment } from "./segment.ts";

export class SegmentSlice implements FileSlice {
  constructor(
    private readonly segment: Segment,
    private readonly position: number,
    readonly length: number,
    private readonly ahead: ReadAhead,
  ) {}

  read(into: Uint8Array, from: number): void {
    const position = this.position + from;
    this.using((file) => {
      const held = this.ahead.timed(() => file.readAt(into, position));
      if (held < into.length) throw damaged(this.segment, position + held);
    });
  }

  through<T>(from: number, send: (descriptor: number, position: number) => T): T | null {
    return this.using(({ descriptor }) => {
      if (descriptor === undefined) return null;
      return this.ahead.timed(() => send(descriptor, this.position + from));
    });
  }

  /**
   * A failure here ends a connection, since what an answer promised cannot be sent. The next fetch must not promise it
   * again: it is read, and tells the client which partition has failed.
   */
  private using<T>(work: (file: FileHandle) => T): T {
    try {
      return work(this.segment.log.get());
    } catch (error) {
      this.segment.unlearn();
      throw error;
    }
  }
}
