/**
 * Clients as they were around 2019, which speak versions that Kafka 4 has dropped: message formats 0 and 1 go in and are
 * made for them on the way out. They run the scenario of all clients, and then read what each other and those of today
 * wrote (cross.ts).
 */

import { join } from "node:path";

import type { Client } from "./adapter.ts";
import { classicOnly, go, kcatLacks, node, python } from "./clients.ts";
import { installEnvironment, installKcat, once, root, run } from "./install.ts";

const noStatic = "static members came later";
const noIdempotence = "it has no idempotent producer";
const noZstd = "zstd came later";
const noAdminWhenTold = "its admin client asks the broker for its release";

/** kafka-python 1.4, which is told a release of Kafka or finds it out. */
function kafkaPython14(release: "auto" | "0.9" | "0.10", unsupported: Client["unsupported"] = {}): Client {
  return {
    ...python(`kafka-python-1.4-${release}`, "kafka_python_14_client.py"),
    command: [
      ".cache/clients/python-old/bin/python",
      "tests/clients/python/kafka_python_14_client.py",
      release,
    ],
    install: () => installEnvironment("python-old", "old-requirements.txt"),
    unsupported: {
      "idempotence": noIdempotence,
      "codec:zstd": noZstd,
      "static-member": noStatic,
      "delete-group": "its admin client has no DeleteGroups",
      "next-gen": classicOnly,
      ...unsupported,
    },
  };
}

const toldItsRelease: Client["unsupported"] = {
  "create": noAdminWhenTold,
  "delete": noAdminWhenTold,
  "groups": noAdminWhenTold,
  "describe-group": noAdminWhenTold,
  "from-timestamp": "Kafka finds offsets by time since 0.10.1",
};

const librdkafkaDir = ".cache/clients/librdkafka-1.0";
const confluentKafka = "confluent-kafka==1.0.1";

/** The librdkafka in a wheel of its time, under Debian's kcat with `since.c` for what it calls and is not there yet. */
const librdkafka: Client = {
  id: "librdkafka-1.0",
  command: [
    "bash",
    "-c",
    `NO_STATIC_MEMBERS=1 PATH=$PWD/tests/clients/librdkafka-1.0:$PATH exec bash tests/clients/kcat.sh "$@"`,
    "kcat.sh",
  ],
  install: installLibrdkafka,
  unsupported: { ...kcatLacks, "static-member": noStatic },
};

async function installLibrdkafka(): Promise<void> {
  await installKcat();
  const since = join(root, "tests/clients/librdkafka-1.0/since.c");
  await once("librdkafka-1.0", `${confluentKafka}\n${await Deno.readTextFile(since)}`, async () => {
    const dir = join(root, librdkafkaDir);
    await Deno.mkdir(dir, { recursive: true });
    const wheel = [
      ...["--python-version", "37", "--implementation", "cp", "--abi", "cp37m"],
      ...["--platform", "manylinux1_x86_64", "--only-binary", ":all:", "--no-deps"],
    ];
    await run("python3", [
      "-m",
      "pip",
      "download",
      "--quiet",
      "--no-input",
      ...wheel,
      "-d",
      dir,
      confluentKafka,
    ]);
    const [file] = [...Deno.readDirSync(dir)].filter(({ name }) => name.endsWith(".whl"));
    await run("python3", ["-m", "zipfile", "-e", join(dir, file.name), dir]);
    await run("cc", ["-shared", "-fPIC", "-O1", "-Wall", "-o", join(dir, "since.so"), since]);
  });
}

export const oldClients: Client[] = [
  kafkaPython14("auto"),
  kafkaPython14("0.10", toldItsRelease),
  kafkaPython14("0.9", {
    ...toldItsRelease,
    "timestamps": "message format 0 has no timestamps",
  }),
  go("sarama-1.20", {
    "idempotence": noIdempotence,
    "codec:zstd": noZstd,
    "static-member": noStatic,
    "commit-per-poll": "sarama 1.20 commits on a timer and when it leaves",
    "delete-group": "Kafka 0.10.2 has no DeleteGroups",
    "next-gen": classicOnly,
  }),
  node("kafkajs-1", { "static-member": "kafkajs has no static members", "next-gen": classicOnly }),
  librdkafka,
];
