/**
 * An array that is written before the message that it is part of, some elements at a time: to write hundreds of thousands
 * of them at once would keep everybody else waiting. It stands in the message where the array would.
 */
import type { Chunk } from "../base/file_slice.ts";
import { Writer } from "./writer.ts";

/** The buffer of a piece after the first; the first may be all there is, and grows as it needs to. */
const PIECE_BYTES = 256 * 1024;
/** A piece ends here, so that there is room for any string at its end: a buffer that grows leaves the old one behind. */
const FULL_BYTES = PIECE_BYTES - 40 * 1024;

/** Writes one element. */
export interface ElementCodec {
  write(writer: Writer, element: unknown): void;
}

export class WrittenArray<T> {
  length = 0;
  private writer = new Writer(true);
  private readonly pieces: Chunk[] = [];

  constructor(private readonly element: ElementCodec) {}

  push(element: T): void {
    this.element.write(this.writer, element);
    this.length++;
    if (this.writer.size < FULL_BYTES) return;
    this.pieces.push(...this.writer.finish());
    this.writer = new Writer(true, PIECE_BYTES);
  }

  /** As the message takes it. Nothing is pushed once that is written. */
  get asArray(): readonly T[] {
    return this as unknown as readonly T[];
  }

  /** Writes all elements, without the length before them. */
  writeTo(writer: Writer): void {
    for (const piece of this.pieces) writer.attach(piece);
    for (const piece of this.writer.finish()) writer.attach(piece);
  }
}
