import { assertEquals } from "@std/assert/equals";
import { apiTable, tableInReadme } from "../../scripts/api_table.ts";

/** `deno fmt` pads the cells of a table; what they say is what counts. */
const unpadded = (table: string) =>
  table.split("\n").map((line) => line.startsWith("|") ? line.replace(/ +/g, " ").replace(/-+/g, "-") : line)
    .join(" ")
    .replace(/\s+/g, " ");

Deno.test("README.md lists the APIs and versions that are served (deno task readme)", () => {
  assertEquals(unpadded(tableInReadme()), unpadded(apiTable()));
});
