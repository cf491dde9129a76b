/**
 * The list of what is measured. One thing is varied at a time, from 1 KB records in batches of 16 KB, as they are,
 * acks=1, 3 partitions with a connection each; where batches are what costs, from batches of 256 KB too. A scenario is
 * one line here; how it measures is in the file that it comes from.
 */
import { Compression } from "../../src/codec/batch_format.ts";
import { latency, manySenders, rate, rateBesideReader } from "./latencies.ts";
import { idle, loaded, manyPartitions, startUp } from "./lifecycle.ts";
import { javaScenario, librdkafkaScenario } from "./real_clients.ts";
import { rebalances } from "./rebalances.ts";
import type { Group } from "./scenario.ts";
import { coldRead, oneRecordRequests, throughput } from "./throughput.ts";
import { committedLatency, transactions } from "./transactions.ts";

const KB = 1024;
const LARGE = { batchBytes: 256 * KB };
const ALL = -1;

/** All scenarios, in the order in which they run. */
export function scenarioGroups(checkout: string): Group[] {
  return [
    { name: "rest", title: "Starting and being idle", scenarios: [startUp, idle] },
    {
      name: "batches",
      title: "Size of batches",
      scenarios: [
        oneRecordRequests("requests", "Batches of one record, 3 connections with 5 requests in flight"),
        throughput("16k", "Batches of 16 KB, the base of all others; produced, then consumed 3 times"),
        throughput("256k", "Batches of 256 KB", LARGE),
        throughput("1m", "Batches of 1 MB", { batchBytes: 1024 * KB }),
      ],
    },
    {
      name: "records",
      title: "Size of records",
      scenarios: [
        throughput("16k-100b", "Records of 100 bytes in batches of 16 KB", { valueBytes: 100 }),
        throughput("256k-100b", "Records of 100 bytes in batches of 256 KB", { ...LARGE, valueBytes: 100 }),
        throughput("16k-10k", "Records of 10 KB, one to a batch of 16 KB", { valueBytes: 10 * KB }),
        throughput("256k-10k", "Records of 10 KB in batches of 256 KB", { ...LARGE, valueBytes: 10 * KB }),
      ],
    },
    {
      name: "compression",
      title: "Compression",
      scenarios: [
        throughput("16k-lz4", "Batches of 16 KB with lz4", { compression: Compression.LZ4 }),
        throughput("16k-zstd", "Batches of 16 KB with zstd", { compression: Compression.ZSTD }),
        throughput("256k-lz4", "Batches of 256 KB with lz4", { ...LARGE, compression: Compression.LZ4 }),
        throughput("256k-zstd", "Batches of 256 KB with zstd", { ...LARGE, compression: Compression.ZSTD }),
      ],
    },
    {
      name: "acks",
      title: "acks=all",
      scenarios: [
        oneRecordRequests("requests-all", "Batches of one record with acks=all", { acks: ALL }),
        throughput("16k-all", "Batches of 16 KB with acks=all", { acks: ALL }),
        throughput("256k-all", "Batches of 256 KB with acks=all", { ...LARGE, acks: ALL }),
      ],
    },
    {
      name: "cold",
      title: "Old data, not in the page cache",
      scenarios: [
        coldRead("16k-cold", "Batches of 16 KB, read once from the disk"),
        coldRead("256k-cold", "Batches of 256 KB, read once from the disk", LARGE),
      ],
    },
    {
      name: "partitions",
      title: "Number of partitions",
      scenarios: [
        throughput("p1", "1 partition, 1 connection", { partitions: 1, connections: 1 }),
        throughput("p10", "10 partitions on 3 connections, several in a request", { partitions: 10 }),
        throughput("p100", "100 partitions on 3 connections, up to 1 MB in a request", { partitions: 100 }),
        throughput("p1000", "1,000 partitions on 3 connections", {
          partitions: 1000,
          producedBytes: 80_000_000,
        }),
      ],
    },
    {
      name: "connections",
      title: "Number of connections",
      scenarios: [
        throughput("c1", "1 connection for 3 partitions", { connections: 1 }),
        throughput("c100", "100 connections that all send and fetch as fast as they can", {
          connections: 100,
        }),
        throughput("c1000", "1,000 connections that all send and fetch as fast as they can", {
          connections: 1000,
          producedBytes: 150_000_000,
        }),
        throughput("c1000-idle", "3 busy connections beside 1,000 that are silent", {
          idleConnections: 1000,
        }),
        manySenders,
      ],
    },
    {
      name: "latencies",
      title: "Latency, produced to consumed",
      scenarios: [latency, rate, rateBesideReader],
    },
    { name: "groups", title: "Consumer groups", scenarios: [rebalances] },
    {
      name: "clients",
      title: "Clients that people use",
      scenarios: [librdkafkaScenario(checkout), javaScenario(checkout)],
    },
    { name: "memory", title: "After all that", scenarios: [loaded] },
    { name: "many", title: "Very many partitions", scenarios: [manyPartitions] },
    {
      name: "transactions",
      title: "Transactions",
      scenarios: [
        transactions("txn-1", 1),
        transactions("txn-10", 10),
        transactions("txn-100", 100),
        transactions("txn-10-p10", 10, 10),
        committedLatency,
      ],
    },
  ];
}
