/** What a host does when the disk fails under topics that come and go. */
import { assertEquals } from "@std/assert/equals";
import type { Clock } from "../../src/base/clock.ts";
import type { ProducerIds } from "../../src/cluster/producer_ids.ts";
import type { Cluster } from "../../src/cluster/cluster.ts";
import { newTopic, type TopicImage } from "../../src/cluster/image.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { BrokerConfig } from "../../src/config/broker_config.ts";
import { PartitionHost } from "../../src/replication/partition_host.ts";
import { Replicas } from "../../src/replication/replicas.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { batch, DIRECTORY, mustAppend, openManager, TOPIC_ID } from "../storage/helpers.ts";

const OTHER_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAABA";

/** A host over a disk that can be made to fail, and metadata that the test changes. */
async function hosting(clock?: Clock, config = new BrokerConfig()) {
  const files = new FaultyFiles(new MemoryFiles());
  const { manager: logs, clock: standing } = await openManager({}, files);
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
    config,
    clock: clock ?? standing,
    report: (problem) => reports.push(problem),
  });
  const nothing = {
    version: 1,
    deleted: [],
    created: [],
    changed: [],
    brokerConfigs: [],
    groupConfigs: [],
    clientMetricsConfigs: [],
    clientQuotas: [],
  };
  return {
    files,
    logs,
    replicas,
    host,
    reports,
    deletions,
    standing,
    create(topicId: string, partitions = 1) {
      const topic = newTopic("t", topicId, Array.from({ length: partitions }, () => [1]), new Map());
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

/** A clock that goes on by a millisecond each time that somebody looks. */
function busyClock(): Clock {
  let ms = 0;
  return { now: () => ms, monotonic: () => ++ms };
}

Deno.test("PartitionHost makes a large topic in slices, and others get their turn in between", async () => {
  const h = await hosting(busyClock());
  const made = h.create(TOPIC_ID, 100);
  const counts: number[] = [];
  const looking = setInterval(() => counts.push([...h.replicas.all()].length), 0);
  await made;
  clearInterval(looking);
  assertEquals([...h.replicas.all()].length, 100);
  assertEquals(counts.length > 3 && counts[0] < 50, true, counts.join());
  await h.logs.close();
});

Deno.test("PartitionHost takes changes over one after the other, though the first is not done when the next comes", async () => {
  const h = await hosting(busyClock());
  await Promise.all([
    h.create(TOPIC_ID, 100),
    h.host.settingsChanged(),
    h.delete(),
    h.create(OTHER_TOPIC_ID, 30),
  ]);
  const hosted = [...h.replicas.all()];
  assertEquals([hosted.length, hosted.every(({ log }) => log.topicId === OTHER_TOPIC_ID)], [30, true]);
  assertEquals([...h.logs.all()].length, 30);
  assertEquals([[...h.deletions], h.reports], [[], []]);
  await h.logs.close();
});

Deno.test("PartitionHost has a deletion forgotten only when the last directory is out of the way", async () => {
  const h = await hosting();
  await h.create(TOPIC_ID);
  h.files.fail(1, Infinity);
  await h.delete();
  await h.host.retry();
  assertEquals([[...h.deletions], h.reports.length], [[TOPIC_ID], 1]);
  h.files.heal();
  await h.host.retry();
  assertEquals([[...h.deletions], [...h.logs.all()]], [[], []]);
  await h.logs.close();
});

Deno.test("PartitionHost sets a log of the same name aside that no deletion has named", async () => {
  const h = await hosting();
  mustAppend(h.logs.create("t", 0, OTHER_TOPIC_ID), batch(3));
  await h.create(TOPIC_ID);
  assertEquals(h.replicas.get("t", 0)!.log.nextOffset, 0);
  const names = h.files.list(DIRECTORY).filter(({ isDirectory }) => isDirectory).map(({ name }) => name)
    .sort();
  assertEquals([names.length, names[1].endsWith("-stray")], [2, true]);
  assertEquals(h.reports.length, 1);
  await h.logs.close();
});

Deno.test("PartitionHost tells of many logs that cannot be made in one line, in words", async () => {
  const h = await hosting();
  h.files.fail(1, Infinity);
  await h.create(TOPIC_ID, 44);
  await h.host.retry();
  assertEquals(h.reports.length, 1, h.reports.join("\n"));
  assertEquals(
    /^Cannot make the logs of 44 partitions, t-0 first: Cannot .* \(EIO\); will try again$/.test(
      h.reports[0],
    ),
    true,
    h.reports[0],
  );
  h.files.heal();
  await h.host.retry();
  assertEquals(h.replicas.ofTopic("t").length, 44);
  await h.logs.close();
});

Deno.test("PartitionHost gives the directories of deleted topics that it finds at start the broker's delay", async () => {
  const delay = { text: "2000", origin: "--set" };
  const h = await hosting(undefined, new BrokerConfig(new Map([["log.segment.delete.delay.ms", delay]])));
  h.logs.create("t", 0, TOPIC_ID);
  h.deletions.add(TOPIC_ID);
  await h.host.takeOver({} as ProducerIds);
  const directories = () => h.files.list(DIRECTORY).filter(({ isDirectory }) => isDirectory).length;
  const left = [directories()];
  for (const ms of [1999, 1]) {
    h.standing.advance(ms);
    await h.logs.tick();
    left.push(directories());
  }
  assertEquals([left, h.reports], [[1, 1, 0], []]);
  await h.logs.close();
});
