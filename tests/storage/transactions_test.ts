/** Transactions in one log: what is stable, what was aborted, and who may write. */
import { assertEquals } from "@std/assert/equals";
import { Allowance } from "../../src/codec/allowance.ts";
import type { BatchOptions } from "../../src/codec/batch.ts";
import { buildEndMarker } from "../../src/codec/end_marker.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import type { Files } from "../../src/storage/files/files.ts";
import { HandlePool, PooledFile } from "../../src/storage/files/handles.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { LogConfig } from "../../src/storage/log/config.ts";
import type { Log } from "../../src/storage/log/log.ts";
import type { Verification } from "../../src/storage/producers/producer_state.ts";
import { readTransactionIndex, TransactionIndex } from "../../src/storage/segment/transaction_index.ts";
import { append, batch, contentOf, damage, mustAppend, openLog, START } from "./helpers.ts";

const LIMITS = { maxBytes: 1000, maxOffset: Infinity, minOneMessage: true };

const VERIFIED: Verification = { lowestSequence: Infinity, beginsAtZero: false };
const { NONE, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, OUT_OF_ORDER_SEQUENCE_NUMBER } = ErrorCode;
const { TRANSACTION_COORDINATOR_FENCED } = ErrorCode;

/** A log whose high watermark follows its end, as that of a partition alone does. */
async function transactionalLog<F extends Files = MemoryFiles>(
  config: Partial<LogConfig> = {},
  files: F = new MemoryFiles(() => START) as Files as F,
) {
  const setup = await openLog(config, files);
  const sequences = new Map<number, number>();
  const { log } = setup;
  const committed = <T>(result: T): T => {
    log.highWatermark = log.nextOffset;
    return result;
  };
  return {
    ...setup,
    files,
    /** Appends `count` records of a producer's transaction. */
    write: (producerId: number, count = 1, o: BatchOptions = {}) => {
      const baseSequence = sequences.get(producerId) ?? 0;
      sequences.set(producerId, baseSequence + count);
      const bytes = batch(count, { producerId, producerEpoch: 0, baseSequence, isTransactional: true, ...o });
      return committed(mustAppend(log, bytes, { verification: VERIFIED }));
    },
    abort: (producerId: number) => committed(mustAppend(log, ...marker(producerId, false))),
    commit: (producerId: number) => committed(mustAppend(log, ...marker(producerId, true))),
    plain: (count = 1) => committed(mustAppend(log, batch(count))),
  };
}

function marker(
  producerId: number,
  isCommit: boolean,
  { producerEpoch = 0, coordinatorEpoch = 0, transactionVersion = 0 } = {},
) {
  const bytes = buildEndMarker({ producerId, producerEpoch, isCommit, coordinatorEpoch }, START);
  return [bytes, { origin: "coordinator", transactionVersion }] as const;
}

const offsetsOf = (log: Log, from = 0, to = log.nextOffset) =>
  log.abortedTransactions(from, to).map(({ producerId, firstOffset }) => [producerId, firstOffset]);

Deno.test("Log.lastStableOffset is the first offset of the oldest open transaction", async () => {
  const { log, write, commit, abort, plain } = await transactionalLog();
  plain(3);
  assertEquals(log.lastStableOffset, 3);
  write(1);
  write(2);
  write(1);
  plain();
  assertEquals(log.lastStableOffset, 3);
  commit(2);
  assertEquals(log.lastStableOffset, 3);
  write(2);
  abort(1);
  assertEquals(log.lastStableOffset, 8);
  commit(2);
  assertEquals(log.lastStableOffset, log.nextOffset);
});

Deno.test("Log.lastStableOffset waits for a marker to be committed", async () => {
  const { log, write } = await transactionalLog();
  write(1, 2);
  mustAppend(log, ...marker(1, true));
  mustAppend(log, batch(2));
  assertEquals([log.highWatermark, log.lastStableOffset], [2, 0]);
  log.highWatermark = 3;
  assertEquals(log.lastStableOffset, 3);
});

Deno.test("Log.lastStableOffset costs the same with ten thousand open transactions", async () => {
  const { log, write, commit } = await transactionalLog();
  for (let id = 0; id < 10_000; id++) write(id);
  const began = performance.now();
  for (let asked = 0; asked < 100_000; asked++) assertEquals(log.lastStableOffset === 0, true);
  const askedMs = performance.now() - began;
  assertEquals(askedMs < 2000, true, `${askedMs} ms for 100,000 calls`);
  for (let id = 9_999; id > 0; id--) commit(id);
  assertEquals(log.lastStableOffset, 0);
  commit(0);
  assertEquals(log.lastStableOffset, log.nextOffset);
});

Deno.test("Log.lastStableOffset follows the log's start past an open transaction", async () => {
  const { log, write } = await transactionalLog();
  write(1, 5);
  log.deleteRecordsBefore(3);
  assertEquals(log.lastStableOffset, 3);
});

Deno.test("Log.append() takes a transactional batch that is verified, and those after it until the marker", async () => {
  const { log, write, commit } = await transactionalLog();
  const next = (baseSequence: number) =>
    append(log, batch(1, { producerId: 1, producerEpoch: 0, baseSequence, isTransactional: true }));
  assertEquals(next(0).errorCode, INVALID_TXN_STATE);
  write(1);
  assertEquals(next(1).errorCode, NONE);
  commit(1);
  assertEquals(next(1).duplicate, true, "what was written already is known before anything else");
  assertEquals(next(2).errorCode, INVALID_TXN_STATE);
});

for (
  const [what, verification, baseSequence, errorCode] of [
    ["takes the lowest sequence", { lowestSequence: 3, beginsAtZero: false }, 3, NONE],
    [
      "refuses one above the lowest",
      { lowestSequence: 3, beginsAtZero: false },
      4,
      OUT_OF_ORDER_SEQUENCE_NUMBER,
    ],
    [
      "refuses a beginning elsewhere than at 0",
      { lowestSequence: 3, beginsAtZero: true },
      3,
      OUT_OF_ORDER_SEQUENCE_NUMBER,
    ],
  ] as const
) {
  Deno.test(`Log.append() of a producer not known, in a transaction, ${what} that came to be verified`, async () => {
    const { log } = await openLog();
    const bytes = batch(1, { producerId: 1, producerEpoch: 0, baseSequence, isTransactional: true });
    assertEquals(append(log, bytes, { verification }).errorCode, errorCode);
  });
}

for (
  const [what, o, errorCode] of [
    ["the producer's epoch", {}, NONE],
    ["a higher epoch", { producerEpoch: 3, transactionVersion: 2 }, NONE],
    ["an older producer epoch", { producerEpoch: 1 }, INVALID_PRODUCER_EPOCH],
    [
      "the epoch of a transaction that should have raised it",
      { transactionVersion: 2 },
      INVALID_PRODUCER_EPOCH,
    ],
    ["an older coordinator epoch", { coordinatorEpoch: 4 }, TRANSACTION_COORDINATOR_FENCED],
    [
      "older epochs of both",
      { producerEpoch: 1, coordinatorEpoch: 4 },
      INVALID_PRODUCER_EPOCH,
    ],
  ] as [string, { producerEpoch?: number; coordinatorEpoch?: number; transactionVersion?: number }, number][]
) {
  Deno.test(`Log.append() judges a marker of ${what}`, async () => {
    const { log, write } = await transactionalLog();
    const epochs = { producerEpoch: 2, coordinatorEpoch: 5 };
    mustAppend(log, ...marker(1, true, epochs));
    write(1, 1, { producerEpoch: 2 });
    assertEquals(append(log, ...marker(1, true, { ...epochs, ...o })).errorCode, errorCode);
  });
}

Deno.test("a marker without a transaction changes the producer's entry, and nothing for readers", async () => {
  const { log, abort } = await transactionalLog();
  abort(1);
  assertEquals([log.lastStableOffset, offsetsOf(log)], [1, []]);
  const [{ producerEpoch, coordinatorEpoch, batches }] = log.activeProducers();
  assertEquals([producerEpoch, coordinatorEpoch, batches], [0, 0, []]);
});

Deno.test("the transaction index has each aborted transaction with what was stable when it ended", async () => {
  const { log, files, write, commit, abort, plain } = await transactionalLog();
  write(1); // 0
  write(2); // 1
  write(3); // 2
  commit(3); // 3
  assertEquals(files.stat(`${log.path}/00000000000000000000.txnindex`), null);
  abort(2); // 4, while that of 1 is open
  plain(); // 5
  abort(1); // 6
  assertEquals(readTransactionIndex(contentOf(files, `${log.path}/00000000000000000000.txnindex`)), [
    { producerId: 2, firstOffset: 1, lastOffset: 4, lastStableOffset: 0 },
    { producerId: 1, firstOffset: 0, lastOffset: 6, lastStableOffset: 7 },
  ]);
});

/** A log of small segments with aborted transactions, and a list of them. */
async function abortedLog(files = new MemoryFiles(() => START)) {
  const made = await transactionalLog({ segmentBytes: 400, indexIntervalBytes: 100 }, files);
  const { write, abort, commit } = made;
  const aborted: { producerId: number; firstOffset: number; lastOffset: number }[] = [];
  const begun = new Map<number, number>();
  for (let i = 0; i < 60; i++) {
    const producerId = i % 3;
    const offset = write(producerId);
    if (!begun.has(producerId)) begun.set(producerId, offset);
    if (i % 4 !== 3) continue;
    if (i % 8 === 3) {
      aborted.push({ producerId, firstOffset: begun.get(producerId)!, lastOffset: abort(producerId) });
    } else commit(producerId);
    begun.delete(producerId);
  }
  return { ...made, aborted };
}

Deno.test("Log.abortedTransactions() names all that a reader needs, over several segments", async () => {
  const { log, aborted } = await abortedLog();
  assertEquals(log.segmentBaseOffsets.length > 5, true);
  for (let from = 0; from < log.nextOffset; from++) {
    for (let to = from + 1; to <= log.nextOffset; to += 7) {
      const found = log.abortedTransactions(from, to);
      const needed = aborted.filter(({ firstOffset, lastOffset }) => lastOffset >= from && firstOffset < to);
      const missing = needed.filter(({ lastOffset }) => !found.some((one) => one.lastOffset === lastOffset));
      assertEquals(missing, [], `from ${from} to ${to}`);
      // More may be named than is needed, but nothing that was not aborted, nor what ended before.
      assertEquals(found.every(({ lastOffset }) => lastOffset >= from), true);
    }
  }
  assertEquals(
    log.abortedTransactions(0, log.nextOffset).map(({ lastOffset }) => lastOffset),
    aborted.map((one) => one.lastOffset),
  );
});

for (const how of ["closed", "killed"] as const) {
  Deno.test(`what is open and what was aborted is known after the process was ${how}`, async () => {
    const { log, files, manager, aborted, write } = await abortedLog();
    write(7);
    const [stable, end] = [log.lastStableOffset, log.nextOffset];
    const index = indexes(files, log);
    if (how === "closed") await manager.close();
    const left = how === "closed" ? files : files.crashed("killed");
    const again = await transactionalLog({ segmentBytes: 400, indexIntervalBytes: 100 }, left);
    const after = again.log;
    after.highWatermark = after.nextOffset;
    assertEquals([after.nextOffset, after.lastStableOffset], [end, stable]);
    assertEquals(
      after.abortedTransactions(0, end).map(({ lastOffset }) => lastOffset),
      aborted.map((one) => one.lastOffset),
    );
    assertEquals(indexes(left, after), index);
  });
}

/** The transaction indexes by their segments. */
function indexes(files: Files, log: Log) {
  return files.list(log.path).filter(({ name }) => name.endsWith(".txnindex"))
    .map(({ name }) => [name, readTransactionIndex(contentOf(files, `${log.path}/${name}`))])
    .sort();
}

Deno.test("Log.truncateTo() takes aborted transactions back, and opens those again whose marker is gone", async () => {
  const { log, files, write, abort } = await transactionalLog();
  write(1); // 0
  abort(1); // 1
  write(1); // 2
  abort(1); // 3
  log.truncateTo(3);
  log.highWatermark = log.nextOffset;
  assertEquals([log.lastStableOffset, offsetsOf(log)], [2, [[1, 0]]]);
  log.truncateTo(1);
  log.highWatermark = log.nextOffset;
  assertEquals([log.lastStableOffset, offsetsOf(log)], [0, []]);
  assertEquals(files.stat(`${log.path}/00000000000000000000.txnindex`), null, "an empty one is none");
});

const SMALL = { segmentBytes: 400, indexIntervalBytes: 100 };

/** What may have become of a segment's index of transactions while the broker was stopped. `path` is without ending. */
const damages: Record<string, (files: Files, path: string) => void> = {
  "has an entry that cannot be": (files, path) => damage(files, `${path}.txnindex`, 1, new Uint8Array([9])),
  "ends inside of an entry": (files, path) => cut(files, `${path}.txnindex`, 10),
  "is empty": (files, path) => cut(files, `${path}.txnindex`, Infinity),
  "is gone with the other indexes": (files, path) => {
    for (const ending of ["txnindex", "index", "timeindex"]) files.remove(`${path}.${ending}`);
  },
};

function cut(files: Files, path: string, bytes: number): void {
  const handle = files.open(path, false);
  handle.truncate(Math.max(0, handle.size() - bytes));
  handle.close();
}

for (const [what, doDamage] of Object.entries(damages)) {
  Deno.test(`a transaction index that ${what} is made anew from the batches when it is read`, async () => {
    const { log, files, manager, aborted } = await abortedLog();
    const before = indexes(files, log);
    const path = `${log.path}/${before[1][0]}`;
    await manager.close();
    doDamage(files, path.replace(".txnindex", ""));
    const again = await transactionalLog(SMALL, files);
    assertEquals(
      again.log.abortedTransactions(0, again.log.nextOffset).map(({ lastOffset }) => lastOffset),
      aborted.map((one) => one.lastOffset),
    );
    assertEquals(indexes(files, again.log), before);
    assertEquals(again.warnings.filter((warning) => warning.includes(`making ${path} anew`)).length, 1);
  });

  Deno.test(`a transaction index that ${what} is whole before the compactor reads it`, async () => {
    const { log, files, manager } = await abortedLog();
    const before = indexes(files, log);
    await manager.close();
    doDamage(files, `${log.path}/${before[1][0]}`.replace(".txnindex", ""));
    const cleanupPolicy = { compact: true, delete: false };
    const { log: compacted } = await openLog({ ...SMALL, cleanupPolicy, minCleanableDirtyRatio: 0 }, files);
    compacted.highWatermark = compacted.nextOffset;
    for (const base of compacted.segmentBaseOffsets) compacted.read(base, LIMITS);
    assertEquals(compacted.cleanable(undefined, START) === null, false);
    assertEquals(indexes(files, compacted), before);
  });

  Deno.test(`a transaction index that ${what} is made anew when it goes on, or stays as it is`, async () => {
    const files = new MemoryFiles(() => START);
    let isFull = false;
    const full = new FaultyFiles(
      files,
      ({ kind, path }) => isFull && kind !== "read" && path.includes(".txnindex") ? { code: "ENOSPC" } : null,
    );
    const { log, manager, write, abort } = await transactionalLog({}, full);
    for (const producerId of [1, 2]) {
      write(producerId);
      abort(producerId);
    }
    await manager.close();
    doDamage(files, `${log.path}/00000000000000000000`);
    for (const failing of [true, false]) {
      const again = await transactionalLog({}, full);
      again.log.read(0, LIMITS);
      isFull = failing;
      again.write(3 + Number(failing));
      again.abort(3 + Number(failing));
      isFull = false;
      await again.manager.close();
    }
    const { log: last } = await transactionalLog({}, files);
    assertEquals(offsetsOf(last), [[1, 0], [2, 2], [4, 4], [3, 6]]);
  });
}

Deno.test("a transaction index that cannot be written is told of once, and when it is written again", async () => {
  let isFull = false;
  const full = new FaultyFiles(
    new MemoryFiles(() => START),
    ({ kind, path }) => isFull && kind !== "read" && path.includes(".txnindex") ? { code: "ENOSPC" } : null,
  );
  const { log, warnings, write, abort } = await transactionalLog({}, full);
  const abortSome = () => {
    for (let i = 0; i < 5; i++) {
      write(1);
      abort(1);
    }
  };
  write(1);
  isFull = true;
  abortSome();
  assertEquals(warnings.map((line) => line.replace(/: Cannot .*/, "")), [
    "t-0: cannot write indexes of the log",
  ]);
  isFull = false;
  abortSome();
  assertEquals(warnings.slice(1), ["t-0: it can write indexes of the log again"]);
  assertEquals(offsetsOf(log).length, 10);
});

Deno.test("recovery makes a transaction index anew that may have lost entries below the recovery point", async () => {
  for (const bytes of [10, Infinity]) {
    const { log, files, manager, clock, write, abort } = await transactionalLog();
    for (const producerId of [1, 2]) {
      write(producerId);
      abort(producerId);
    }
    await log.shortenRecovery();
    clock.advance(60_000);
    await manager.tick();
    write(3);
    abort(3);
    const left = files.crashed("killed");
    cut(left, `${log.path}/00000000000000000000.txnindex`, 34 + bytes);
    const again = await transactionalLog({}, left);
    assertEquals(again.log.recoveryPoint, 4);
    assertEquals(offsetsOf(again.log), [[1, 0], [2, 2], [3, 4]]);
  }
});

Deno.test("TransactionIndex.sync() that was overtaken by a cut says nothing of entries that came after", async () => {
  const files = new MemoryFiles(() => START);
  let syncs = 0;
  const counting = new FaultyFiles(files, ({ kind }) => (syncs += Number(kind === "sync"), null));
  files.makeDirectory("/t");
  const index = new TransactionIndex(
    new PooledFile(new HandlePool(counting, 10), { path: "/t" }, "0.txnindex"),
  );
  const add = (producerId: number) => {
    const firstOffset = producerId * 10;
    index.add({ producerId, firstOffset, lastOffset: firstOffset + 5, lastStableOffset: firstOffset });
    index.write();
  };
  for (const producerId of [1, 2, 3]) add(producerId);
  const first = index.sync();
  index.truncateTo(25);
  for (const producerId of [4, 5]) add(producerId);
  await first;
  const before = syncs;
  await index.sync();
  assertEquals([syncs - before, index.count], [1, 3]);
});

Deno.test("Log.recordsFrom() goes over markers as far as it may, and then goes on there", async () => {
  const { log, commit, plain } = await transactionalLog();
  for (let i = 0; i < 100; i++) commit(1);
  plain();
  commit(1);
  const go = (from: number, bytes: number) => log.recordsFrom(from, log.highWatermark, new Allowance(bytes));
  const marker = log.sizeInBytes / 102;
  const first = go(10, 40 * marker);
  assertEquals(first > 40 && first < 60, true, `${first}`);
  assertEquals(go(20, 0), first, "nothing is read");
  assertEquals(go(first, 1000 * marker), 100);
  assertEquals([go(10, 0), go(first, 0), go(9, 0)], [100, 100, 9]);
  log.recordsFrom(12, log.highWatermark, new Allowance(0), 3);
  assertEquals([go(3, 0), go(2, 0)], [100, 2]);
  assertEquals([go(100, 1000 * marker), go(101, 1000 * marker)], [100, 102]);
});

Deno.test("Log.recordsFrom() leads nobody over records that came in the place of markers, nor over the log's start", async () => {
  const { log, commit, plain } = await transactionalLog();
  for (let i = 0; i < 10; i++) commit(1);
  const go = (from: number) => log.recordsFrom(from, log.highWatermark, new Allowance(10_000));
  assertEquals(go(0), 10);
  log.truncateTo(5);
  for (let i = 0; i < 10; i++) plain();
  assertEquals(go(0), 5);
  log.deleteRecordsBefore(3);
  assertEquals([go(0), go(3)], [0, 5]);
});

Deno.test("an idle producer in a transaction does not expire", async () => {
  const { log, write, commit, clock } = await transactionalLog();
  write(1);
  write(2);
  commit(2);
  clock.advance(2 * log.config.producerIdExpirationMs);
  log.expireProducers(clock.monotonic());
  assertEquals(log.activeProducers().map(({ producerId }) => producerId), [1]);
  assertEquals(log.lastStableOffset, 0);
});

Deno.test("Log.bytesBetween() counts batches of one segment", async () => {
  const { log } = await openLog({ indexIntervalBytes: 100 });
  const sizes = Array.from({ length: 20 }, (_, i) => {
    const bytes = batch(1, { bytes: 10 + i });
    mustAppend(log, bytes);
    return bytes.length;
  });
  const sum = (from: number, to: number) => sizes.slice(from, to).reduce((a, b) => a + b, 0);
  for (const [from, to] of [[0, 20], [0, 1], [3, 17], [19, 20], [5, 5]]) {
    assertEquals(log.bytesBetween(from, to), sum(from, to), `${from} to ${to}`);
  }
});
