import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { descriptorLimit, descriptorSlots, shareDescriptors } from "../../src/server/descriptors.ts";

Deno.test("shareDescriptors() leaves to the log what it can use, and never more than half", () => {
  const shares = [20_000, 4096, 1024, 200, 50, null].map((limit) => shareDescriptors(limit));
  assertEquals(shares.map(({ connections, files, senders }) => [connections, files, senders]), [
    [17_936, 1000, 1000],
    [2843, 1000, 189],
    [450, 480, 30],
    [64, 68, 4],
    [8, 8, 0],
    [Infinity, 1000, 1000],
  ]);
});

Deno.test("descriptorLimit() reads the soft limit, and knows when it cannot be known", () => {
  const limits = (line: string) =>
    `Limit   Soft Limit   Hard Limit   Units\n${line}\nMax locked memory  8  8  bytes\n`;
  assertEquals(
    descriptorLimit(() => limits("Max open files            1024                524288               files")),
    1024,
  );
  assertEquals(
    descriptorLimit(() =>
      limits("Max open files            unlimited            unlimited            files")
    ),
    null,
  );
  const failing = (error: Error) => () => {
    throw error;
  };
  assertEquals(descriptorLimit(failing(new Deno.errors.NotFound())), null);
  assertEquals(descriptorLimit(failing(new Deno.errors.PermissionDenied())), null);
  assertThrows(() => descriptorLimit(failing(new Deno.errors.Busy("busy"))), Deno.errors.Busy);
});

Deno.test("descriptorSlots() reads how many numbers there are", () => {
  assertEquals(descriptorSlots(() => "Groups:\t0 \nFDSize:\t256\nNStgid:\t9\n"), 256);
  assertEquals(
    descriptorSlots(() => {
      throw new Deno.errors.NotFound();
    }),
    null,
  );
});
