/** The architecture's rules hold in src/, and the rules themselves are able to fail. */
import { assertEquals } from "@std/assert/equals";
import { importRefusal, violations } from "./architecture.ts";

const root = new URL("../", import.meta.url);

function sources(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].flatMap(({ name, isDirectory }) =>
    isDirectory ? sources(`${folder}${name}/`) : name.endsWith(".ts") ? [`${folder}${name}`] : []
  ).sort();
}

Deno.test("every file in src/ keeps to the architecture", () => {
  const files = sources("src/");
  assertEquals(files.includes("src/cli/start.ts"), true, "the files of src/ were not found");
  assertEquals(files.flatMap((file) => violations(file, Deno.readTextFileSync(new URL(file, root)))), []);
});

const imports: [file: string, specifier: string, refusal: string | null][] = [
  ["src/main.ts", "./broker.ts", null],
  ["src/broker.ts", "./server/listener.ts", null],
  ["src/cli/start.ts", "./help.ts", null],
  ["src/cli/version.ts", "../../deno.json", null],
  ["src/codec/messages/fetch.ts", "../schema.ts", null],
  ["src/codec/reader.ts", "@std/assert/equals", null],
  ["src/handlers/fetch.ts", "../codec/messages/fetch.ts", null],
  [
    "src/cli/start.ts",
    "../broker.ts",
    "src/cli/start.ts imports src/broker.ts: main, broker stands above cli, and imports only point down",
  ],
  [
    "src/base/assert.ts",
    "../codec/reader.ts",
    "src/base/assert.ts imports src/codec/reader.ts: codec stands above base, and imports only point down",
  ],
  [
    "src/config/load.ts",
    "../observe/logging.ts",
    "src/config/load.ts imports src/observe/logging.ts: observe stands beside config, and imports only point down",
  ],
  [
    "src/utils/a.ts",
    "../base/assert.ts",
    "src/utils/a.ts: the folder utils has no place in the architecture",
  ],
  [
    "src/base/a.ts",
    "../utils/b.ts",
    "src/base/a.ts imports src/utils/b.ts: the folder utils has no place in the architecture",
  ],
  ["src/base/a.ts", "../../tests/b.ts", "src/base/a.ts imports tests/b.ts: src/ stands on its own"],
];

for (const [file, specifier, refusal] of imports) {
  Deno.test(`importRefusal() ${refusal ? "refuses" : "lets"} ${file} import ${specifier}`, () => {
    assertEquals(importRefusal(file, specifier), refusal);
  });
}

const upward = "src/base/a.ts imports src/codec/b.ts: codec stands above base, and imports only point down";
const statements = [
  `import { b } from "../codec/b.ts";`,
  `import type { B } from "../codec/b.ts";`,
  `import "../codec/b.ts";`,
  `export * from "../codec/b.ts";`,
  `export { b } from "../codec/b.ts";`,
  `const b = await import("../codec/b.ts");`,
  `let b: import("../codec/b.ts").B;`,
];

for (const statement of statements) {
  Deno.test(`violations() sees ${statement}`, () => {
    assertEquals(violations("src/base/a.ts", `/** A. */\n${statement}`), [upward]);
  });
}

Deno.test("violations() does not take a comment or a text for an import", () => {
  const source =
    `/** import "../codec/b.ts"; */\nexport const a = 'import "../codec/b.ts"'; // await import("../codec/b.ts")`;
  assertEquals(violations("src/base/a.ts", source), []);
});

Deno.test("violations() refuses an import that cannot be checked", () => {
  assertEquals(violations("src/base/a.ts", "/** A. */\nawait import(`../${1}.ts`);"), [
    "src/base/a.ts imports something that is not a plain text: nobody can check it",
  ]);
});

const impurities: [source: string, what: string][] = [
  ["async function f() { await g(); }", "await"],
  ["async function f() { for await (const x of g()) h(x); }", "for await"],
  ["const now = Date.now();", "Date.now"],
  ["const { now } = { now: globalThis.Date.now };", "Date.now"],
  ["const now = new Date();", "new Date()"],
  ["const x = Math.random();", "Math.random"],
  ["setTimeout(f, 1);", "setTimeout"],
  ["const t = globalThis.setInterval;", "setInterval"],
];

for (const [source, what] of impurities) {
  Deno.test(`violations() refuses a coordinator that has ${source}`, () => {
    const file = "src/coordinators/groups/classic.ts";
    assertEquals(violations(file, `/** A. */\n${source}`), [
      `${file} uses ${what}: coordinators are deterministic, only shard.ts meets the world`,
    ]);
  });
}

Deno.test("violations() lets shard.ts and every other folder meet the world", () => {
  for (const file of ["src/coordinators/shard.ts", "src/server/listener.ts"]) {
    assertEquals(violations(file, "/** A. */\nawait g(Date.now(), Math.random()); setTimeout(f, 1);"), []);
  }
});

Deno.test("violations() refuses a file that does not say what it is", () => {
  assertEquals(violations("src/base/a.ts", "// A.\nexport const a = 1;"), [
    "src/base/a.ts does not open with a /** comment that says what it is",
  ]);
});
