/** What a real Kafka left of some workloads, which Trackway has to leave too: `record_kafka.ts` has asked it. */

import { assertEquals } from "@std/assert/equals";
import { Client } from "../../../src/client/client.ts";
import { freePortBroker } from "../../lib/broker.ts";
import recorded from "./kafka_compaction.json" with { type: "json" };
import { runWorkload, type Seen, type SeenBatch } from "./workload.ts";

/** Kafka leaves an empty file of a segment of which nothing stays, Trackway an empty batch. */
function withoutNeedless(batches: readonly SeenBatch[], kafkas: readonly SeenBatch[]): SeenBatch[] {
  const there = new Set(kafkas.map(({ offsets: [baseOffset] }) => baseOffset));
  return batches.filter(({ offsets: [baseOffset], records }) => records.length > 0 || there.has(baseOffset));
}

for (const [seed, rounds] of Object.entries(recorded)) {
  Deno.test(`after each of ${rounds.length} cleanings a client finds what it finds on Kafka, seed ${seed}`, async () => {
    await using broker = await freePortBroker({ "log.cleaner.backoff.ms": "0" });
    const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port });
    const seen = await runWorkload(client, Number(seed), broker.dataDir);
    await client.close();
    for (const [round, expected] of (rounds as unknown as Seen[]).entries()) {
      const found = seen[round];
      const batches = withoutNeedless(found.batches, expected.batches);
      assertEquals({ ...found, batches }, expected, `round ${round}`);
    }
    assertEquals(broker.log, []);
  });
}
