/**
 * Every client reads what every client wrote in transactions: each writes one that it commits, one that it aborts and
 * one more, all into one partition, so that what was aborted lies between what was not. Under read_committed a client
 * must be given the committed ones in their order, and under read_uncommitted all of them.
 *
 * The programs are those of course.ts, with one more verb and one more flag:
 *
 *   write --bootstrap B --transactional-id X --output O --value V --count N --end commit|abort
 *   follow ... --isolation read_committed|read_uncommitted
 *
 * kafka-go is not among them: it has no transactions, and hands out their markers as if they were records, of Kafka, too.
 *
 * `write` makes a transaction of the records "V 0", "V 1" and so on in partition 0, waits until they are there, ends it
 * and prints {"ended":"commit"} or {"ended":"abort"}.
 */

import { createTopic } from "../../durability/requests.ts";
import { installKcat } from "../install.ts";
import { type OwnCourse, runOwnCourse } from "../own_course.ts";
import type { Report } from "../report.ts";
import { Changes } from "../waiting.ts";
import { platformatic, type Transformer, transformers } from "./transformers.ts";

/** The name by which this table is selected and reported. */
export const transactionsCross = "transactions-cross";

const topic = "cross";
const count = 5;
const isolations = ["read_committed", "read_uncommitted"] as const;

/** Spring's client is that of Java 3.9, and Java's oldest and newest stand for it. */
const leftOut = ["spring", "java-3.9"];

interface Participant extends Pick<Transformer, "id" | "command" | "install"> {
  readonly ends: readonly ("commit" | "abort")[];
}

const participants: readonly Participant[] = [
  ...[...transformers, platformatic].filter(({ id }) => !leftOut.includes(id)).map((transformer) => ({
    ...transformer,
    ends: ["commit", "abort", "commit"] as const,
  })),
  {
    id: "kcat",
    command: ["bash", "tests/clients/kcat.sh"],
    install: installKcat,
    ends: ["commit", "commit"],
  },
];

/** Runs the table. Never throws: failures go to the report. */
export async function runTransactionsCross(logDir: string, report: Report): Promise<void> {
  try {
    for (const participant of participants) await participant.install();
  } catch (error) {
    report.failed(transactionsCross, "install", (error as Error).message);
    return;
  }
  await runOwnCourse(transactionsCross, logDir, report, {}, async (course) => {
    await course.withClient((client) => createTopic(client, topic, 1));
    const all: string[] = [];
    const committed: string[] = [];
    for (const participant of participants) {
      await course.step(`${participant.id} writes`, async () => {
        for (const [i, end] of participant.ends.entries()) {
          const values = await write(course, participant, `${participant.id}-${i}-${end}`, end);
          all.push(...values);
          if (end === "commit") committed.push(...values);
        }
      });
    }
    for (const participant of participants) {
      await course.step(`${participant.id} reads`, async () => {
        const wanted = { read_committed: committed, read_uncommitted: all };
        await Promise.all(
          isolations.map((isolation) => reads(course, participant, isolation, wanted[isolation])),
        );
      });
    }
  });
}

async function write(
  course: OwnCourse,
  { id, command }: Participant,
  value: string,
  end: string,
): Promise<string[]> {
  const flags = flagsOf(course, { "transactional-id": `cross-${id}`, output: topic, value, count, end });
  const [line] = await course.run([...command, "write", ...flags]);
  if (line?.ended !== end) throw new Error(`${value} ended with ${JSON.stringify(line)}`);
  return Array.from({ length: count }, (_, i) => `${value} ${i}`);
}

/** Throws unless a participant is given exactly these values, in this order. */
async function reads(
  course: OwnCourse,
  { command }: Participant,
  isolation: string,
  wanted: readonly string[],
): Promise<void> {
  const changes = new Changes();
  const running = course.start(
    [...command, "follow", ...flagsOf(course, { topic, partitions: 1, isolation })],
    () => changes.notify(),
  );
  const what = () => `${wanted.length} records under ${isolation}; there are ${running.lines.length}`;
  await course.until(changes, () => running.lines.length >= wanted.length, [running], what);
  const found = running.lines.map(({ value }) => value);
  await course.kill(running);
  const i = wanted.findIndex((value, i) => found[i] !== value);
  if (i >= 0) throw new Error(`under ${isolation}, "${found[i]}" came where "${wanted[i]}" belongs`);
}

function flagsOf(course: OwnCourse, more: Record<string, string | number>): string[] {
  const all = { bootstrap: course.broker.bootstrap, ...more };
  return Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
