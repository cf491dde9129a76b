/**
 * Log lines: time, level, category, text, on standard error. This file is the only one that knows the logging library.
 * Loggers may be made at any time; until configureLogging() has run they write nothing.
 */
import {
  configureSync,
  getConfig,
  getLogger as getLibraryLogger,
  type Logger,
  type LogRecord,
} from "@logtape/logtape";
import type { Clock } from "../base/clock.ts";

export type { Logger };

/** Levels, least important first. */
export type LogLevel = "trace" | "debug" | "info" | "warning" | "error" | "fatal";

const root = "trackway";
const labels: Readonly<Record<LogLevel, string>> = {
  trace: "TRACE",
  debug: "DEBUG",
  info: "INFO ",
  warning: "WARN ",
  error: "ERROR",
  fatal: "FATAL",
};

/** Levels by category ("" is the root); what has no level of its own has its parent's. */
const levels = new Map<string, LogLevel>([["", "info"]]);
let writeLine: (line: string) => void = writeToStandardError;

/** Every category that there is a logger for. */
const categories = new Set<string>();

/** A logger for a part of the broker: `getLogger("server")`, `getLogger("storage.recovery")`. */
export function getLogger(category: string): Logger {
  if (category !== "") categories.add(category);
  return getLibraryLogger([root, ...segments(category)]);
}

/** Starts writing lines of `level` and above; `write` gets each without its line end, standard error when left out. */
export function configureLogging(
  level: LogLevel,
  write: (line: string) => void = writeToStandardError,
): void {
  writeLine = write;
  levels.clear();
  levels.set("", level);
  apply();
}

/** Changes the level of a category and what is below it; null gives it its parent's again. "" is the root. */
export function setLogLevel(category: string, level: LogLevel | null): void {
  if (level !== null) levels.set(category, level);
  else if (category !== "") levels.delete(category);
  apply();
}

/** The level in force for a category. */
export function logLevel(category: string): LogLevel {
  const path = segments(category);
  for (let length = path.length; length >= 0; length--) {
    const level = levels.get(path.slice(0, length).join("."));
    if (level) return level;
  }
  return "info";
}

/** Every category that lines are written in, in the order of the alphabet; without the root. */
export function logCategories(): readonly string[] {
  return [...categories].sort();
}

/** Every category that has a level of its own, the root first. */
export function logLevels(): ReadonlyMap<string, LogLevel> {
  return new Map(levels);
}

/** One record as a line: `2026-03-01T12:00:00.000Z WARN  server  Port 9092 is taken`. */
export function formatRecord(record: LogRecord): string {
  const time = new Date(record.timestamp).toISOString();
  const category = record.category.slice(1).join(".") || root;
  let text = "";
  // The library splits a template at its values: texts at even places, values at odd ones.
  record.message.forEach((part, i) => text += i % 2 === 0 ? indented(String(part)) : valueText(part));
  return `${time} ${labels[record.level]} ${category}  ${text}`;
}

/**
 * Passes warnings and errors on, but at most `burst` of one kind in `intervalMs`, so that a hostile client cannot fill the disk. What
 * was held back is counted, and the next one that passes says how many.
 */
export class WarningLimiter {
  readonly #kinds = new Map<string, { since: number; passed: number; heldBack: number }>();

  constructor(
    private readonly log: Pick<Logger, "warn" | "error">,
    private readonly clock: Clock,
    private readonly burst = 5,
    private readonly intervalMs = 10_000,
  ) {}

  /** Writes `text`, unless enough of this `kind` was written lately. Kinds are constants, not what a client sent. */
  warn(kind: string, text: string): void {
    const more = this.pass(kind);
    // As a value, not as a template: braces that a client sent mean nothing.
    if (more !== null) this.log.warn("{text}{more}", { text, more });
  }

  /** The same for what should not happen, with what was thrown. */
  error(kind: string, text: string, error: unknown): void {
    const more = this.pass(kind);
    if (more !== null) this.log.error("{text}{more}: {error}", { text, more, error });
  }

  /** Null when this one is held back, otherwise what to say of those that were. */
  private pass(kind: string): string | null {
    const now = this.clock.monotonic();
    let state = this.#kinds.get(kind);
    if (!state) this.#kinds.set(kind, state = { since: now, passed: 0, heldBack: 0 });
    if (now - state.since >= this.intervalMs) {
      state.since = now;
      state.passed = 0;
    }
    if (state.passed >= this.burst) {
      state.heldBack++;
      return null;
    }
    state.passed++;
    const more = state.heldBack > 0 ? ` (${state.heldBack} more like this were not shown)` : "";
    state.heldBack = 0;
    return more;
  }
}

function apply(): void {
  configureSync({
    reset: getConfig() !== null,
    sinks: { lines: (record) => writeLine(formatRecord(record)) },
    loggers: [
      { category: [root], sinks: ["lines"], lowestLevel: levels.get("")! },
      ...[...levels].filter(([category]) => category !== "").map(([category, lowestLevel]) => ({
        category: [root, ...segments(category)],
        sinks: ["lines"],
        // A parent's sinks come with the parent's level, which would silence a child that says more.
        parentSinks: "override" as const,
        lowestLevel,
      })),
      // The library talks about itself, at info, unless told not to.
      { category: ["logtape", "meta"], sinks: ["lines"], lowestLevel: "error" },
    ],
  });
}

function segments(category: string): string[] {
  return category === "" ? [] : category.split(".");
}

/** Longer values are cut in the middle: one line must not fill the log, whatever a client sent. */
const VALUE_CHARACTERS_MAX = 500, VALUE_END_CHARACTERS = 100;
/** What deserves to be read of a stack trace. */
const STACK_LINES_MAX = 30;

function valueText(value: unknown): string {
  if (value instanceof Error) return stackText(value);
  return harmless(typeof value === "string" ? value : Deno.inspect(value, INSPECTED));
}

const INSPECTED = { compact: true, breakLength: Infinity, strAbbreviateSize: VALUE_CHARACTERS_MAX };

/** Stack traces keep their lines, indented. The message, which may quote a client, is a value like any other. */
function stackText(error: Error): string {
  const title = `${error.name}: ${error.message}`, stack = error.stack ?? title;
  const lines = stack.startsWith(title) ? stack.slice(title.length).split("\n").slice(1) : stack.split("\n");
  const shown = [harmless(title), ...lines.slice(0, STACK_LINES_MAX).map(harmless)];
  if (error.cause instanceof Error) shown.push(`Caused by ${harmless(String(error.cause))}`);
  return shown.join(NEXT_LINE);
}

/** What a line break of our own becomes: no line but the first begins with a time. */
const NEXT_LINE = "\n    ";

function indented(template: string): string {
  return template.replace(/\r?\n/g, NEXT_LINE);
}

/** Control characters, what turns the direction of writing or cannot be seen, and what breaks lines. */
const MISLEADING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text that can neither begin a line nor control a terminal nor look like another one, and is not long. */
function harmless(text: string): string {
  const shown = text.length <= VALUE_CHARACTERS_MAX
    ? text
    : `${text.slice(0, VALUE_CHARACTERS_MAX - VALUE_END_CHARACTERS)}… (${text.length} characters) …${
      text.slice(-VALUE_END_CHARACTERS)
    }`;
  return shown.replace(MISLEADING, (character) => character === "\n" ? "\\n" : "?");
}

const encoder = new TextEncoder();

function writeToStandardError(line: string): void {
  const bytes = encoder.encode(line + "\n");
  for (let written = 0; written < bytes.length;) written += Deno.stderr.writeSync(bytes.subarray(written));
}
