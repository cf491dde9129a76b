/** What a host does when the disk fails under topics that come and go. */
import { assertEquals } from "@std/assert/equals";
import type { Cluster } from "../../src/cluster/cluster.ts";
import { newTopic, type TopicImage } from "../../src/cluster/image.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { BrokerConfig } from "../../src/config/broker_config.ts";
import { PartitionHost } from "../../src/replication/partition_host.ts";
import { Replicas } from "../../src/replication/replicas.ts";
import { FaultyFiles } from "../../src/storage/files_faulty.ts";
import { MemoryFiles } from "../../src/storage/files_memory.ts";
import { batch, mustAppend, openManager, TOPIC_ID } from "../storage/helpers.ts";

const OTHER_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAABA";

/** A host over a disk that can be made to fail, and metadata that the test changes. */
async function hosting() {
  const files = new FaultyFiles(new MemoryFiles());
  const { manager: logs, clock } = await openManager({}, files);
  const topics = new Map<string, TopicImage>();
  const deletions = new Set<string>();
  const replicas = new Replicas();
  const reports: string[] = [];
  const host = new PartitionHost({
    logs,
    cluster: {
      image: { topics },
      deletions,
      finishDeletions(ids: readonly string[]) {
        for (const id of ids) deletions.delete(id);
        return Promise.resolve();
      },
    } as unknown as Cluster,
    replicas,
    config: new BrokerConfig(),
    clock,
    report: (problem) => reports.push(problem),
  });
  const nothing = { version: 1, deleted: [], created: [], changed: [], brokerConfigs: [], groupConfigs: [] };
  return {
    files,
    logs,
    replicas,
    host,
    reports,
    deletions,
    create(topicId: string) {
      const topic = newTopic("t", topicId, [[1]], new Map());
      topics.set("t", topic);
      return host.apply({ ...nothing, created: [topic] });
    },
    delete() {
      const topic = topics.get("t")!;
      topics.delete("t");
      deletions.add(topic.topicId);
      return host.apply({ ...nothing, deleted: [topic] });
    },
  };
}

Deno.test("PartitionHost does not give a topic made anew the log of the former one that could not be removed", async () => {
  const h = await hosting();
  await h.create(TOPIC_ID);
  mustAppend(h.replicas.get("t", 0)!.log, batch(3));
  h.files.fail(1, Infinity);
  await h.delete();
  assertEquals(h.reports.length, 1);
  await h.create(OTHER_TOPIC_ID);
  assertEquals(h.replicas.get("t", 0), undefined);
  h.files.heal();
  await h.host.retry();
  const { log } = h.replicas.get("t", 0)!;
  assertEquals([log.nextOffset, log.topicId], [0, OTHER_TOPIC_ID]);
  await h.logs.close();
});

Deno.test("PartitionHost.retry() makes the log that the disk had no room for, and tells of it once", async () => {
  const h = await hosting();
  h.files.fail(1, Infinity);
  await h.create(TOPIC_ID);
  await h.host.retry();
  await h.host.retry();
  assertEquals(h.reports.length, 1);
  assertEquals(h.replicas.get("t", 0), undefined);
  h.files.heal();
  await h.host.retry();
  mustAppend(h.replicas.get("t", 0)!.log, batch(1));
  await h.logs.close();
});

Deno.test("PartitionHost.retry() forgets topics that were deleted meanwhile", async () => {
  const h = await hosting();
  h.files.fail(1, Infinity);
  await h.create(TOPIC_ID);
  await h.delete();
  h.files.heal();
  await h.host.retry();
  assertEquals([...h.logs.all()], []);
  await h.logs.close();
});

Deno.test("PartitionHost gives a directory without a topic id that of its topic", async () => {
  const h = await hosting();
  const log = h.logs.create("t", 0, ZERO_UUID);
  await h.create(TOPIC_ID);
  assertEquals(log.topicId, TOPIC_ID);
  await h.logs.close();
});

Deno.test("a hosted partition tells its log the high watermark before anything is appended", async () => {
  const h = await hosting();
  const log = h.logs.create("t", 0, TOPIC_ID);
  mustAppend(log, batch(3));
  assertEquals(log.highWatermark, 0);
  await h.create(TOPIC_ID);
  assertEquals(log.highWatermark, 3);
  await h.logs.close();
});
