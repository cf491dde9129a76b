/** The list of what is served, the declarations and the files of the handlers say the same. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { apiByKey, apis } from "../../src/codec/apis.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { registry } from "../../src/handlers/all.ts";
import { Registry, serve } from "../../src/handlers/registry.ts";

const src = new URL("../../src/", import.meta.url);

/** The names of the files in a folder of src/, without their ending. */
function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, src))].map(({ name }) => name.replace(/\.ts$/, "")).sort();
}

/** The file of an API: InitProducerId is in init_producer_id. */
function fileOf(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

const declarations = new Set(filesIn("codec/messages/"));

/** Files in handlers/ that are named after an API. */
const handlerFiles = filesIn("handlers/").filter((name) => declarations.has(name));

Deno.test("every handler file has a line in the registry, and every line a file", () => {
  assertEquals(registry.all.map(({ api }) => fileOf(api.name)).sort(), handlerFiles);
});

Deno.test("every file with a handler is named after its API", () => {
  const others = filesIn("handlers/").filter((name) => !declarations.has(name));
  const withHandler = others.filter((name) =>
    /Handler<typeof/.test(Deno.readTextFileSync(new URL(`handlers/${name}.ts`, src)))
  );
  assertEquals(withHandler, []);
});

Deno.test("every handler serves the declaration that its file is named after", () => {
  const all = Deno.readTextFileSync(new URL("handlers/all.ts", src));
  const served = [...all.matchAll(/serve\((\w+), (\w+)Handler\b/g)].map(([, api, handler]) => [api, handler]);
  assertEquals(served.length, registry.all.length, "a line of the registry was not understood");
  assertEquals(served.filter(([api, handler]) => api !== handler), []);
});

Deno.test("every file in codec/messages/ is an API in apis.ts, under its name", () => {
  assertEquals(apis.map(({ name }) => fileOf(name)).sort(), [...declarations].sort());
});

Deno.test("apis.ts has each key once, in ascending order", () => {
  const keys = apis.map(({ key }) => key);
  assertEquals(keys, [...new Set(keys)].sort((a, b) => a - b));
});

Deno.test("the registry has each key once, in ascending order, and finds each by it", () => {
  const keys = registry.all.map(({ api }) => api.key);
  assertEquals(keys, [...new Set(keys)].sort((a, b) => a - b));
  for (const served of registry.all) assert(registry.byKey(served.api.key) === served);
});

Deno.test("the registry serves declarations of apis.ts, in versions that are declared and stable", () => {
  for (const { api, versions: [first, last] } of registry.all) {
    assert(apiByKey(api.key) === api, `${api.name} is not the declaration in apis.ts`);
    assert(first <= last, `${api.name}: ${first} to ${last}`);
    assert(
      first >= api.versions[0] && last <= api.versions[1],
      `${api.name} ${first} to ${last} is not declared`,
    );
    assert(api.unstable === null || last < api.unstable, `${api.name} ${api.unstable} is not stable`);
  }
});

Deno.test("Registry.byKey() finds nothing under a key that is not served", () => {
  for (const key of [-1, 4, 67, 32767, 65535, NaN]) assertEquals(registry.byKey(key), undefined, String(key));
});

Deno.test("serve() leaves out the last version while Kafka does not call it stable", () => {
  const handler = () => ({}) as never;
  assertEquals(initProducerId.unstable, initProducerId.versions[1]);
  assertEquals(serve(initProducerId, handler).versions, [0, initProducerId.versions[1] - 1]);
  assertEquals(serve(metadata, handler).versions, metadata.versions);
  assertEquals(serve(metadata, handler, { versions: [4, 6] }).versions, [4, 6]);
  assertEquals(new Registry([serve(metadata, handler, { versions: [4, 6] })]).byKey(3)?.versions, [4, 6]);
});
