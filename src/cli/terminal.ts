/** What a subcommand may do to the world: a port, so that tests see every line and send every signal themselves. */
import type { Machine } from "../config/listeners.ts";
import { thisMachine } from "../config/machine.ts";

/** The signals that stop a broker. */
export type StopSignal = "SIGINT" | "SIGTERM";

/** The outside, as a subcommand sees it. */
export interface Terminal {
  /** A line of results. */
  out(line: string): void;
  /** A line for the operator: warnings, failures, the log. */
  err(line: string): void;
  /** Throws what Deno throws when the file cannot be read. */
  readTextFile(path: string): string;
  environment(): Record<string, string>;
  machine(): Machine;
  /** Milliseconds since the process began. */
  uptimeMs(): number;
  /** Calls `handler` for each stop signal until the returned function is called. */
  onStopSignal(handler: (signal: StopSignal) => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
}

/** The real outside. */
export const systemTerminal: Terminal = {
  out: (line) => writeLine(Deno.stdout, line),
  err: (line) => writeLine(Deno.stderr, line),
  readTextFile: (path) => Deno.readTextFileSync(path),
  environment: () => Deno.env.toObject(),
  machine: thisMachine,
  uptimeMs: () => performance.now(),
  onStopSignal(handler) {
    // Windows knows no SIGTERM; asking for it would throw.
    const signals: StopSignal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
    const listeners = signals.map((signal) => [signal, () => handler(signal)] as const);
    for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
    return () => {
      for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
    };
  },
  exit: (code) => Deno.exit(code),
};

const encoder = new TextEncoder();

function writeLine(to: { writeSync(bytes: Uint8Array): number }, line: string): void {
  const bytes = encoder.encode(line + "\n");
  for (let written = 0; written < bytes.length;) written += to.writeSync(bytes.subarray(written));
}
