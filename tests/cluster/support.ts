/** What the tests of the cluster share: images and clusters with some topics, in one line. */
import { Prng } from "../../src/base/prng.ts";
import { BrokerConfig } from "../../src/config/broker_config.ts";
import { Cluster, type ClusterOptions } from "../../src/cluster/cluster.ts";
import type { CreatableTopic } from "../../src/cluster/create_topics.ts";
import { type BrokerImage, MutableImage, newTopic } from "../../src/cluster/image.ts";
import { MemoryStore } from "../../src/cluster/memory.ts";

export const NO_UUID = "AAAAAAAAAAAAAAAAAAAAAA";

/** A distinct id for each number. */
export function idOf(n: number): string {
  return `topic${String(n).padStart(16, "0")}A`;
}

export function broker(id: number): BrokerImage {
  return { id, rack: null, endpoints: new Map([["PLAINTEXT", { host: "localhost", port: 9092 + id }]]) };
}

/** An image of `brokers`, with topics given as name to number of partitions, each with one replica on the first broker. */
export function imageWith(topics: Record<string, number>, brokers = [1]): MutableImage {
  const image = new MutableImage("test-cluster", brokers[0]);
  for (const id of brokers) image.brokers.set(id, broker(id));
  Object.entries(topics).forEach(([name, count], n) => {
    image.setTopic(newTopic(name, idOf(n), Array(count).fill([brokers[0]]), new Map()));
  });
  return image;
}

export function configWith(settings: Record<string, string> = {}): BrokerConfig {
  return new BrokerConfig(
    new Map(Object.entries(settings).map(([name, text]) => [name, { text, origin: "test" }])),
  );
}

/** A topic as CreateTopics requests it, with defaults for what a test does not care about. */
export function creatable(name: string, fields: Partial<CreatableTopic> = {}): CreatableTopic {
  return { name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [], ...fields };
}

/** Opens a cluster of one broker on a new store in memory, or as `options` say. A report fails the test. */
export function openCluster(options: Partial<ClusterOptions> = {}): Promise<Cluster> {
  return Cluster.open({
    store: new MemoryStore(),
    nodeId: 1,
    brokers: [broker(1)],
    config: configWith(),
    random: new Prng(7),
    report: (problem) => {
      throw new Error(`reported: ${problem}`);
    },
    ...options,
  });
}

/** A directory that is gone when `work` is done. */
export async function inTempDir(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "trackway-cluster-" });
  try {
    await work(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
