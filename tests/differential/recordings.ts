/** What Kafka answered to each scenario, by the scenario's name. */

const file = new URL("./recordings.json", import.meta.url);

export type Recordings = Record<string, unknown[]>;

export function recordings(): Recordings {
  try {
    return JSON.parse(Deno.readTextFileSync(file));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return {};
    throw error;
  }
}

/** One answer a line, so that a change of Kafka's behaviour reads well as a diff. */
export function writeRecordings(all: Recordings): void {
  const entries = Object.entries(all).map(([name, answers]) =>
    `${JSON.stringify(name)}: [\n${answers.map((a) => `  ${JSON.stringify(a)}`).join(",\n")}\n]`
  );
  Deno.writeTextFileSync(file, `{\n${entries.join(",\n")}\n}\n`);
}
