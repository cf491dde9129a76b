/** Running other programs from a script, with failures that are told in one line and not as a stack trace. */

/** Something outside the script is in the way. The message is one line. */
export class ScriptError extends Error {}

/** Runs `main` for its exit code: 1 with one line on stderr for a {@link ScriptError}; a bug keeps its stack trace. */
export async function runScript(name: string, main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    console.error(`${name}: ${error.message}`);
    Deno.exit(1);
  }
}

/** What came of a program that was run. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, without colours and without input; `environment` is added to what is there. */
export async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd,
    stdin: "null",
    env: { NO_COLOR: "1", ...environment },
  }).output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

/** What the program prints on stdout. Throws a {@link ScriptError} that begins with `Cannot ${purpose}`. */
export async function stdoutOf(
  purpose: string,
  program: string,
  args: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, cwd, environment);
  if (code !== 0) throw new ScriptError(`Cannot ${purpose}: ${reasonIn(stderr)}`);
  return stdout;
}

/** The line of Deno's stderr that says why: between the warnings in front of it and the backtrace behind. */
export function reasonIn(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const error = lines.findIndex((line) => line.startsWith("error: "));
  if (error < 0) return lines.at(-1) ?? "it printed no reason";
  const causes = lines.slice(error + 1).flatMap((line) => line.match(/^\d+: (.*)$/)?.[1] ?? []);
  // Of a chain of causes the last is the reason, and the first line is only what Deno was doing at the time.
  return causes.findLast((cause) => cause !== "<unknown>") ?? lines[error].slice("error: ".length);
}
