/**
 * What the metadata costs at start and when topics are created. `deno run -A bench/cluster_store.ts [topics] [partitions]`
 * (1,000 topics of 10 partitions when not given). The times are those of this machine's disk, too.
 */
import { Cluster } from "../src/cluster/cluster.ts";
import { BrokerConfig } from "../src/config/broker_config.ts";

const [topics, partitions] = [Number(Deno.args[0] ?? 1000), Number(Deno.args[1] ?? 10)];
const directory = await Deno.makeTempDir({ prefix: "trackway-bench-" });

async function timed<T>(what: string, work: () => Promise<T> | T): Promise<T> {
  const start = performance.now();
  const result = await work();
  console.log(`${what.padEnd(60)} ${(performance.now() - start).toFixed(2)} ms`);
  return result;
}

const { SqliteStore } = await timed(
  "load the adapter (node:sqlite with it)",
  () => import("../src/cluster/sqlite.ts"),
);

const options = {
  nodeId: 1,
  brokers: [{ id: 1, rack: null, endpoints: new Map() }],
  config: new BrokerConfig(),
  report: console.error,
};
const request = (name: string, numPartitions: number) => ({
  name,
  numPartitions,
  replicationFactor: 1,
  assignments: [],
  configs: [],
});

try {
  const store = await timed("open a store that is not there yet", () => SqliteStore.open(directory));
  const cluster = await timed("open an empty cluster", () => Cluster.open({ ...options, store }));
  const requests = Array.from({ length: topics }, (_, i) => request(`topic-${i}`, partitions));
  const results = await timed(
    `create ${topics} topics of ${partitions} partitions in one request`,
    () => cluster.createTopics(requests),
  );
  const refused = results.find(({ errorCode }) => errorCode !== 0);
  if (refused) throw new Error(`refused: ${refused.errorMessage}`);
  await timed("create 100 topics, one request after the other", async () => {
    for (let i = 0; i < 100; i++) await cluster.createTopics([request(`single-${i}`, 1)]);
  });
  await timed(
    "delete one topic",
    () => cluster.deleteTopics([{ name: "topic-0", topicId: "AAAAAAAAAAAAAAAAAAAAAA" }]),
  );
  await timed("close", async () => {
    await cluster.close();
    await store.close();
  });
  const again = await timed("open the store again", () => SqliteStore.open(directory));
  const loaded = await timed("open the cluster again", () => Cluster.open({ ...options, store: again }));
  console.log(`${loaded.image.topics.size} topics, ${loaded.image.partitionCount} partitions`);
  await again.close();
} finally {
  await Deno.remove(directory, { recursive: true });
}
