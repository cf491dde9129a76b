/** The shard: loading, appending, committing, closing. The machine under it is the one of the groups. */
import { assertEquals } from "@std/assert/equals";
import { assert } from "@std/assert/assert";
import { ManualClock } from "../../src/base/clock.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { encodeFact } from "../../src/coordinators/groups/facts.ts";
import { GroupService } from "../../src/coordinators/groups/service.ts";
import { coordinatorError, type CoordinatorLog } from "../../src/coordinators/shard.ts";
import {
  defaultConfig,
  everyProducer,
  type Harness,
  harness,
  ManualTimers,
  MemoryLog,
  settled,
} from "./harness.ts";
import {
  commitRequest,
  committed,
  heartbeatRequest,
  ifSettled,
  joinAsNew,
  joinRequest,
  syncRequest,
} from "./requests.ts";

/** A service whose one log comes from `ensureShard`. */
function serviceOver(ensureShard: () => CoordinatorLog | number | Promise<CoordinatorLog | number>) {
  const clock = new ManualClock();
  const problems: string[] = [];
  const timers = new ManualTimers(clock);
  let id = 1;
  const service = new GroupService({
    config: defaultConfig,
    clock,
    timers,
    randomUuid: () => `${id++}`,
    partitionCount: () => 1,
    ensureShard,
    report: (problem) => problems.push(problem),
    transactions: everyProducer,
  });
  return { service, problems, timers };
}

function errorOf(reply: { topics: readonly { partitions: readonly { errorCode: number }[] }[] }): number {
  return reply.topics[0].partitions[0].errorCode;
}

Deno.test("a shard that is loading answers COORDINATOR_LOAD_IN_PROGRESS, and hears heartbeats", async () => {
  const { promise, resolve } = Promise.withResolvers<CoordinatorLog>();
  const { service } = serviceOver(() => promise);
  const request = joinRequest("g", "");
  assertEquals((await service.join(request)).errorCode, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
  assertEquals((await service.describe(["g"], 5))[0].errorCode, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
  assertEquals(
    (await service.list({ statesFilter: [], typesFilter: [] })).errorCode,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  );
  const heartbeat = { groupId: "g", generationId: 1, memberId: "m", groupInstanceId: null };
  assertEquals((await service.heartbeat(heartbeat)).errorCode, ErrorCode.NONE);
  resolve(new MemoryLog());
  await settled();
  assertEquals((await service.join(request)).errorCode, ErrorCode.MEMBER_ID_REQUIRED);
  service.close();
});

Deno.test("a log at hand is loaded before the first request is decided", async () => {
  const { service } = serviceOver(() => new MemoryLog());
  assertEquals((await service.join(joinRequest("g", ""))).errorCode, ErrorCode.MEMBER_ID_REQUIRED);
  service.close();
});

Deno.test("a partition without a log is asked for anew by each request", async () => {
  let log: CoordinatorLog | number = ErrorCode.NOT_COORDINATOR;
  const { service } = serviceOver(() => log);
  assertEquals((await service.join(joinRequest("g", ""))).errorCode, ErrorCode.NOT_COORDINATOR);
  // A list is of the groups that this broker has; of those there are none.
  assertEquals(await service.list({ statesFilter: [], typesFilter: [] }), { errorCode: 0, groups: [] });
  log = new MemoryLog();
  assertEquals((await service.join(joinRequest("g", ""))).errorCode, ErrorCode.MEMBER_ID_REQUIRED);
  service.close();
});

Deno.test("a log that cannot be read is reported once and its groups get NOT_COORDINATOR", async () => {
  let reads = 0;
  const { service, problems } = serviceOver(() => ({
    append: () => ({ errorCode: 0, offset: 0, committed: null }),
    appendMarker: () => ({ errorCode: 0, offset: 0, committed: null }),
    recommit: () => Promise.resolve(0),
    readAll() {
      reads++;
      return [new Uint8Array(100)];
    },
  }));
  for (let i = 0; i < 3; i++) {
    assertEquals((await service.join(joinRequest("g", ""))).errorCode, ErrorCode.NOT_COORDINATOR);
  }
  assertEquals([reads, problems.length], [1, 1]);
  service.close();
});

Deno.test("a log that a disk did not let be read is read again after a while, without a request", async () => {
  const log = new MemoryLog();
  const readAll = log.readAll.bind(log);
  let reads = 0;
  log.readAll = () => {
    if (reads++ === 0) throw new Error("input/output error");
    return readAll();
  };
  const { service, timers } = serviceOver(() => log);
  service.open(0);
  for (const ms of [0, 9_999]) {
    timers.advance(ms);
    service.retry();
    assertEquals((await service.describe(["g"], 5))[0].errorCode, ErrorCode.NOT_COORDINATOR);
  }
  timers.advance(1);
  service.retry();
  assertEquals(reads, 2);
  assertEquals((await service.describe(["g"], 6))[0].errorCode, ErrorCode.GROUP_ID_NOT_FOUND);
  service.close();
});

Deno.test("a log with records that make no sense is read once, and told of once", async () => {
  const log = new MemoryLog();
  // An offset that was committed: of version 1, and cut off.
  log.append([{ key: new Uint8Array([0, 1, 0]), value: new Uint8Array([0, 1]) }], 1);
  let reads = 0;
  const readAll = log.readAll.bind(log);
  log.readAll = () => {
    reads++;
    return readAll();
  };
  const { service, timers, problems } = serviceOver(() => log);
  service.open(0);
  timers.advance(60_000);
  service.retry();
  assertEquals((await service.describe(["g"], 5))[0].errorCode, ErrorCode.NOT_COORDINATOR);
  assertEquals([reads, problems.length], [1, 1]);
});

Deno.test("retry() loads what had no log when a client asked for it, and nothing else", async () => {
  let asked = 0;
  let log: CoordinatorLog | number = ErrorCode.COORDINATOR_NOT_AVAILABLE;
  const { service } = serviceOver(() => {
    asked++;
    return log;
  });
  service.retry();
  assertEquals(asked, 0);
  for (let i = 0; i < 5; i++) await service.join(joinRequest("g", ""));
  assertEquals(asked, 5);
  service.retry();
  assertEquals(asked, 6, "once, however often clients asked");
  log = new MemoryLog();
  service.retry();
  service.retry();
  assertEquals(asked, 7);
  service.close();
  service.retry();
  assertEquals(asked, 7);
});

Deno.test("a long log is loaded in slices, between which requests are refused", async () => {
  const log = new MemoryLog();
  const record = encodeFact({
    type: "offsetCommit",
    key: { group: "g", topic: "t", partition: 0 },
    value: {
      offset: 1,
      leaderEpoch: -1,
      metadata: "x".repeat(4000),
      commitTimestamp: 1,
      expireTimestamp: -1,
      topicId: ZERO_UUID,
    },
  });
  for (let i = 0; i < 300; i++) log.append(Array.from({ length: 10 }, () => record), 1);
  const { service, timers } = serviceOver(() => log);
  const refused = await service.fetchOffsets({ groupId: "g", topics: null });
  assertEquals(refused.errorCode, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
  for (let i = 0; i < 3; i++) {
    timers.advance(0);
    await settled();
  }
  assertEquals(await committed(service, "g"), { "t:0": 1 });
  service.close();
});

Deno.test("a failed append gives its request the error and leaves no trace", async () => {
  const h = harness();
  const [log] = h.logs;
  log.failWith = ErrorCode.NOT_ENOUGH_REPLICAS;
  assertEquals((await h.service.join(joinRequest("g", ""))).errorCode, ErrorCode.COORDINATOR_NOT_AVAILABLE);
  assertEquals(
    errorOf(await h.service.commitOffsets(commitRequest("g", { "t:0": 5 }))),
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
  );
  assertEquals((await h.service.describe(["g"], 5))[0].groupState, "Dead");
  log.failWith = ErrorCode.NONE;
  assertEquals(await committed(h.service, "g"), {});
  assertEquals(log.batches.length, 0);
  h.service.close();
});

Deno.test("what could not be committed is told to nobody before that was made good", async () => {
  const h = harness();
  const [log] = h.logs;
  await h.service.describe(["g"], 5);
  log.isReplicated = true;
  const commit = h.service.commitOffsets(commitRequest("g", { "t:0": 5 }));
  await settled();
  log.recommitsWith = ErrorCode.KAFKA_STORAGE_ERROR;
  log.commit(ErrorCode.KAFKA_STORAGE_ERROR);
  assertEquals(errorOf(await commit), ErrorCode.NOT_COORDINATOR);
  assertEquals((await h.service.describe(["g"], 5))[0].errorCode, ErrorCode.NOT_COORDINATOR);
  log.recommitsWith = ErrorCode.NONE;
  assertEquals(await committed(h.service, "g"), { "t:0": 5 });
  h.service.close();
});

Deno.test("what the process before may not have committed is told to nobody before that was made good", async () => {
  const before = harness();
  await before.service.commitOffsets(commitRequest("g", { "t:0": 5 }));
  before.logs[0].recommitsWith = ErrorCode.KAFKA_STORAGE_ERROR;
  const h = before.restarted();
  assertEquals((await h.service.describe(["g"], 5))[0].errorCode, ErrorCode.NOT_COORDINATOR);
  h.logs[0].recommitsWith = ErrorCode.NONE;
  assertEquals(await committed(h.service, "g"), { "t:0": 5 });
  h.service.close();
});

Deno.test("errors of the log are mapped as Kafka maps them", () => {
  const { COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, UNKNOWN_SERVER_ERROR } = ErrorCode;
  const expected: [error: number, told: number][] = [
    [ErrorCode.NETWORK_EXCEPTION, COORDINATOR_NOT_AVAILABLE],
    [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, COORDINATOR_NOT_AVAILABLE],
    [ErrorCode.NOT_ENOUGH_REPLICAS, COORDINATOR_NOT_AVAILABLE],
    [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, COORDINATOR_NOT_AVAILABLE],
    [ErrorCode.REQUEST_TIMED_OUT, COORDINATOR_NOT_AVAILABLE],
    [ErrorCode.NOT_LEADER_OR_FOLLOWER, NOT_COORDINATOR],
    [ErrorCode.KAFKA_STORAGE_ERROR, NOT_COORDINATOR],
    [ErrorCode.MESSAGE_TOO_LARGE, UNKNOWN_SERVER_ERROR],
    [ErrorCode.RECORD_LIST_TOO_LARGE, UNKNOWN_SERVER_ERROR],
    [ErrorCode.INVALID_FETCH_SIZE, UNKNOWN_SERVER_ERROR],
    [ErrorCode.COORDINATOR_NOT_AVAILABLE, COORDINATOR_NOT_AVAILABLE],
  ];
  for (const [error, told] of expected) assertEquals(coordinatorError(error), told, `${error}`);
});

Deno.test("followers stay held when the leader's assignment cannot be logged, and get it when it can", async () => {
  const h = harness();
  const joining = joinAsNew(h.service, "g");
  await settled();
  const other = joinAsNew(h.service, "g");
  await h.advance(0);
  const [a, b] = [await joining, await other];
  const waiting = h.service.sync(syncRequest("g", b));
  const assignments = { [a.memberId]: "A", [b.memberId]: "B" };
  h.logs[0].failWith = ErrorCode.NOT_LEADER_OR_FOLLOWER;
  const refused = await h.service.sync(syncRequest("g", a, assignments));
  assertEquals(refused.errorCode, ErrorCode.NOT_COORDINATOR);
  assertEquals(await ifSettled(waiting), "held");
  h.logs[0].failWith = ErrorCode.NONE;
  assertEquals((await h.service.sync(syncRequest("g", a, assignments))).errorCode, ErrorCode.NONE);
  assertEquals(new TextDecoder().decode((await waiting).assignment), "B");
  h.service.close();
});

Deno.test("a reply waits until its facts, and all before them, are committed", async () => {
  const h = harness();
  h.logs[0].isReplicated = true;
  const commit = h.service.commitOffsets(commitRequest("g", { "t:0": 5 }));
  const read = h.service.fetchOffsets({ groupId: "g", topics: null });
  assertEquals(await ifSettled(commit), "held");
  // The offset could still be taken back, so nobody is told of it.
  assertEquals(await ifSettled(read), "held");
  h.logs[0].commit();
  assertEquals(errorOf(await commit), ErrorCode.NONE);
  assertEquals((await read).topics[0].partitions[0].committedOffset, 5);
  assertEquals(await committed(h.service, "g"), { "t:0": 5 });
  h.service.close();
});

Deno.test("a commit that fails after the append gives the error to those who waited", async () => {
  const h = harness();
  h.logs[0].isReplicated = true;
  const commit = h.service.commitOffsets(commitRequest("g", { "t:0": 5 }));
  h.logs[0].commit(ErrorCode.REQUEST_TIMED_OUT);
  assertEquals(errorOf(await commit), ErrorCode.COORDINATOR_NOT_AVAILABLE);
  h.service.close();
});

Deno.test("resigning answers what is held with NOT_COORDINATOR, and the partition is loaded anew when asked", async () => {
  const h = harness();
  await h.service.commitOffsets(commitRequest("g", { "t:0": 5 }));
  const held = joinAsNew(h.service, "g");
  await settled();
  assertEquals(h.service.heldRequests, 1);
  h.service.resign(0);
  assertEquals((await held).errorCode, ErrorCode.NOT_COORDINATOR);
  assertEquals(h.timers.count, 0);
  assertEquals(await committed(h.service, "g"), { "t:0": 5 });
  h.service.close();
});

Deno.test("closing answers held joins, syncs and uncommitted commits, and refuses what comes later", async () => {
  const h = harness();
  const joining = joinAsNew(h.service, "g");
  await settled();
  const other = joinAsNew(h.service, "g");
  await h.advance(0);
  const [, b] = [await joining, await other];
  const sync = h.service.sync(syncRequest("g", b));
  const join = joinAsNew(h.service, "other");
  await settled();
  h.logs[0].isReplicated = true;
  const commit = h.service.commitOffsets(commitRequest("third", { "t:0": 5 }));
  h.service.close();
  assertEquals((await sync).errorCode, ErrorCode.NOT_COORDINATOR);
  assertEquals((await join).errorCode, ErrorCode.NOT_COORDINATOR);
  assertEquals(errorOf(await commit), ErrorCode.NOT_COORDINATOR);
  assertEquals(h.timers.count, 0);
  const late = await h.service.join(joinRequest("g", ""));
  assertEquals(late.errorCode, ErrorCode.COORDINATOR_NOT_AVAILABLE);
  assertEquals(
    (await h.service.list({ statesFilter: [], typesFilter: [] })).errorCode,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
  );
  // What the log commits now has nobody to tell.
  h.logs[0].commit();
  await settled();
});

Deno.test("a shard has one timer, however many groups and members it has", async () => {
  const h = harness();
  for (let i = 0; i < 20; i++) {
    const joining = joinAsNew(h.service, `g${i}`);
    await h.advance(0);
    const joined = await joining;
    await h.service.sync(syncRequest(`g${i}`, joined, { [joined.memberId]: "A" }));
    await h.service.heartbeat(heartbeatRequest(`g${i}`, joined));
    assertEquals(h.timers.count, 1);
  }
  h.service.close();
});

Deno.test("a deadline whose facts cannot be appended is tried again", async () => {
  const h = harness();
  const joining = joinAsNew(h.service, "g");
  await h.advance(0);
  const joined = await joining;
  await h.service.sync(syncRequest("g", joined, { [joined.memberId]: "A" }));
  h.logs[0].failWith = ErrorCode.NOT_ENOUGH_REPLICAS;
  await h.advance(12_000);
  assertEquals((await h.service.describe(["g"], 5))[0].groupState, "Stable");
  assert(h.problems.length >= 2 && h.problems.length <= 6, `${h.problems.length} attempts in 2 s`);
  h.logs[0].failWith = ErrorCode.NONE;
  await h.advance(500);
  assertEquals((await h.service.describe(["g"], 5))[0].groupState, "Empty");
  h.service.close();
});

/** Commits 1,200 offsets of `t`, whose deletion takes several batches: the append of its second gives an error. */
async function deletionThatFailsHalfWay(h: Harness): Promise<void> {
  const [log] = h.logs;
  for (let from = 0; from < 1200; from += 400) {
    const offsets = Array.from({ length: 400 }, (_, i) => [`t:${from + i}`, 5]);
    await h.service.commitOffsets(commitRequest("g", Object.fromEntries(offsets)));
  }
  const append = log.append.bind(log);
  let appends = 0;
  log.append = (...args) => {
    if (++appends === 2) log.failWith = ErrorCode.KAFKA_STORAGE_ERROR;
    return append(...args);
  };
}

Deno.test("what was logged of a divided decision that failed is told to nobody before it is committed", async () => {
  const h = harness();
  await deletionThatFailsHalfWay(h);
  h.logs[0].isReplicated = true;
  h.service.topicsDeleted(["t"]);
  const read = h.service.fetchOffsets({ groupId: "g", topics: null });
  assertEquals(await ifSettled(read), "held");
  h.logs[0].commit();
  assertEquals((await read).topics[0].partitions.length, 700);
  h.service.close();
});

Deno.test("the offsets of a deleted topic go once the log takes that, without another deletion", async () => {
  const h = harness();
  await deletionThatFailsHalfWay(h);
  h.service.topicsDeleted(["t"]);
  await h.advance(5_000);
  assert(h.problems.length >= 2 && h.problems.length <= 12, `${h.problems.length} attempts in 5 s`);
  h.logs[0].failWith = ErrorCode.NONE;
  await h.advance(500);
  assertEquals(await committed(h.service, "g"), {});
  h.service.close();
});

Deno.test("a topic's deletion that could not be logged takes no offset that was committed after it", async () => {
  const h = harness();
  await deletionThatFailsHalfWay(h);
  h.service.topicsDeleted(["t"]);
  h.logs[0].failWith = ErrorCode.NONE;
  // Of the topic that was made anew.
  await h.service.commitOffsets(commitRequest("g", { "t:7": 1 }));
  await h.advance(5_000);
  assertEquals(await committed(h.service, "g"), { "t:7": 1 });
  h.service.close();
});

Deno.test("a topic that is deleted while offsets are loaded takes them with it", async () => {
  const log = new MemoryLog();
  const before = serviceOver(() => log).service;
  await before.commitOffsets(commitRequest("g", { "t:0": 5, "u:0": 6 }));
  before.close();
  const { promise, resolve } = Promise.withResolvers<CoordinatorLog>();
  const { service } = serviceOver(() => promise);
  service.open(0);
  service.topicsDeleted(["t"]);
  resolve(log);
  await settled();
  assertEquals(await committed(service, "g"), { "u:0": 6 });
  service.close();
});

Deno.test("a divided decision goes out in batches that any log takes, however long the names are", async () => {
  const h = harness();
  const group = "g".repeat(10_000);
  const offsets = Array.from({ length: 100 }, (_, i) => [`t:${i}`, 5]);
  await h.service.commitOffsets(commitRequest(group, Object.fromEntries(offsets.slice(0, 50))));
  await h.service.commitOffsets(commitRequest(group, Object.fromEntries(offsets.slice(50))));
  const { length } = h.logs[0].batches;
  h.service.topicsDeleted(["t"]);
  const sizes = h.logs[0].batches.slice(length).map((batch) => batch.length);
  assertEquals(sizes.every((size) => size < 100_000), true, `${sizes}`);
  assertEquals(await committed(h.service, group), {});
  h.service.close();
});

Deno.test("records of a transaction count from its commit marker on", async () => {
  const fact = (partition: number) => {
    const { key, value } = encodeFact({
      type: "offsetCommit",
      key: { group: "g", topic: "t", partition },
      value: {
        offset: 7,
        leaderEpoch: -1,
        metadata: "",
        commitTimestamp: 1,
        expireTimestamp: -1,
        topicId: ZERO_UUID,
      },
    });
    return { key, value, timestamp: 1 };
  };
  const marker = (commit: boolean) => ({
    key: new Uint8Array([0, 0, 0, commit ? 1 : 0]),
    value: new Uint8Array([0, 0, 0, 0, 0, 0]),
    timestamp: 1,
  });
  const log = new MemoryLog();
  const transactional = (producerId: number, isControl = false) => ({
    producerId,
    producerEpoch: 0,
    baseSequence: isControl ? -1 : 0,
    isTransactional: true,
    isControl,
    baseOffset: log.nextOffset++,
  });
  log.batches.push(buildBatch([fact(0)], transactional(1)));
  log.batches.push(buildBatch([fact(1)], transactional(2)));
  log.batches.push(buildBatch([fact(2)], transactional(3)));
  log.batches.push(buildBatch([marker(true)], transactional(1, true)));
  log.batches.push(buildBatch([marker(false)], transactional(2, true)));
  const { service } = serviceOver(() => log);
  assertEquals(await committed(service, "g"), { "t:0": 7 });
  service.close();
});

/** A group of one member, with its assignment. */
async function stable(h: Harness, group: string) {
  const joining = joinAsNew(h.service, group);
  await h.advance(0);
  const joined = await joining;
  await h.service.sync(syncRequest(group, joined, { [joined.memberId]: "all" }));
  return joined;
}

Deno.test("members that wrote while the process stood still are heard before sessions end; who is silent is out", async () => {
  const h = harness();
  const here = await stable(h, "here");
  const gone = await stable(h, "gone");
  // Stopped for longer than the session timeout; on waking, the timer fires before anything is read.
  h.clock.advance(60_000);
  h.timers.advance(0);
  assertEquals((await h.service.heartbeat(heartbeatRequest("here", here))).errorCode, ErrorCode.NONE);
  await h.advance(2999);
  const states = async () => (await h.service.describe(["here", "gone"], 5)).map((group) => group.groupState);
  assertEquals(await states(), ["Stable", "Stable"]);
  await h.advance(1);
  assertEquals(await states(), ["Stable", "Empty"]);
  assertEquals(
    (await h.service.heartbeat(heartbeatRequest("gone", gone))).errorCode,
    ErrorCode.UNKNOWN_MEMBER_ID,
  );
  // The clock went on as usual since then: no more patience than the session has.
  await h.advance(7000);
  assertEquals(await states(), ["Empty", "Empty"]);
  h.service.close();
});

Deno.test("a timer that is a little late gives no member more time", async () => {
  const h = harness();
  const joined = await stable(h, "g");
  h.clock.advance(10_900);
  h.timers.advance(0);
  await settled();
  assertEquals(
    (await h.service.heartbeat(heartbeatRequest("g", joined))).errorCode,
    ErrorCode.UNKNOWN_MEMBER_ID,
  );
  h.service.close();
});
