/** The programs that run the course of course.ts, which says what such a program has to do. */

import { go, python as pythonClient } from "../clients.ts";
import {
  command as javaCommand,
  install as installJava,
  installProgram,
  programCommand,
} from "../java/install.ts";
import { command as nodeCommand, install as installNode } from "../node/install.ts";

export interface Transformer {
  /** `transactions-<id>` selects its course and is its row in the report. */
  readonly id: string;
  /** The program and its first arguments, from the checkout; the verb and its flags follow. */
  readonly command: readonly string[];
  /**
   * Its members read a group's offsets while another's transaction has yet to commit them (before KIP-447, OffsetFetch 7),
   * and would take over too early: there is but one of them at a time.
   */
  readonly alone?: boolean;
  /** Makes the command runnable; cheap when it already is. Throws when an interpreter is missing. */
  install(): Promise<void>;
}

/** Kafka's own client of a release. */
function java(release: Parameters<typeof javaCommand>[0]): Transformer {
  return {
    id: `java-${release}`,
    command: javaCommand(release, "Transactions"),
    install: installJava,
  };
}

/** Spring Kafka: the transactions are those of a listener's container. */
const spring: Transformer = {
  id: "spring",
  command: programCommand("spring", "SpringApp"),
  install: () => installProgram("spring", ["SpringApp.java", "Transforming.java"]),
};

/** A Python library, by the name of its program. */
function python(id: string): Transformer {
  return pythonClient(id, `${id.replaceAll("-", "_")}_transform.py`);
}

/** A Node library. */
function node(id: "kafkajs" | "platformatic"): Transformer {
  return {
    id,
    command: nodeCommand(id, `${id}_transform`),
    install: installNode,
  };
}

/**
 * Knows the verbs, but has no course: once the broker was gone, its streams repeat what they gave, or give nothing any
 * more, with Kafka as well.
 */
export const platformatic: Transformer = node("platformatic");

export const transformers: readonly Transformer[] = [
  java("4.4"),
  java("3.9"),
  { ...java("2.3"), alone: true },
  spring,
  python("confluent-kafka"),
  python("kafka-python"),
  go("franz-go"),
  go("sarama"),
  { ...node("kafkajs"), alone: true },
  { ...python("aiokafka"), alone: true },
];
