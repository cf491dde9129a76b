/** What Kafka 3.9 answered to each scenario of old_versions.ts, by its name. One answer a line: a change reads well as a diff. */

const file = new URL("./old_recordings.jsonl", import.meta.url);

export type Recordings = Record<string, unknown[]>;

export function oldRecordings(): Recordings {
  const all: Recordings = {};
  for (const line of Deno.readTextFileSync(file).trimEnd().split("\n")) {
    const [name, answer] = JSON.parse(line);
    (all[name] ??= []).push(answer);
  }
  return all;
}

export function writeOldRecordings(all: Recordings): void {
  const lines = Object.entries(all).flatMap(([name, answers]) =>
    answers.map((a) => JSON.stringify([name, a]) + "\n")
  );
  Deno.writeTextFileSync(file, lines.join(""));
}
