/**
 * The architecture's rules as a lint plugin, so that they look at parsed code and not at text. A new folder in src/ gets
 * a place in `rows`; architecture_test.ts runs the rules over every file.
 */

/** Who may import whom: only what stands in a later row, and one's own folder. Files right in src/ are one folder. */
const rows: readonly (readonly string[])[] = [
  ["main, broker"],
  ["cli", "console"],
  ["server"],
  ["handlers"],
  ["coordinators"],
  ["replication", "security", "quotas", "telemetry"],
  ["storage", "cluster", "client"],
  ["config", "observe"],
  ["codec"],
  ["base"],
];

/** What a coordinator may not ask for itself: the same input must give the same output when a log is replayed. */
const impure = [
  "Date.now",
  "Math.random",
  "performance.now",
  "performance.timeOrigin",
  "crypto.randomUUID",
  "crypto.getRandomValues",
];
const timers = ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"];

function folderOf(path: string): string {
  const parts = path.split("/");
  return parts.length === 2 ? "main, broker" : parts[1];
}

function rowOf(folder: string): number {
  return rows.findIndex((row) => row.includes(folder));
}

/** Why `file` may not import `specifier`, both as written; null when it may. Paths begin with `src/`. */
export function importRefusal(file: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) return null;
  const target = new URL(specifier, `file:///${file}`).pathname.slice(1);
  if (target === "deno.json") return null; // The version's one place.
  if (!target.startsWith("src/")) return `${file} imports ${target}: src/ stands on its own`;
  const [from, to] = [folderOf(file), folderOf(target)];
  if (rowOf(from) < 0) return `${file}: the folder ${from} has no place in the architecture`;
  if (rowOf(to) < 0) return `${file} imports ${target}: the folder ${to} has no place in the architecture`;
  if (from === to || rowOf(to) > rowOf(from)) return null;
  const relation = rowOf(to) === rowOf(from) ? "stands beside" : "stands above";
  return `${file} imports ${target}: ${to} ${relation} ${from}, and imports only point down`;
}

/** Whether a file must be deterministic. */
function isMachine(file: string): boolean {
  return file.startsWith("src/coordinators/") && file !== "src/coordinators/shard.ts";
}

function plugin(file: string): Deno.lint.Plugin {
  return {
    name: "architecture",
    rules: {
      imports: {
        create(context) {
          const check = (node: Deno.lint.Node, source: Deno.lint.Node | null) => {
            if (!source) return;
            const literal = source.type === "Literal" ? source.value : undefined;
            const message = typeof literal === "string"
              ? importRefusal(file, literal)
              : `${file} imports something that is not a plain text: nobody can check it`;
            if (message) context.report({ node, message });
          };
          return {
            ImportDeclaration: (node) => check(node, node.source),
            ExportNamedDeclaration: (node) => check(node, node.source),
            ExportAllDeclaration: (node) => check(node, node.source),
            ImportExpression: (node) => check(node, node.source),
            // `import("…").Type`: its argument is a type that holds the text.
            TSImportType(node) {
              const [, specifier] =
                /^(?:typeof\s+)?import\(\s*["']([^"']*)["']/.exec(context.sourceCode.getText(node)) ?? [];
              const message = specifier === undefined ? null : importRefusal(file, specifier);
              if (message) context.report({ node, message });
            },
          };
        },
      },
      determinism: {
        create(context) {
          if (!isMachine(file)) return {};
          const refuse = (node: Deno.lint.Node, what: string) => {
            const message =
              `${file} uses ${what}: coordinators are deterministic, only shard.ts meets the world`;
            context.report({ node, message });
          };
          return {
            AwaitExpression: (node) => refuse(node, "await"),
            ForOfStatement(node) {
              if (node.await) refuse(node, "for await");
            },
            MemberExpression(node) {
              const text = context.sourceCode.getText(node).replace(/^globalThis\./, "");
              if (impure.includes(text)) refuse(node, text);
            },
            NewExpression(node) {
              if (/^new Date(\(\))?$/.test(context.sourceCode.getText(node))) refuse(node, "new Date()");
            },
            Identifier(node) {
              if (timers.includes(node.name)) refuse(node, node.name);
            },
          };
        },
      },
    },
  };
}

/** Every rule that a file breaks, one line each. `file` is its path from the project's root, such as `src/cli/start.ts`. */
export function violations(file: string, source: string): string[] {
  const found = Deno.lint.runPlugin(plugin(file), file, source).map(({ message }) => message);
  if (!source.startsWith("/**")) found.push(`${file} does not open with a /** comment that says what it is`);
  return found;
}
