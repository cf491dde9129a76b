/** The licence texts that travel with a packed Trackway. */
import { assertEquals } from "@std/assert/equals";

import { licenceText } from "../../scripts/lib/licences.ts";

Deno.test("licenceText() gives each package a heading, and says so when one has no text", () => {
  assertEquals(
    licenceText([{ title: "a@1", licence: "MIT", text: "\nDo as you like.\n" }, { title: "b@2" }]),
    "a@1 (MIT)\n---------\n\nDo as you like.\n\n\nb@2\n---\n\nNo licence file in the package.\n",
  );
});
