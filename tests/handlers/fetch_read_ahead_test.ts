/** Fetches of what lies on the disk: who waits for it, and who does not. */
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { fetch, type FetchRequest, type FetchResponse } from "../../src/codec/messages/fetch.ts";
import type { RequestContext } from "../../src/handlers/context.ts";
import { fetchHandler } from "../../src/handlers/fetch.ts";
import { FetchSessions } from "../../src/replication/fetch_sessions.ts";
import { HeldRequests } from "../../src/replication/held_requests.ts";
import { Partition } from "../../src/replication/partition.ts";
import { Replicas } from "../../src/replication/replicas.ts";
import { BufferPool, Loans } from "../../src/server/buffer_pool.ts";
import type { FileHandle } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { configWith, imageWith } from "../cluster/support.ts";
import { fetchFrom } from "../protocol/requests.ts";
import { append, batch, openManager, START, TOPIC_ID } from "../storage/helpers.ts";
import { noQuotas } from "../quotas/support.ts";

const MEGABYTE = 1024 * 1024;

/** A disk on which each read takes as long as it is told to. */
class SlowFiles extends MemoryFiles {
  readonly clock = new ManualClock();
  readMs = 0;
  /** Reads that were made for nobody. */
  ahead: { position: number; bytes: number }[] = [];
  /** Set while such reads are to be held. */
  gate: Promise<void> = Promise.resolve();

  override open(path: string, create: boolean): FileHandle {
    const handle = super.open(path, create);
    return {
      ...handle,
      readAt: (into, position) => {
        this.clock.advance(this.readMs);
        return handle.readAt(into, position);
      },
      readAhead: async (position, bytes) => {
        this.ahead.push({ position, bytes });
        await this.gate;
        this.clock.advance(this.readMs);
      },
    };
  }
}

/** Two partitions of 8 MB on a slow disk, and how to fetch a megabyte of the first, or something else. */
async function slowPartitions() {
  const files = new SlowFiles(() => START);
  const { manager } = await openManager({}, files, files.clock);
  const replicas = new Replicas();
  for (const partition of [0, 1]) {
    const log = manager.create("t", partition, TOPIC_ID);
    for (let i = 0; i < 16; i++) append(log, batch(1, { bytes: MEGABYTE / 2 }));
    replicas.add(new Partition(log, TOPIC_ID, 1, 0, [1]));
  }
  const held = new HeldRequests();
  const services = {
    clock: files.clock,
    config: configWith(),
    cluster: { image: imageWith({ t: 2 }) },
    replicas,
    held,
    quotas: noQuotas(),
    answerRoomBytes: () => Infinity,
    fetchSessions: new FetchSessions(10, () => 0),
  };
  const context = {
    services,
    version: 11,
    sendsFiles: false,
    onDisconnect: null,
    loans: new Loans(new BufferPool()),
  } as unknown as RequestContext;
  const ask = (offset: number) => send(fetchFrom("t", [[0, offset]], { maxWaitMs: 0 }));
  const send = (request: ReturnType<typeof fetchFrom>) => {
    return fetchHandler(
      fetch.request.decode(fetch.request.encode(11, request), 11) as FetchRequest,
      context,
    ) as FetchResponse | PromiseLike<FetchResponse | null>;
  };
  return { files, ask, send, context };
}

const recordBytes = (response: FetchResponse | null) => response!.responses[0].partitions[0].records!.length;

Deno.test("a fetch is answered at once while the disk is fast, and read ahead for when a read was slow", async () => {
  const { files, ask } = await slowPartitions();
  const first = ask(0);
  assertEquals(first instanceof Promise, false);
  files.readMs = 3;
  ask(1);
  assertEquals(files.ahead, []); // that one found out
  const third = ask(2);
  assertEquals(third instanceof Promise, true);
  assertEquals(recordBytes(await third) > 0, true);
  assertEquals(files.ahead.length, 1);
});

Deno.test("a fetch of what was written last is never read ahead for", async () => {
  const { files, ask } = await slowPartitions();
  files.readMs = 3;
  ask(0);
  assertEquals(ask(15) instanceof Promise, false);
  assertEquals(files.ahead, []);
});

Deno.test("a client that leaves while its fetch is read ahead for gets nothing read", async () => {
  const { files, ask, context } = await slowPartitions();
  files.readMs = 3;
  ask(0);
  let open = () => {};
  files.gate = new Promise((resolve) => open = resolve);
  const answer = ask(1);
  context.onDisconnect!();
  const before = files.clock.monotonic();
  open();
  assertEquals(await answer, null);
  assertEquals(files.clock.monotonic() - before, files.readMs); // the one read that was under way
});

Deno.test("limits below 0 do not have more read ahead than the whole fetch may give", async () => {
  const { files, ask, send } = await slowPartitions();
  files.readMs = 3;
  ask(0);
  send(fetchFrom("t", [[1, 0]]));
  const wanted: [number, number, number][] = [[0, 1, -(2 ** 31)], [1, 1, 2 ** 31 - 1]];
  await send(fetchFrom("t", wanted, { maxBytes: MEGABYTE }));
  assertEquals(files.ahead.map(({ bytes }) => bytes), [MEGABYTE]);
});
