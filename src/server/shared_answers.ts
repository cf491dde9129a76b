/**
 * Answers that are the same for everyone who asks, kept as bytes until what they tell of has changed: to write 1,000
 * topics takes half a millisecond, in which nobody else is served, and after a restart all clients ask at once.
 */
import { assert } from "../base/assert.ts";

/** Size and correlation id, which every client gets its own of. */
const HEAD_BYTES = 8;
/** More than that is not worth it: the answers about 10,000 topics in a few versions. */
const MAX_BYTES = 4 * 1024 * 1024;

export class SharedAnswers {
  private readonly bodies = new Map<string, Uint8Array>();
  private stamp = 0;
  private bytes = 0;

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /** The kept answer with this correlation id; null when there is none that was made under the same `stamp`. */
  get(key: string, stamp: number, correlationId: number): Uint8Array[] | null {
    if (stamp !== this.stamp) this.clear();
    const body = this.bodies.get(key);
    if (body === undefined) return null;
    const head = new Uint8Array(HEAD_BYTES);
    const view = new DataView(head.buffer);
    view.setInt32(0, HEAD_BYTES - 4 + body.length);
    view.setInt32(4, correlationId);
    return [head, body];
  }

  /** Keeps an answer that was made under `stamp`; it has to be whole. */
  keep(key: string, stamp: number, answer: Uint8Array): void {
    assert(answer.length >= HEAD_BYTES, "an answer has a size and a correlation id");
    const body = answer.slice(HEAD_BYTES);
    const bytes = body.length;
    if (stamp !== this.stamp || this.bytes + bytes > this.maxBytes) this.clear();
    if (bytes > this.maxBytes) return;
    this.stamp = stamp;
    this.drop(key);
    this.bodies.set(key, body);
    this.bytes += bytes;
  }

  /** Forgets everything. */
  clear(): void {
    this.bodies.clear();
    this.bytes = 0;
  }

  private drop(key: string): void {
    this.bytes -= this.bodies.get(key)?.length ?? 0;
    this.bodies.delete(key);
  }
}
