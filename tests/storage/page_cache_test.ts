import { assertEquals } from "@std/assert/equals";
import * as fs from "node:fs";
import { PageCache } from "../../src/storage/files/page_cache.ts";

Deno.test({
  name:
    "PageCache.bring() tells how much of a file is in memory now: none behind its end, or of what is no file",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const path = Deno.makeTempFileSync();
    fs.writeFileSync(path, new Uint8Array(300_000));
    const descriptor = fs.openSync(path, "r");
    const cache = PageCache.open()!;
    assertEquals(await cache.bring(descriptor, 100_000, 150_000), 150_000);
    // The system sends in rounds, and may end one early.
    let brought = 0;
    for (let more = 1; more > 0; brought += more) more = await cache.bring(descriptor, brought, 1 << 20);
    assertEquals(brought, 300_000);
    assertEquals(await cache.bring(descriptor, 300_000, 1000), 0);
    fs.closeSync(descriptor);
    assertEquals(await cache.bring(descriptor, 0, 1000), 0);
    fs.rmSync(path);
  },
});
