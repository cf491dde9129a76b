/** Java's .properties format, as Kafka's server.properties uses it: comments, continued lines, escapes. */

/** One entry; `line` counts from 1 and is where the entry begins. */
export interface Property {
  readonly name: string;
  readonly value: string;
  readonly line: number;
}

/** Entries in the order of the file, and one text for each line that cannot be read. A name may come twice. */
export interface Properties {
  readonly entries: readonly Property[];
  readonly errors: readonly string[];
}

/** Reads a whole file. White space at the end of a value stays, as in Java; the settings' rows drop it. */
export function parseProperties(text: string): Properties {
  const entries: Property[] = [];
  const errors: string[] = [];
  for (const { content, line } of logicalLines(text)) {
    const split = splitAtSeparator(content);
    const name = unescape(split.name);
    const value = unescape(split.value);
    if (name === null || value === null) errors.push(`line ${line}: \\u needs four hexadecimal digits`);
    else entries.push({ name, value, line });
  }
  return { entries, errors };
}

/** Lines without comments and blank ones, with continued lines joined. */
function* logicalLines(text: string): Generator<{ content: string; line: number }> {
  let content: string | null = null;
  let start = 0;
  const lines = text.split(/\r\n|\n|\r/);
  for (let i = 0; i < lines.length; i++) {
    const trimmed = lines[i].replace(/^[ \t\f]+/, "");
    if (content === null) {
      if (trimmed === "" || trimmed.startsWith("#") || trimmed.startsWith("!")) continue;
      content = "";
      start = i + 1;
    }
    const backslashes = /\\*$/.exec(trimmed)![0].length;
    const continues = backslashes % 2 === 1;
    content += continues ? trimmed.slice(0, -1) : trimmed;
    if (continues) continue;
    yield { content, line: start };
    content = null;
  }
  if (content !== null) yield { content, line: start };
}

/** The name ends at the first `=`, `:` or white space that is not escaped. */
function splitAtSeparator(content: string): { name: string; value: string } {
  const [name] = /^(?:\\.|[^\\=: \t\f])*/s.exec(content)!;
  const value = content.slice(name.length).replace(/^[ \t\f]*[=:]?[ \t\f]*/, "");
  return { name, value };
}

const escapes: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", f: "\f" };

function unescape(text: string): string | null {
  if (!text.includes("\\")) return text;
  if (/(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})/.test(text)) return null;
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.?))/gs, (_, hex: string | undefined, char: string) => {
    return hex === undefined ? escapes[char] ?? char : String.fromCharCode(parseInt(hex, 16));
  });
}
