/** Taking a topic's segments out of the page cache. */
import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { join } from "node:path";
import { forgetTopic } from "../../bench/lib/page_cache.ts";

Deno.test("forgetTopic() leaves the segments as they are, and throws where there are none", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await Deno.mkdir(join(directory, "logs/orders-0"), { recursive: true });
    await Deno.writeTextFile(join(directory, "logs/orders-0/00000000000000000000.log"), "records");
    await forgetTopic(directory, "orders");
    assertEquals(
      await Deno.readTextFile(join(directory, "logs/orders-0/00000000000000000000.log")),
      "records",
    );
    await assertRejects(() => forgetTopic(directory, "payments"), Error, "page cache of payments");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
