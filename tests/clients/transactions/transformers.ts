/** The programs that run the course of course.ts, which says what such a program has to do. */

import { command as javaCommand, install as installJava } from "../java/install.ts";

export interface Transformer {
  /** `transactions-<id>` selects its course and is its row in the report. */
  readonly id: string;
  /** The program and its first arguments, from the checkout; the verb and its flags follow. */
  readonly command: readonly string[];
  /** Makes the command runnable; cheap when it already is. Throws when an interpreter is missing. */
  install(): Promise<void>;
}

/** Kafka's own client of a release. */
function java(release: Parameters<typeof javaCommand>[0]): Transformer {
  return { id: `java-${release}`, command: javaCommand(release, "Transactions"), install: installJava };
}

export const transformers: readonly Transformer[] = [java("4.4"), java("3.9"), java("2.3")];
