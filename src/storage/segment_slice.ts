/** A stretch of a segment's file that is sent from there. See {@link FileSlice}. */

import type { FileSlice } from "../base/file_slice.ts";
import type { PooledFile } from "./handles.ts";
import { damaged } from "./read.ts";
import type { ReadAhead } from "./read_ahead.ts";
import type { Segment } from "./segment.ts";

export class SegmentSlice implements FileSlice {
  private readonly file: PooledFile;

  constructor(
    private readonly segment: Segment,
    private readonly position: number,
    readonly length: number,
    private readonly ahead: ReadAhead,
  ) {
    this.file = segment.log;
  }

  read(into: Uint8Array, from: number): void {
    const position = this.position + from;
    const held = this.ahead.timed(() => this.file.get().readAt(into, position));
    if (held < into.length) throw damaged(this.segment, position + held);
  }

  through<T>(from: number, send: (descriptor: number, position: number) => T): T | null {
    const { descriptor } = this.file.get();
    if (descriptor === undefined) return null;
    return this.ahead.timed(() => send(descriptor, this.position + from));
  }
}
