/**
 * `deno task readme`: writes the table of served APIs into README.md, between its two markers. The table is the
 * registry's; a test fails when the README says anything else.
 */
import { apis } from "../src/codec/apis.ts";
import { registry } from "../src/handlers/all.ts";

export const START = "<!-- apis: written by `deno task readme` -->", END = "<!-- /apis -->";

const readme = new URL("../README.md", import.meta.url);

/** The table as it has to be: every served API with its versions, and those that are declared but not served yet. */
export function apiTable(): string {
  const rows = registry.all.map(({ api, versions }) =>
    `| ${api.key} | ${api.name} | ${versions[0]}–${versions[1]} |`
  );
  const later = apis.filter((api) => registry.byKey(api.key) === undefined).map((api) => api.name);
  return [
    "| key | API | versions |",
    "| --- | --- | -------- |",
    ...rows,
    "",
    `Declared in the codec and not served yet: ${later.join(", ")}.`,
  ].join("\n");
}

/** What stands between the markers of README.md now. */
export function tableInReadme(): string {
  const text = Deno.readTextFileSync(readme);
  return text.slice(text.indexOf(START) + START.length, text.indexOf(END)).trim();
}

if (import.meta.main) {
  const text = Deno.readTextFileSync(readme);
  const from = text.indexOf(START) + START.length, to = text.indexOf(END);
  Deno.writeTextFileSync(readme, `${text.slice(0, from)}\n\n${apiTable()}\n\n${text.slice(to)}`);
}
