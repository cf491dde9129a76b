/** Makes and deletes the topics of a measurement. */
import { Client } from "../../src/client/client.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../src/codec/messages/delete_topics.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";

const EARLIEST = -2n;
const PATIENCE_MS = 120_000;

/** Makes a topic, lends it to `use`, and deletes it. */
export async function withTopic<T>(
  port: number,
  name: string,
  partitions: number,
  use: () => Promise<T>,
): Promise<T> {
  const client = await Client.connect({ hostname: "127.0.0.1", port }, "bench-admin");
  try {
    const { topics: [made] } = await client.send(createTopics, 5, {
      topics: [{ name, numPartitions: partitions, replicationFactor: 1, assignments: [], configs: [] }],
    });
    if (made.errorCode !== 0) throw new Error(`cannot make ${name}: error ${made.errorCode}`);
    await led(client, name, partitions);
    return await use();
  } finally {
    await client.send(deleteTopics, 5, { topics: [], topicNames: [name], timeoutMs: PATIENCE_MS });
    await client.close();
  }
}

/** Resolves when every partition answers as its leader does. */
async function led(client: Client, name: string, partitions: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { topics: [topic] } = await client.send(listOffsets, 4, {
      replicaId: -1,
      isolationLevel: 0,
      timeoutMs: 0,
      topics: [{
        name,
        partitions: Array.from(
          { length: partitions },
          (_, i) => ({ partitionIndex: i, timestamp: EARLIEST }),
        ),
      }],
    });
    if (topic.partitions.every((partition) => partition.errorCode === 0)) return;
    if (performance.now() > deadline) throw new Error(`${name} has no leaders`);
  }
}
