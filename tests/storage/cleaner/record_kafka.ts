/**
 * Writes down what Apache Kafka leaves of the workloads, into `kafka_compaction.json`: `deno run -A` this. Needs Java, and
 * Maven the first time.
 */

import { Client } from "../../../src/client/client.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { startKafka } from "../../differential/kafka.ts";
import { accepted } from "../../durability/requests.ts";
import { runWorkload, type Seen } from "./workload.ts";

export const SEEDS = [1, 2, 3];

if (import.meta.main) {
  const directory = await Deno.makeTempDir({ prefix: "compaction-kafka-" });
  try {
    await using kafka = await startKafka(undefined, {
      "log.dirs": directory,
      "log.cleaner.backoff.ms": "100",
      "log.retention.check.interval.ms": "600000",
    });
    const client = await Client.connect({ hostname: "127.0.0.1", port: kafka.port });
    // It gives no producer ids at first.
    const anybody = { transactionalId: null, transactionTimeoutMs: 60_000 };
    await accepted("InitProducerId", async () => (await client.send(initProducerId, 4, anybody)).errorCode);
    const left: Record<number, Seen[]> = {};
    for (const seed of SEEDS) left[seed] = await runWorkload(client, seed, directory);
    await client.close();
    const lines = Object.entries(left).map(([seed, rounds]) => `"${seed}": ${JSON.stringify(rounds)}`);
    await Deno.writeTextFile(
      new URL("kafka_compaction.json", import.meta.url),
      `{\n${lines.join(",\n")}\n}\n`,
    );
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
