/**
 * The clients under test: how each is installed and called, and what its library cannot do. The scenario checks
 * both ways: an undeclared gap fails, and so does a declared one that turns out to work.
 */

import type { Client } from "./adapter.ts";
import { installKcat, installPython } from "./install.ts";

function python(id: string, script: string): Client {
  return {
    id,
    command: [".cache/clients/python/bin/python", `tests/clients/python/${script}`],
    install: installPython,
    unsupported: {},
  };
}

/** Does what other clients lack. */
export const reference: Client = {
  ...python("confluent-kafka", "confluent_kafka_client.py"),
  nextGenGroups: true,
};

const noAdmin = "kcat has no admin requests";

export const clients: Client[] = [
  reference,
  python("kafka-python", "kafka_python_client.py"),
  {
    ...python("aiokafka", "aiokafka_client.py"),
    unsupported: { "delete-group": "its admin client has no DeleteGroups" },
  },
  {
    id: "kcat",
    command: ["bash", "tests/clients/kcat.sh"],
    install: installKcat,
    unsupported: {
      "create": noAdmin,
      "delete": noAdmin,
      "committed": noAdmin,
      "groups": noAdmin,
      "describe-group": noAdmin,
      "delete-group": noAdmin,
      "timestamps": "kcat cannot set a timestamp",
      "commit-per-poll": "kcat commits on a timer and when it leaves",
    },
  },
];
