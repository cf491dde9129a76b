/** Fetch sessions, case by case of KIP-227. What is not obvious there was asked of Kafka 3.9 and 4.4. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import {
  type FetchAnswer,
  type FetchedPartition,
  FetchSessions,
  type SessionFetch,
  type SessionRequest,
} from "../../src/replication/fetch_sessions.ts";

const ID = "Ijc7BQyqR_STSj4ph1otqA";
const MINUTE = 60_000;

/** Sessions whose ids are 1, 2, 3 and so on. */
function sessionsOf(max: number): FetchSessions {
  let next = 0;
  return new FetchSessions(max, () => next++);
}

/** A partition of the topic t. */
function wanted(partition: number, fields: Partial<FetchedPartition> = {}): FetchedPartition {
  return {
    topic: "t",
    topicId: ZERO_UUID,
    partition,
    currentLeaderEpoch: -1,
    fetchOffset: 0,
    lastFetchedEpoch: -1,
    partitionMaxBytes: 1000,
    ...fields,
  };
}

/** A request for partitions of the topic t. */
function request(
  sessionId: number,
  sessionEpoch: number,
  partitions: number[] = [],
  fields: Partial<SessionRequest> = {},
): SessionRequest {
  return {
    sessionId,
    sessionEpoch,
    usesTopicIds: false,
    partitions: partitions.map((index) => wanted(index)),
    forgotten: [],
    ...fields,
  };
}

function forgotten(...partitions: number[]) {
  return partitions.map((partition) => ({ topic: "t", topicId: ZERO_UUID, partition }));
}

/** What there is to say of a partition. */
function answer(fields: Partial<FetchAnswer> = {}): FetchAnswer {
  return {
    errorCode: ErrorCode.NONE,
    highWatermark: 10,
    lastStableOffset: 10,
    logStartOffset: 0,
    hasData: false,
    diverges: false,
    ...fields,
  };
}

const indexes = (fetch: SessionFetch) => fetch.partitions.map(({ partition }) => partition);

/** What is wanted of them, without what the session knows. */
function plain(partitions: readonly FetchedPartition[]): FetchedPartition[] {
  return partitions.map((p) => {
    const {
      topic,
      topicId,
      partition,
      currentLeaderEpoch,
      fetchOffset,
      lastFetchedEpoch,
      partitionMaxBytes,
    } = p;
    return {
      topic,
      topicId,
      partition,
      currentLeaderEpoch,
      fetchOffset,
      lastFetchedEpoch,
      partitionMaxBytes,
    };
  });
}

/** The partitions that are in the response, when each is answered as `answers` says. */
function respond(fetch: SessionFetch, answers: Record<number, Partial<FetchAnswer>> = {}): number[] {
  return fetch.partitions.filter((p) => fetch.include(p, answer(answers[p.partition]))).map((p) =>
    p.partition
  );
}

/** A session of these partitions whose first, full response was given. */
function opened(sessions: FetchSessions, partitions: number[], now = 0): number {
  const fetch = sessions.begin(request(0, 0, partitions), now);
  respond(fetch);
  return fetch.sessionId;
}

// ---- Opening and closing

Deno.test("a fetch with epoch 0 opens a session and is answered in full", () => {
  const sessions = sessionsOf(10);
  const fetch = sessions.begin(request(0, 0, [0, 1]), 0);
  assertEquals([fetch.errorCode, fetch.sessionId, indexes(fetch)], [ErrorCode.NONE, 1, [0, 1]]);
  assertEquals(respond(fetch), [0, 1]);
  assertEquals(sessions.count, 1);
});

Deno.test("a fetch with epoch -1 is answered in full without a session", () => {
  const sessions = sessionsOf(10);
  const fetch = sessions.begin(request(0, -1, [0, 1]), 0);
  assertEquals([fetch.errorCode, fetch.sessionId, indexes(fetch)], [ErrorCode.NONE, 0, [0, 1]]);
  assertEquals(respond(fetch), [0, 1]);
  assertEquals(sessions.count, 0);
});

Deno.test("a fetch with epoch -1 closes the session that it names", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0]);
  const last = sessions.begin(request(id, -1, [0]), 0);
  assertEquals([last.sessionId, indexes(last), sessions.count], [0, [0], 0]);
  assertEquals(sessions.begin(request(id, 1), 0).errorCode, ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
});

Deno.test("a fetch with epoch 0 closes the session that it names and opens another", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0]);
  const next = sessions.begin(request(id, 0, [0]), 0);
  assert(next.sessionId !== id && next.sessionId !== 0);
  assertEquals(sessions.count, 1);
  assertEquals(sessions.begin(request(id, 1), 0).errorCode, ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
});

Deno.test("a fetch with epoch 0 and no partitions opens an empty session, which may grow", () => {
  const sessions = sessionsOf(10);
  const { sessionId } = sessions.begin(request(0, 0), 0);
  assertEquals(sessionId, 1);
  assertEquals(respond(sessions.begin(request(sessionId, 1, [3]), 0)), [3]);
});

Deno.test("a session id that is taken is not given out again", () => {
  const numbers = [5, 5, 5, 6];
  const sessions = new FetchSessions(10, () => numbers.shift()!);
  assertEquals([opened(sessions, [0]), opened(sessions, [0])], [6, 7]);
});

// ---- Refusals

Deno.test("a session that does not exist is FETCH_SESSION_ID_NOT_FOUND", () => {
  const fetch = sessionsOf(10).begin(request(77, 1, [0]), 0);
  assertEquals([fetch.errorCode, fetch.sessionId, indexes(fetch)], [
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    0,
    [],
  ]);
});

Deno.test("an epoch that is not the next one is refused, and the session goes on with the right one", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0]);
  for (const epoch of [2, 7, -2, 2 ** 31 - 1]) {
    assertEquals(
      sessions.begin(request(id, epoch), 0).errorCode,
      ErrorCode.INVALID_FETCH_SESSION_EPOCH,
      `${epoch}`,
    );
  }
  assertEquals(sessions.begin(request(id, 1), 0).errorCode, ErrorCode.NONE);
  assertEquals(sessions.begin(request(id, 1), 0).errorCode, ErrorCode.INVALID_FETCH_SESSION_EPOCH, "used up");
  assertEquals(sessions.begin(request(id, 2), 0).errorCode, ErrorCode.NONE);
});

Deno.test("a session of names is not continued with ids, nor the other way round; a wrong epoch is told first", () => {
  const sessions = sessionsOf(10);
  const byName = opened(sessions, [0]);
  const byId = sessions.begin(request(0, 0, [0], { usesTopicIds: true }), 0).sessionId;
  const error = (id: number, epoch: number, usesTopicIds: boolean) =>
    sessions.begin(request(id, epoch, [], { usesTopicIds }), 0).errorCode;
  assertEquals(error(byName, 1, true), ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR);
  assertEquals(error(byId, 1, false), ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR);
  assertEquals(error(byName, 9, true), ErrorCode.INVALID_FETCH_SESSION_EPOCH);
  assertEquals([error(byName, 1, false), error(byId, 1, true)], [ErrorCode.NONE, ErrorCode.NONE]);
});

Deno.test("a refused fetch changes nothing in its session", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1]);
  sessions.begin(request(id, 5, [2], { forgotten: forgotten(0) }), 0);
  assertEquals(indexes(sessions.begin(request(id, 1), 0)), [0, 1]);
});

Deno.test("the epoch after the largest is 1", () => {
  const sessions = sessionsOf(1);
  const id = opened(sessions, [0]);
  // No client gets there by counting in a test's time.
  const inside = sessions as unknown as { sessions: Map<number, { epoch: number }> };
  inside.sessions.get(id)!.epoch = 2 ** 31 - 1;
  assertEquals(sessions.begin(request(id, 2 ** 31 - 1), 0).errorCode, ErrorCode.NONE);
  assertEquals(sessions.begin(request(id, 1), 0).errorCode, ErrorCode.NONE);
});

// ---- What a request changes

Deno.test("an incremental fetch reads all partitions of the session, though it names none", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1, 2]);
  const fetch = sessions.begin(request(id, 1), 0);
  assertEquals([indexes(fetch), fetch.sessionId], [[0, 1, 2], id]);
});

Deno.test("an incremental fetch may add partitions, change offsets and forget partitions", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1, 2]);
  const change = request(id, 1, [], {
    partitions: [wanted(1, { fetchOffset: 50, partitionMaxBytes: 5 }), wanted(9)],
    forgotten: forgotten(0, 77),
  });
  const fetch = sessions.begin(change, 0);
  assertEquals(plain(fetch.partitions), [
    wanted(1, { fetchOffset: 50, partitionMaxBytes: 5 }),
    wanted(2),
    wanted(9),
  ]);
  assertEquals(indexes(sessions.begin(request(id, 2), 0)), [1, 2, 9]);
});

Deno.test("a partition that is added and forgotten in one request is forgotten", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1]);
  assertEquals(indexes(sessions.begin(request(id, 1, [1], { forgotten: forgotten(1) }), 0)), [0]);
});

Deno.test("a session that loses its last partition is closed, and the answer says so", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1]);
  const fetch = sessions.begin(request(id, 1, [], { forgotten: forgotten(0, 1) }), 0);
  assertEquals([fetch.errorCode, fetch.sessionId, indexes(fetch), sessions.count], [
    ErrorCode.NONE,
    0,
    [],
    0,
  ]);
  assertEquals(sessions.begin(request(id, 2), 0).errorCode, ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
});

Deno.test("partitions of a session with ids are told apart by id, whatever their topics are called", () => {
  const sessions = sessionsOf(10);
  const other = "AAAAAAAAAAAAAAAAAAAABA";
  const partitions = [wanted(0, { topicId: ID }), wanted(0, { topicId: other })];
  const { sessionId } = sessions.begin(request(0, 0, [], { usesTopicIds: true, partitions }), 0);
  const drop = { usesTopicIds: true, forgotten: [{ topic: "", topicId: ID, partition: 0 }] };
  const fetch = sessions.begin(request(sessionId, 1, [], drop), 0);
  assertEquals(fetch.partitions.map(({ topicId }) => topicId), [other]);
});

// ---- What a response says

Deno.test("an incremental response leaves out what is as it was", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1, 2]);
  assertEquals(respond(sessions.begin(request(id, 1), 0)), []);
});

for (
  const [what, change] of [
    ["data", { hasData: true }],
    ["another high watermark", { highWatermark: 11 }],
    ["another last stable offset", { lastStableOffset: 11 }],
    ["another log start", { logStartOffset: 1 }],
  ] as const
) {
  Deno.test(`an incremental response has a partition with ${what}, once`, () => {
    const sessions = sessionsOf(10);
    const id = opened(sessions, [0, 1]);
    assertEquals(respond(sessions.begin(request(id, 1), 0), { 1: change }), [1]);
    const same = { ...change, hasData: false };
    assertEquals(respond(sessions.begin(request(id, 2), 0), { 1: same }), []);
  });
}

Deno.test("an incremental response has an error as long as it lasts, and the partition once when it is over", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1]);
  const error = {
    errorCode: ErrorCode.OFFSET_OUT_OF_RANGE,
    highWatermark: -1,
    lastStableOffset: -1,
    logStartOffset: -1,
  };
  assertEquals(respond(sessions.begin(request(id, 1), 0), { 0: error }), [0]);
  assertEquals(respond(sessions.begin(request(id, 2), 0), { 0: error }), [0]);
  assertEquals(respond(sessions.begin(request(id, 3), 0)), [0]);
  assertEquals(respond(sessions.begin(request(id, 4), 0)), []);
});

Deno.test("an incremental response has a diverging epoch each time, though nothing else changed", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1]);
  assertEquals(respond(sessions.begin(request(id, 1), 0), { 1: { diverges: true } }), [1]);
  assertEquals(respond(sessions.begin(request(id, 2), 0), { 1: { diverges: true } }), [1]);
});

Deno.test("an incremental response has partitions that are new in the session", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0]);
  assertEquals(respond(sessions.begin(request(id, 1, [5]), 0)), [5]);
  assertEquals(respond(sessions.begin(request(id, 2), 0)), []);
});

Deno.test("a partition whose offset changes is not new: it is told only when there is news", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0]);
  assertEquals(respond(sessions.begin(request(id, 1, [0]), 0)), []);
});

Deno.test("partitions that had data go to the end, so that a full response starves nobody", () => {
  const sessions = sessionsOf(10);
  const fetch = sessions.begin(request(0, 0, [0, 1, 2]), 0);
  respond(fetch, { 0: { hasData: true } });
  const id = fetch.sessionId;
  const orders: number[][] = [];
  for (let epoch = 1; epoch <= 4; epoch++) {
    const next = sessions.begin(request(id, epoch), 0);
    orders.push(indexes(next));
    // There is room for one partition, the first.
    respond(next, { [next.partitions[0].partition]: { hasData: true } });
  }
  assertEquals(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]], "the full response does not count");
});

// ---- A fetch that is held while its session changes

Deno.test("a held fetch does not bring back a partition that was forgotten meanwhile", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1]);
  const held = sessions.begin(request(id, 1), 0);
  sessions.begin(request(id, 2, [], { forgotten: forgotten(1) }), 0);
  assertEquals(respond(held, { 0: { hasData: true }, 1: { hasData: true } }), [0]);
  assertEquals(indexes(sessions.begin(request(id, 3), 0)), [0]);
});

Deno.test("a held fetch keeps an offset that was changed meanwhile", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0]);
  const held = sessions.begin(request(id, 1), 0);
  sessions.begin(request(id, 2, [], { partitions: [wanted(0, { fetchOffset: 99 })] }), 0);
  respond(held, { 0: { hasData: true } });
  assertEquals(sessions.begin(request(id, 3), 0).partitions.map((p) => p.fetchOffset), [99]);
});

Deno.test("a held fetch whose session was evicted is answered all the same", () => {
  const sessions = sessionsOf(1);
  const id = opened(sessions, [0]);
  const held = sessions.begin(request(id, 1), 0);
  opened(sessions, [0], 3 * MINUTE);
  assertEquals(respond(held, { 0: { hasData: true } }), [0]);
  assertEquals(sessions.begin(request(id, 2), 3 * MINUTE).errorCode, ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
});

// ---- The bound

Deno.test("a full cache serves without a session while all sessions are young", () => {
  const sessions = sessionsOf(2);
  opened(sessions, [0]);
  opened(sessions, [0]);
  const fetch = sessions.begin(request(0, 0, [0, 1, 2]), 2 * MINUTE);
  assertEquals([fetch.errorCode, fetch.sessionId, respond(fetch), sessions.count], [ErrorCode.NONE, 0, [
    0,
    1,
    2,
  ], 2]);
});

Deno.test("a full cache gives the place of the session that was quiet longest, after two minutes", () => {
  const sessions = sessionsOf(3);
  const [a, b, c] = [opened(sessions, [0], 0), opened(sessions, [0], 1), opened(sessions, [0], 2)];
  // Used again: b is the one that was quiet longest.
  respond(sessions.begin(request(a, 1), MINUTE));
  assertEquals(opened(sessions, [0], 2 * MINUTE + 1), 0, "not longer than two minutes yet");
  const d = opened(sessions, [0], 2 * MINUTE + 2);
  assert(d !== 0);
  const error = (id: number, epoch: number) => sessions.begin(request(id, epoch), 2 * MINUTE + 2).errorCode;
  assertEquals(error(b, 1), ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
  assertEquals([error(a, 2), error(c, 1), error(d, 1)], [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE]);
});

Deno.test("a full cache gives a larger session the place of the smallest that is older than two minutes", () => {
  const sessions = sessionsOf(3);
  const large = opened(sessions, [0, 1, 2, 3], 0), small = opened(sessions, [0, 1], 0);
  const now = 2 * MINUTE + 1;
  const young = opened(sessions, [0], now);
  // All are in use, so none is quiet.
  for (const id of [large, small]) respond(sessions.begin(request(id, 1), now));
  assertEquals(opened(sessions, [0, 1], now), 0, "not larger than the smallest of the old ones");
  assert(opened(sessions, [0, 1, 2], now) !== 0);
  const error = (id: number, epoch: number) => sessions.begin(request(id, epoch), now).errorCode;
  assertEquals(error(small, 2), ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
  assertEquals(
    [error(large, 2), error(young, 1)],
    [ErrorCode.NONE, ErrorCode.NONE],
    "the young one keeps its place",
  );
});

Deno.test("a cache without places serves everybody without a session", () => {
  const sessions = sessionsOf(0);
  assertEquals([opened(sessions, [0]), sessions.count], [0, 0]);
});

Deno.test("sessions never exceed their bound, whatever clients do", () => {
  const sessions = sessionsOf(5);
  for (let i = 0; i < 1000; i++) {
    sessions.begin(request(i % 7, [0, 1, -1][i % 3], [i % 10]), i * 30_000);
    assert(sessions.count <= 5);
  }
});

/** Sessions whose partitions may take so much, apart from each session's topic. */
function smallSessions(partitions: number, topics: number): FetchSessions {
  let next = 0;
  return new FetchSessions(100, () => next++, 200 * partitions + 502 * topics);
}

Deno.test("sessions never take more memory than they may, whatever clients do", () => {
  const prng = new Prng(1);
  const sessions = smallSessions(40, 2);
  const ids: { id: number; epoch: number }[] = [];
  for (let i = 0; i < 3000; i++) {
    const some = Array.from({ length: prng.int(30) }, () => prng.int(50));
    const known = prng.chance(0.6) && ids.length > 0 ? prng.pick(ids) : undefined;
    const fields = { forgotten: forgotten(...some.slice(0, prng.int(5))) };
    const fetch = sessions.begin(request(known?.id ?? 0, known?.epoch ?? 0, some, fields), i * 1000);
    if (known !== undefined) known.epoch++;
    if (fetch.sessionId !== 0 && known === undefined) ids.push({ id: fetch.sessionId, epoch: 1 });
    respond(fetch, { [prng.int(50)]: { hasData: true } });
    assert(sessions.bytes <= 40 * 200 + 2 * 502, `${sessions.bytes} bytes`);
    const inside = sessions as unknown as { sessions: Map<number, { partitions: { bytes: number } }> };
    const sum = [...inside.sessions.values()].reduce((bytes, session) => bytes + session.partitions.bytes, 0);
    assertEquals(sessions.bytes, sum);
  }
});

Deno.test("a session that is larger than all memory for sessions is not kept, and its client served", () => {
  const sessions = smallSessions(3, 1);
  const fetch = sessions.begin(request(0, 0, [0, 1, 2, 3]), 0);
  assertEquals([fetch.errorCode, fetch.sessionId, respond(fetch), sessions.bytes], [0, 0, [0, 1, 2, 3], 0]);
});

Deno.test("the largest session makes way for a smaller one when memory is short, not for a larger one", () => {
  const sessions = smallSessions(10, 3);
  const [large, small] = [opened(sessions, [0, 1, 2, 3, 4, 5]), opened(sessions, [0, 1, 2])];
  assertEquals(opened(sessions, [0, 1, 2, 3, 4, 5, 6]), 0);
  assert(opened(sessions, [0, 1]) !== 0);
  assertEquals(sessions.begin(request(large, 1), 0).errorCode, ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
  assertEquals(sessions.begin(request(small, 1), 0).errorCode, ErrorCode.NONE);
});

Deno.test("a session that grows beyond the memory there is has to be opened anew", () => {
  const sessions = smallSessions(10, 2);
  const [one, other] = [opened(sessions, [0, 1, 2, 3, 4]), opened(sessions, [0, 1, 2, 3])];
  assertEquals(sessions.begin(request(other, 1, [7]), 0).errorCode, ErrorCode.NONE);
  assertEquals(sessions.begin(request(other, 2, [8]), 0).errorCode, ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
  assertEquals([sessions.begin(request(one, 1), 0).errorCode, sessions.count], [ErrorCode.NONE, 1]);
});

Deno.test("long names of topics count towards the memory of sessions", () => {
  const sessions = smallSessions(10, 3);
  const partitions = [wanted(0, { topic: "t".repeat(2000) })];
  assertEquals(sessions.begin(request(0, 0, [], { partitions }), 0).sessionId, 0);
});

Deno.test("a session gives back what it took when its partitions are forgotten and when it is closed", () => {
  const sessions = sessionsOf(10);
  const id = opened(sessions, [0, 1]);
  const before = sessions.bytes;
  const other = wanted(5, { topic: "u" });
  respond(sessions.begin(request(id, 1, [], { partitions: [other] }), 0));
  assert(sessions.bytes > before);
  respond(sessions.begin(request(id, 2, [], { forgotten: [other] }), 0));
  assertEquals(sessions.bytes, before);
  sessions.begin(request(id, -1), 0);
  assertEquals(sessions.bytes, 0);
});

Deno.test("partitions keep the order of a list from which they are taken, changed and moved to the end at will", () => {
  const sessions = sessionsOf(10), prng = new Prng(7);
  let expected = [0, 1, 2, 3, 4, 5];
  const id = opened(sessions, expected);
  for (let epoch = 1; epoch < 500; epoch++) {
    const change = Array.from({ length: prng.int(4) }, () => prng.int(10));
    const gone = Array.from({ length: prng.int(3) }, () => prng.int(10)).filter((p) => p !== expected[0]);
    const fetch = sessions.begin(request(id, epoch, change, { forgotten: forgotten(...gone) }), 0);
    expected = [...new Set([...expected, ...change])].filter((p) => !gone.includes(p));
    assertEquals(indexes(fetch), expected, `epoch ${epoch}`);
    const withData = expected.filter(() => prng.chance(0.3));
    respond(fetch, Object.fromEntries(withData.map((p) => [p, { hasData: true }])));
    expected = [...expected.filter((p) => !withData.includes(p)), ...withData];
  }
});
