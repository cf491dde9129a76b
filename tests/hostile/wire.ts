/**
 * A hostile connection: sends bytes in one of many manners and the probe behind them, and holds every answer against
 * what was sent. Whatever comes, a broker answers it in order or closes the connection.
 */
import type { Prng } from "../../src/base/prng.ts";
import { apiByKey } from "../../src/codec/apis.ts";
import { responseHeaderVersion } from "../../src/codec/framing.ts";
import { responseHeader } from "../../src/codec/headers.ts";
import { apiVersions } from "../../src/codec/messages/api_versions.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { joinGroup } from "../../src/codec/messages/join_group.ts";
import { syncGroup } from "../../src/codec/messages/sync_group.ts";
import { Reader } from "../../src/codec/reader.ts";
import { registry } from "../../src/handlers/all.ts";
import { joined } from "./byte_sink.ts";

/** How bytes are given to the socket. */
export type Manner =
  /** In one write. */
  | "whole"
  /** In pieces, some of a byte, with turns of the event loop between. */
  | "pieces"
  /** Cut off somewhere, and the client's side closed. */
  | "cut"
  /** The socket is closed at once, whatever is still on its way: a reset for the broker. */
  | "gone"
  /** With a size in front that is not the frame's. */
  | "lying size";

export type End = "answered" | "closed" | "held";

export interface Outcome {
  readonly end: End;
  /** Frames that came, without their sizes, the probe's answer left out. */
  readonly answers: readonly Uint8Array[];
  /** What was wrong with how it went; null when nothing was. */
  readonly problem: string | null;
  readonly ms: number;
}

/** Sends frames and gives what came of them; who was cut off goes on over a new connection. */
export interface Link {
  send(frames: readonly Uint8Array[], manner: Manner): Promise<Outcome>;
}

/** A request that nothing ought to hold is answered within this, also on a machine with other work. */
const PATIENCE_MS = 20_000;
/** Those that may be held for as long as the client says, are given up after this. */
const HOLD_PATIENCE_MS = 150;
/** A fetch that asks for no longer has no excuse. */
const SHORT_WAIT_MS = 1000;

/** Correlation ids of probes; those of other frames are below. */
const FIRST_PROBE_ID = 0x5a000000;

export class Wire {
  private nextProbeId = FIRST_PROBE_ID;
  private received = new Uint8Array(0);
  private readonly piece = new Uint8Array(64 * 1024);
  isOpen = true;

  private constructor(private readonly conn: Deno.TcpConn) {}

  static async connect(port: number): Promise<Wire> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay(true);
    return new Wire(conn);
  }

  get localPort(): number {
    return (this.conn.localAddr as Deno.NetAddr).port;
  }

  /** Sends these frames and tells what became of the connection. */
  async attack(frames: readonly Uint8Array[], manner: Manner, prng: Prng): Promise<Outcome> {
    const startedAt = performance.now();
    const probeId = this.nextProbeId++;
    const bytes = joined(...frames, probe(probeId));
    const answers: Uint8Array[] = [];
    const outcome = (end: End, problem: string | null = null): Outcome => ({
      end,
      answers,
      problem,
      ms: performance.now() - startedAt,
    });
    if (manner === "gone") {
      await this.write(bytes, "whole", prng);
      this.close();
      return outcome("closed");
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const mayHold = frames.some(mayBeHeld);
    const patience = new Promise<"held">((resolve) =>
      timer = setTimeout(() => resolve("held"), mayHold ? HOLD_PATIENCE_MS : PATIENCE_MS)
    );
    try {
      const writing = this.write(bytes, manner, prng);
      const end = await Promise.race([this.readUntil(probeId, answers), patience]);
      // A broker that cut the connection off does not take the rest, and one that waits need not.
      if (end !== "answered") this.close();
      await writing;
      if (manner === "lying size" || manner === "cut") {
        this.close();
        return outcome(end, end === "held" && !mayHold ? "neither answered nor closed" : null);
      }
      if (end === "held" && !mayHold) return outcome(end, "neither answered nor closed");
      return outcome(end, problemOf(frames, answers));
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.conn.close();
  }

  private async write(bytes: Uint8Array<ArrayBuffer>, manner: Manner, prng: Prng): Promise<void> {
    let end = bytes.length;
    if (manner === "lying size") {
      new DataView(bytes.buffer).setInt32(
        0,
        prng.pick([0, 1, 7, 8, -1, 2 ** 31 - 1, -(2 ** 31), 104857600, bytes.length]),
      );
    }
    if (manner === "cut") end = prng.int(bytes.length);
    try {
      for (let at = 0; at < end;) {
        const size = manner === "pieces" ? prng.pick([1, 3, 50, 1000]) : end;
        at += await this.conn.write(bytes.subarray(at, Math.min(end, at + size)));
        // A few bytes at a time would take for ever for a long frame.
        if (manner === "pieces" && at > 3000) manner = "whole";
      }
      if (manner === "cut" || manner === "lying size") await this.conn.closeWrite();
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  /** Reads answers into `answers` until that to the probe comes. */
  private async readUntil(probeId: number, answers: Uint8Array[]): Promise<End> {
    try {
      for (;;) {
        let at = 0;
        const view = new DataView(this.received.buffer, this.received.byteOffset, this.received.length);
        while (this.received.length - at >= 8) {
          const size = view.getInt32(at);
          if (size < 4 || size > 2 ** 30) throw new Error(`an answer of ${size} bytes`);
          const isProbe = view.getInt32(at + 4) === probeId;
          if (this.received.length - at < 4 + size) break;
          const frame = this.received.slice(at + 4, at + 4 + size);
          at += 4 + size;
          if (isProbe) {
            this.received = this.received.slice(at);
            return "answered";
          }
          answers.push(frame);
        }
        if (at > 0) this.received = this.received.slice(at);
        const read = await this.conn.read(this.piece);
        if (read === null) return "closed";
        this.received = joined(this.received, this.piece.subarray(0, read));
      }
    } catch (error) {
      if (isGone(error)) return "closed";
      throw error;
    }
  }
}

/** ApiVersions 0, which every broker answers, whatever came before it. */
function probe(correlationId: number): Uint8Array {
  const bytes = new Uint8Array(4 + 8 + 2);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, bytes.length - 4);
  view.setInt16(4, apiVersions.key);
  view.setInt32(8, correlationId);
  view.setInt16(12, -1);
  return bytes;
}

interface Asked {
  readonly key: number;
  readonly version: number;
  readonly correlationId: number;
}

/** What the first bytes of a frame say, its size in front. */
export function askedBy(frame: Uint8Array): Asked | null {
  if (frame.length < 12) return null;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  return { key: view.getInt16(4), version: view.getInt16(6), correlationId: view.getInt32(8) };
}

/** Whether a broker may hold the request for as long as it says. */
function mayBeHeld(frame: Uint8Array): boolean {
  const asked = askedBy(frame);
  if (asked === null) return false;
  if (asked.key === joinGroup.key || asked.key === syncGroup.key) return true;
  if (asked.key !== fetch.key || frame.length < 14) return false;
  // Fetch: replica id, wait, if there is no client id of its own making and no tagged field before them.
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const at = 14 + Math.max(0, view.getInt16(12)) + (fetch.request.isFlexible(asked.version) ? 1 : 0) +
    (asked.version <= 14 ? 4 : 0);
  return !(at + 4 <= frame.length && view.getInt32(at) <= SHORT_WAIT_MS);
}

/**
 * Holds answers against the requests: each belongs to one, in their order, and is what its API and version say. Some
 * requests have no answer, and some have the same correlation id.
 */
export function problemOf(frames: readonly Uint8Array[], answers: readonly Uint8Array[]): string | null {
  let next = 0;
  for (const answer of answers) {
    const correlationId = new DataView(answer.buffer, answer.byteOffset).getInt32(0);
    let problem: string | null = `an answer to ${correlationId}, which was not asked or not next`;
    for (let at = next; at < frames.length && problem !== null; at++) {
      const asked = askedBy(frames[at]);
      if (asked?.correlationId !== correlationId) continue;
      problem = decodeProblem(asked, answer);
      if (problem === null) next = at + 1;
    }
    if (problem !== null) return problem;
  }
  return null;
}

function decodeProblem({ key, version }: Asked, answer: Uint8Array): string | null {
  const api = apiByKey(key), served = registry.byKey(key);
  if (api === undefined || served === undefined) return `an answer to API ${key}, which is not served`;
  const isKnown = version >= served.versions[0] && version <= served.versions[1];
  if (!isKnown && api.key !== apiVersions.key) {
    return `an answer to ${api.name} ${version}, which is not served`;
  }
  const readAs = isKnown ? version : 0;
  try {
    const reader = new Reader(answer);
    responseHeader.read(reader, responseHeaderVersion(api, readAs));
    api.response.read(reader, readAs);
    reader.expectEnd();
    return null;
  } catch (error) {
    return `an answer to ${api.name} ${version} that cannot be read: ${error}`;
  }
}

/** Whether an error only says that the connection is gone. */
export function isGone(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe ||
    error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted ||
    error instanceof Deno.errors.NotConnected || error instanceof Deno.errors.ConnectionAborted;
}
