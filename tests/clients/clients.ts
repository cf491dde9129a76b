/**
 * The clients under test: how each is installed and called, and what its library cannot do. The scenario checks
 * both ways: an undeclared gap fails, and so does a declared one that turns out to work.
 */

import type { Client } from "./adapter.ts";
import { installKcat, installPython } from "./install.ts";
import { command as goCommand, install as installGo } from "./go/install.ts";
import { command as javaCommand, install as installJava } from "./java/install.ts";
import { command as nodeCommand, install as installNode } from "./node/install.ts";

export const classicOnly = "only the classic group protocol, not KIP-848's";

export function python(id: string, script: string, unsupported: Client["unsupported"] = {}): Client {
  return {
    id,
    command: [".cache/clients/python/bin/python", `tests/clients/python/${script}`],
    install: installPython,
    unsupported,
  };
}

/** A Go library; all of them are built by one install. */
export function go(id: Parameters<typeof goCommand>[0], unsupported: Client["unsupported"] = {}): Client {
  return { id, command: goCommand(id), install: installGo, unsupported };
}

/** A Node library, by the name of its adapter. */
export function node(id: Parameters<typeof nodeCommand>[0], unsupported: Client["unsupported"] = {}): Client {
  return { id, command: nodeCommand(id), install: installNode, unsupported };
}

/** Kafka's own client of a release. */
function java(release: Parameters<typeof javaCommand>[0], unsupported: Client["unsupported"] = {}): Client {
  return { id: `java-${release}`, command: javaCommand(release), install: installJava, unsupported };
}

/** Does what other clients lack. */
export const reference = python("confluent-kafka", "confluent_kafka_client.py");

const noAdmin = "kcat has no admin requests";
export const kcatLacks: Client["unsupported"] = {
  "create": noAdmin,
  "delete": noAdmin,
  "committed": noAdmin,
  "groups": noAdmin,
  "describe-group": noAdmin,
  "delete-group": noAdmin,
  "timestamps": "kcat cannot set a timestamp",
  "commit-per-poll": "kcat commits on a timer and when it leaves",
  "next-gen": classicOnly,
};

export const clients: Client[] = [
  reference,
  python("kafka-python", "kafka_python_client.py", { "next-gen": classicOnly }),
  python("aiokafka", "aiokafka_client.py", {
    "delete-group": "its admin client has no DeleteGroups",
    "next-gen": classicOnly,
  }),
  {
    id: "kcat",
    command: ["bash", "tests/clients/kcat.sh"],
    install: installKcat,
    unsupported: kcatLacks,
  },
  go("franz-go"),
  go("kafka-go", {
    "idempotence": "kafka-go has no idempotent producer",
    "static-member": "kafka-go has no static members",
    "next-gen": classicOnly,
  }),
  go("sarama", { "next-gen": classicOnly }),
  node("kafkajs", { "static-member": "kafkajs has no static members", "next-gen": classicOnly }),
  node("platformatic"),
  java("3.9"),
  java("4.4"),
];
