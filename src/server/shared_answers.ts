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

  /** Keeps an answer that was made under `stamp`; it has to be whole, and nobody may change its bytes any more. */
  keep(key: string, stamp: number, answer: readonly Uint8Array[]): void {
    const bytes = answer.reduce((sum, chunk) => sum + chunk.length, -HEAD_BYTES);
    assert(bytes >= 0, "an answer has a size and a correlation id");
    if (stamp !== this.stamp || this.bytes + bytes > this.maxBytes) this.clear();
    if (bytes > this.maxBytes) return;
    this.stamp = stamp;
    const body = new Uint8Array(bytes);
    let at = -HEAD_BYTES;
    for (const chunk of answer) {
      body.set(at < 0 ? chunk.subarray(-at) : chunk, Math.max(0, at));
      at += chunk.length;
    }
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
