import { assert } from "@std/assert/assert";
import denoJson from "../../deno.json" with { type: "json" };
import { runArguments } from "../../scripts/lib/stub.ts";
import { v8Flags } from "../../scripts/lib/v8_flags.ts";

Deno.test("a broker from source and a packed one start with the same V8 flags", () => {
  assert(denoJson.tasks.start.command.includes(`--v8-flags=${v8Flags} `));
  assert(runArguments.includes(`--v8-flags=${v8Flags}`));
});
