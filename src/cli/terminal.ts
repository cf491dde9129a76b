/** What a subcommand may do to the world: a port, so that tests see every line and send every signal themselves. */
import type { Machine } from "../config/listeners.ts";
import { thisMachine } from "../config/machine.ts";

/** The signals that stop a broker. */
export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** The outside, as a subcommand sees it. */
export interface Terminal {
  /** A line of results. */
  out(line: string): void;
  /** A line for the operator: warnings, failures, the log. */
  err(line: string): void;
  /** Replaces the line at which progress is shown, "" clears it; nothing happens where nobody would see it. */
  progress(text: string): void;
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
  progress: (text) => {
    if (Deno.stderr.isTerminal()) write(Deno.stderr, `\r\x1b[K${text}`);
  },
  readTextFile: (path) => Deno.readTextFileSync(path),
  environment: () => Deno.env.toObject(),
  machine: thisMachine,
  uptimeMs: () => performance.now(),
  onStopSignal(handler) {
    // Windows knows neither of the others; asking for them would throw.
    const signals: StopSignal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGHUP"];
    const outlivesTerminal = hangupIsIgnored();
    const listeners = signals.map((signal) => {
      // Once there is a listener for any signal, Deno ends the process on a SIGHUP that nobody listens for.
      const ignored = signal === "SIGHUP" && outlivesTerminal;
      return [signal, ignored ? () => {} : () => handler(signal)] as const;
    });
    for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
    return () => {
      for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
    };
  },
  exit: (code) => Deno.exit(code),
};

/** Whether the process was started so as to outlive its terminal (`nohup`): SIGHUP must not stop it then. */
function hangupIsIgnored(): boolean {
  try {
    const status = Deno.readTextFileSync("/proc/self/status");
    const ignored = /^SigIgn:\s*[0-9a-f]*([0-9a-f])$/m.exec(status);
    if (ignored !== null) return (Number.parseInt(ignored[1], 16) & SIGHUP_BIT) !== 0;
  } catch {
    // Not Linux, or not permitted.
  }
  // nohup takes the terminal away from standard output, so that is the next best sign.
  return !Deno.stdout.isTerminal();
}

/** SIGHUP is signal 1, and the lowest bit of the mask. */
const SIGHUP_BIT = 1;

const encoder = new TextEncoder();

interface Sink {
  writeSync(bytes: Uint8Array): number;
}

function writeLine(to: Sink, line: string): void {
  write(to, line + "\n");
}

function write(to: Sink, text: string): void {
  const bytes = encoder.encode(text);
  try {
    for (let written = 0; written < bytes.length;) written += to.writeSync(bytes.subarray(written));
  } catch {
    // The terminal was closed, or the reader of a pipe is gone: nobody is left to be told, and the broker goes on.
  }
}
