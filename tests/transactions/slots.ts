/** Who does what in a course: Kafka's own client, which has the newest protocol of transactions, and librdkafka, which has the old one. */
import { command as javaCommand } from "../clients/java/install.ts";
import type { Slot } from "./workers.ts";

/** What writers append to, and what transformers read. */
export const APPENDED = { topic: "appended", partitions: 3 };
export const GROUP_OF_READERS = "readers";
export const TRANSACTION_TIMEOUT_MS = 10_000;
/** Shorter than the longest stop of the broker, so that requests are sent again whose first copy is answered, too. */
const REQUEST_TIMEOUT_MS = 5000;

const python = [".cache/clients/python/bin/python", "tests/clients/python/workload.py"];
const java = javaCommand("4.4", "Workload");
const libraries = { java, librdkafka: python };
export type Library = keyof typeof libraries;
/** A process of Java's costs more. */
const WRITERS: Record<Library, readonly string[]> = {
  java: ["writer"],
  librdkafka: ["writer-a", "writer-b"],
};

export interface Output {
  readonly group: string;
  readonly topic: string;
  readonly partitions: number;
}

/** What the transformers of a library write to. */
export function outputOf(library: Library): Output {
  return { group: `${library}-transformers`, topic: `derived-by-${library}`, partitions: 2 };
}

/** "topic:partitions,…" */
function placesOf(topics: readonly { topic: string; partitions: number }[]): string {
  return topics.map(({ topic, partitions }) => `${topic}:${partitions}`).join(",");
}

/** All that runs in a course with these libraries. */
export function slotsOf(chosen: readonly Library[]): Slot[] {
  const input = placesOf([APPENDED]);
  const all = placesOf([APPENDED, ...chosen.map(outputOf)]);
  const transactional = {
    "transaction-timeout-ms": TRANSACTION_TIMEOUT_MS,
    "request-timeout-ms": REQUEST_TIMEOUT_MS,
  };
  const isolation = "read_committed" as const;
  const slots = chosen.flatMap((library): Slot[] => {
    const command = libraries[library];
    const { group, ...output } = outputOf(library);
    const transactor = (name: string, role: "writer" | "transformer"): Slot => ({
      ...{ name: `${library}-${name}`, role, isolation, transactionalId: `${library}-${name}` },
      command: [...command, role],
      ...(role === "writer"
        ? { flags: { ...transactional, topics: input } }
        : { group, flags: { ...transactional, topics: input, output: placesOf([output]) } }),
    });
    return [
      ...WRITERS[library].map((name) => transactor(name, "writer")),
      transactor("transformer-a", "transformer"),
      transactor("transformer-b", "transformer"),
      {
        ...{ name: `${library}-reader`, role: "reader", isolation },
        ...{ command: [...command, "reader"], flags: { topics: all } },
      },
      {
        ...{ name: `${library}-member`, role: "reader", isolation, group: GROUP_OF_READERS },
        ...{ command: [...command, "reader"], flags: { topics: input } },
      },
    ];
  });
  const dirty: Slot = {
    ...{ name: "dirty-reader", role: "reader", isolation: "read_uncommitted" },
    ...{ command: [...python, "reader"], flags: { topics: all } },
  };
  return [...slots, dirty];
}

/** The program that asks for the offsets of groups in the appended places. */
export function watcher(bootstrap: string, groups: readonly string[]): string[] {
  const flags = ["--bootstrap", bootstrap, "--name", "watcher", "--seed", "0"];
  return [...python, "offsets", ...flags, "--topics", placesOf([APPENDED]), "--group", groups.join(",")];
}
