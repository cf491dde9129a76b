/**
 * The arguments of a task. Its usage text says which flags there are, in lines such as `  --minutes N   how long`: one that
 * is followed by a capitalized word takes a value, and one by N a number. `--help` starts nothing, nor does a typing error.
 */

/** What was given, or why not to go on. */
export type ReadArgs = { readonly given: TaskArgs } | { readonly help: true } | { readonly error: string };

export class TaskArgs {
  constructor(
    private readonly values: ReadonlyMap<string, string | true>,
    /** What is no flag, in order. */
    readonly words: readonly string[],
  ) {}

  has(name: string): boolean {
    return this.values.has(name);
  }

  text(name: string): string | undefined {
    const value = this.values.get(name);
    return value === true ? undefined : value;
  }

  number(name: string, otherwise: number): number {
    return this.values.has(name) ? Number(this.text(name)) : otherwise;
  }
}

const numeral = /^\d+(\.\d+)?$/;

/** Holds arguments against a usage text; `words` is how many there may be that are no flags. */
export function readTaskArgs(args: readonly string[], usage: string, words: number): ReadArgs {
  const known = new Map(
    [...usage.matchAll(/^ +--([a-z-]+)(?: ([A-Z][A-Z|]*))?/gm)].map(([, name, value]) => [name, value]),
  );
  const values = new Map<string, string | true>();
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at];
    if (arg === "-h" || arg === "--help") return { help: true };
    if (!arg.startsWith("-")) {
      if (rest.push(arg) > words) return { error: `does not know what to do with ${arg}` };
      continue;
    }
    const [, name, text] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === undefined || !known.has(name)) return { error: `does not know ${arg}` };
    const kind = known.get(name);
    if (kind === undefined) {
      if (text !== undefined) return { error: `takes no value for --${name}` };
      values.set(name, true);
      continue;
    }
    const value = text ?? args[++at];
    if (value === undefined || value === "" || text === undefined && value.startsWith("--")) {
      return { error: `needs a value for --${name}` };
    }
    if (kind === "N" && !numeral.test(value)) return { error: `needs a number for --${name}, not ${value}` };
    values.set(name, value);
  }
  return { given: new TaskArgs(values, rest) };
}

/**
 * The arguments that the process has. Ends it with 0 after printing `usage` where that is asked for, and with 2 and one line
 * where the arguments cannot be; `wordsProblem` may find fault with those that are no flags.
 */
export function taskArgs(
  task: string,
  usage: string,
  words = 0,
  wordsProblem: (words: readonly string[]) => string | null = () => null,
): TaskArgs {
  const read = readTaskArgs(Deno.args, usage, words);
  if ("help" in read) {
    console.log(usage);
    Deno.exit(0);
  }
  const error = "error" in read ? read.error : wordsProblem(read.given.words);
  if ("given" in read && error === null) return read.given;
  console.error(`${task} ${error}: deno task ${task} --help lists what there is`);
  Deno.exit(2);
}

/** For tasks whose one word is a number. */
export function numberProblem([word]: readonly string[]): string | null {
  return word === undefined || numeral.test(word) && Number(word) > 0 ? null : `needs a number, not ${word}`;
}
