import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { apis } from "../../src/codec/apis.ts";
import { differences, readSpec, span } from "./spec.ts";
import { messages } from "./vectors.ts";

/** Where the specs of Kafka's releases are, newest first; elsewhere the golden vectors stand for them. */
const specs = Deno.env.get("TRACKWAY_SPECS") ??
  new URL("../../../shared/protocol/spec/", import.meta.url).pathname;

function specFolders(): string[] {
  try {
    return [...Deno.readDirSync(specs)].map((f) => `${specs}/${f.name}`).sort().reverse();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

const folders = specFolders();

if (folders.length > 0) {
  Deno.test("every declaration says of each version what the newest spec that has it says", () => {
    let compared = 0;
    const wrong: string[] = [];
    for (const message of messages.values()) {
      const done = new Set<number>();
      for (const folder of folders) {
        const path = `${folder}/${message.name}.json`;
        let spec;
        try {
          spec = readSpec(path);
        } catch (error) {
          if (error instanceof Deno.errors.NotFound) continue;
          throw error;
        }
        const [first, last] = span(spec.validVersions)!;
        for (let version = first; version <= last; version++) {
          if (done.has(version)) continue;
          done.add(version);
          compared++;
          const flexible = (span(spec.flexibleVersions)?.[0] ?? Infinity) <= version;
          if (flexible !== message.isFlexible(version)) {
            wrong.push(`${message.name} v${version} flexible: ${flexible}`);
          }
          wrong.push(...differences(spec, message, version));
        }
      }
      for (let v = message.versions[0]; v <= message.versions[1]; v++) {
        if (!done.has(v)) wrong.push(`${message.name} v${v} is in no spec`);
      }
      if (done.size !== message.versions[1] - message.versions[0] + 1) {
        wrong.push(`${message.name} lacks versions`);
      }
    }
    assertEquals(wrong, []);
    assert(compared > 500, `only ${compared} versions compared`);
  });
}

Deno.test("apis are in the order of their keys, one for each key", () => {
  const keys = apis.map((api) => api.key);
  assertEquals(keys, [...new Set(keys)].sort((a, b) => a - b));
  assertEquals(keys.length, 79);
});
