/** What Kafka answered to the scenarios of an area, by the scenario's name: recordings/<area>.json. */

/** Answers by the name of the scenario. */
export type Recordings = Record<string, unknown[]>;

const file = (area: string) => new URL(`./recordings/${area}.json`, import.meta.url);

/** The recordings of an area; none when it was never recorded. */
export function readRecordings(area: string): Recordings {
  try {
    return JSON.parse(Deno.readTextFileSync(file(area)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return {};
    throw error;
  }
}

/** Writes them with one answer a line, so that a change of Kafka's behaviour reads well as a diff. */
export function writeRecordings(area: string, recordings: Recordings): void {
  const entries = Object.entries(recordings).map(([name, answers]) =>
    `${JSON.stringify(name)}: [\n${answers.map((a) => `  ${JSON.stringify(a)}`).join(",\n")}\n]`
  );
  Deno.writeTextFileSync(file(area), `{\n${entries.join(",\n")}\n}\n`);
}
