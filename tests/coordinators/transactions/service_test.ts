/** The transaction coordinator: what it answers is what Kafka 4.4 answered to the same requests. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../../src/codec/errors.ts";
import { encodeFact } from "../../../src/coordinators/transactions/facts.ts";
import type { Transaction } from "../../../src/coordinators/transactions/types.ts";
import { settled } from "../harness.ts";
import { defaultConfig, ID, producer, Stage } from "./stage.ts";

const MAX_EPOCH = 0x7fff;

/** A stage whose producer is A/0. */
async function begun(config = {}): Promise<Stage> {
  const stage = new Stage(config);
  assertEquals(await stage.initText(), "A/0");
  return stage;
}

Deno.test("InitProducerId gives a new id first, and a higher epoch each time after that", async () => {
  const stage = await begun();
  assertEquals(await stage.initText(), "A/1");
  assertEquals(await stage.initText(), "A/2");
  assertEquals(await stage.state(), "Empty A/2");
});

Deno.test("InitProducerId without a transactional id gives a new id each time", async () => {
  const stage = new Stage();
  assertEquals(await stage.initText({ transactionalId: null, transactionTimeoutMs: -5 }), "A/0");
  assertEquals(await stage.initText({ transactionalId: null, producerId: 1000, producerEpoch: 0 }), "B/0");
});

Deno.test("InitProducerId refuses ids and timeouts that cannot be", async () => {
  const stage = new Stage();
  assertEquals(await stage.initText({ transactionalId: "" }), "INVALID_REQUEST");
  assertEquals(await stage.initText({ transactionalId: "é".repeat(20_000) }), "INVALID_REQUEST");
  for (const transactionTimeoutMs of [0, -1, defaultConfig.transactionMaxTimeoutMs + 1]) {
    assertEquals(await stage.initText({ transactionTimeoutMs }), "INVALID_TRANSACTION_TIMEOUT");
  }
  assertEquals(await stage.state(), "TRANSACTIONAL_ID_NOT_FOUND");
});

Deno.test("two-phase commit has to be allowed, and has no timeout then", async () => {
  const asked = { enable2Pc: true, transactionTimeoutMs: 0 };
  assertEquals(await new Stage().initText(asked), "TRANSACTIONAL_ID_AUTHORIZATION_FAILED");
  const stage = new Stage({ transactionTwoPhaseCommitEnable: true });
  assertEquals(await stage.initText(asked), "A/0");
  await stage.add(producer("A/0"), [0]);
  await stage.advance(30 * 24 * 3_600_000);
  assertEquals(await stage.state(), "Ongoing A/0 t[0]");
});

Deno.test("InitProducerId with id and epoch bumps once, however often it is repeated", async () => {
  const stage = await begun();
  assertEquals(await stage.initText(producer("A/0")), "A/1");
  assertEquals(await stage.initText(producer("A/0")), "A/1");
  assertEquals(await stage.initText(producer("A/1")), "A/2");
  assertEquals(await stage.initText(producer("A/0")), "PRODUCER_FENCED");
  assertEquals(await stage.initText(producer("A/3")), "PRODUCER_FENCED");
  assertEquals(await stage.initText(producer("B/2")), "PRODUCER_FENCED");
  // Another producer came: the repetition is fenced now.
  assertEquals(await stage.initText(), "A/3");
  assertEquals(await stage.initText(producer("A/2")), "PRODUCER_FENCED");
});

for (const version of [0, 2]) {
  Deno.test(`InitProducerId aborts what its predecessor left open, protocol ${version}`, async () => {
    const stage = await begun();
    await stage.add(producer("A/0"), [0, 1], { version });
    assertEquals(await stage.initText(), "CONCURRENT_TRANSACTIONS");
    assertEquals(stage.takeMarkers(), ["t-0 ABORT A/1", "t-1 ABORT A/1"]);
    assertEquals(stage.notices, [
      'Aborting the transaction of "tx", producer 1000 with epoch 0: another producer came with its transactional id',
    ]);
    assertEquals(await stage.state(), "CompleteAbort A/1");
    assertEquals(await stage.initText(), "A/2");
    assertEquals(await stage.end(producer("A/0"), true, version), "PRODUCER_FENCED");
  });

  Deno.test(`a producer that aborts its own transaction goes on with one epoch more, protocol ${version}`, async () => {
    const stage = await begun();
    await stage.add(producer("A/0"), [0], { version });
    assertEquals(await stage.initText(producer("A/0")), "CONCURRENT_TRANSACTIONS");
    assertEquals(await stage.initText(producer("A/0")), "A/1");
    assertEquals(await stage.initText(producer("A/0")), "A/1");
  });

  Deno.test(`a transaction past its timeout is aborted without any data, protocol ${version}`, async () => {
    const stage = await begun();
    await stage.add(producer("A/0"), [0], { version });
    await stage.advance(60_000);
    assertEquals(await stage.state(), "Ongoing A/0 t[0]");
    await stage.advance(10_001);
    assertEquals(stage.takeMarkers(), ["t-0 ABORT A/1"]);
    assertEquals(await stage.state(), "CompleteAbort A/1");
    assertEquals(stage.notices, [
      'Aborting the transaction of "tx", producer 1000 with epoch 0: it took longer than the 60000 ms that its producer asked for',
    ]);
    // In protocol 2 that is the epoch before the last end, which was the other one.
    const late = version === 2 ? "INVALID_TXN_STATE" : "PRODUCER_FENCED";
    assertEquals(await stage.end(producer("A/0"), true, version), late);
    assertEquals(stage.timers.count, 1, "nothing is looked at while no transaction is open, but for expiry");
  });
}

Deno.test("epochs that are used up bring a new id", async () => {
  const stage = await begun();
  for (let epoch = 1; epoch < MAX_EPOCH; epoch++) await stage.init();
  assertEquals(await stage.state(), `Empty A/${MAX_EPOCH - 1}`);
  assertEquals(await stage.initText(), "B/0");
  assertEquals(await stage.initText(producer(`A/${MAX_EPOCH - 1}`)), "PRODUCER_FENCED");
});

Deno.test("a producer whose epochs are used up may ask for its new id twice", async () => {
  const stage = await begun();
  for (let epoch = 1; epoch < MAX_EPOCH; epoch++) await stage.init();
  const last = producer(`A/${MAX_EPOCH - 1}`);
  assertEquals(await stage.initText(last), "B/0");
  assertEquals(await stage.initText(last), "B/0");
});

Deno.test("an end at the last epoch gives a new id, and its repetition the same", async () => {
  const stage = await begun();
  for (let epoch = 1; epoch < MAX_EPOCH; epoch++) await stage.init();
  const last = producer(`A/${MAX_EPOCH - 1}`);
  await stage.add(last, [0]);
  assertEquals(await stage.end(last, true), "B/0");
  assertEquals(stage.takeMarkers(), [`t-0 COMMIT A/${MAX_EPOCH}`]);
  assertEquals(await stage.end(last, true), "B/0");
  assertEquals(await stage.end(last, false), "INVALID_TXN_STATE");
  assertEquals(await stage.add(last, [0]), "INVALID_PRODUCER_ID_MAPPING");
  assertEquals(await stage.initText(last), "B/0");
});

Deno.test("a timeout at the last epoch gives that to no producer: it gets a new id, also when it asks twice", async () => {
  const stage = await begun();
  for (let epoch = 1; epoch < MAX_EPOCH; epoch++) await stage.init();
  const last = producer(`A/${MAX_EPOCH - 1}`);
  await stage.add(last, [0]);
  await stage.advance(60_000);
  await stage.advance(10_001);
  assertEquals(await stage.state(), `CompleteAbort A/${MAX_EPOCH}`);
  assertEquals(await stage.end(last, false), "PRODUCER_FENCED");
  const fencing = producer(`A/${MAX_EPOCH}`);
  assertEquals(await stage.add(fencing, [0]), "PRODUCER_FENCED");
  assertEquals(await stage.end(fencing, false), "PRODUCER_FENCED");
  assertEquals(await stage.initText(last), "B/0");
  assertEquals(await stage.initText(last), "B/0");
});

for (const isOpen of [false, true]) {
  const when = isOpen ? "while the next one has a transaction" : "when the next one has ended a transaction";
  Deno.test(`a producer that was fenced at its last epoch is not taken for the one after it, ${when}`, async () => {
    const stage = await begun();
    for (let epoch = 1; epoch < MAX_EPOCH; epoch++) await stage.init();
    const last = producer(`A/${MAX_EPOCH - 1}`);
    await stage.add(last, [0], { version: 1 });
    assertEquals(await stage.end(last, false, 1), "NONE");
    assertEquals(await stage.initText(), "B/0");
    await stage.add(producer("B/0"), [0], { version: 1 });
    if (!isOpen) await stage.end(producer("B/0"), false, 1);
    const before = await stage.state();
    // What Kafka 4.4 answered.
    assertEquals(await stage.end(last, false), "INVALID_PRODUCER_ID_MAPPING");
    assertEquals(await stage.initText(last), "PRODUCER_FENCED");
    assertEquals(await stage.state(), before);
  });
}

Deno.test("partitions are added once, by their producer only", async () => {
  const stage = await begun();
  assertEquals(await stage.add(producer("A/1"), [0]), "PRODUCER_FENCED");
  assertEquals(await stage.add(producer("B/0"), [0]), "INVALID_PRODUCER_ID_MAPPING");
  const records = stage.log.nextOffset;
  assertEquals(await stage.add(producer("A/0"), [0, 1]), "NONE NONE");
  assertEquals(await stage.add(producer("A/0"), [1, 0]), "NONE NONE");
  assertEquals(stage.log.nextOffset, records + 1, "what is there already is not logged again");
  assertEquals(await stage.state(), "Ongoing A/0 t[0,1]");
  assertEquals(await stage.add(producer("A/0"), [1, 2], { verifyOnly: true }), "NONE TRANSACTION_ABORTABLE");
  assertEquals(await stage.state(), "Ongoing A/0 t[0,1]");
});

Deno.test("a transaction begins without partitions, as in Kafka, and ends at once", async () => {
  const stage = await begun();
  assertEquals(await stage.add(producer("A/0"), [], { version: 0 }), "");
  assertEquals(await stage.state(), "Ongoing A/0");
  assertEquals(await stage.end(producer("A/0"), true, 0), "NONE");
  assertEquals(await stage.state(), "CompleteCommit A/0");
});

for (const isCommit of [true, false]) {
  const [done, other] = isCommit ? ["CompleteCommit", "COMMIT"] : ["CompleteAbort", "ABORT"];
  Deno.test(`protocol 1: ${other} keeps the epoch and may be repeated`, async () => {
    const stage = await begun();
    assertEquals(await stage.end(producer("A/0"), isCommit, 0), "INVALID_TXN_STATE");
    await stage.add(producer("A/0"), [0, "u"], { version: 0 });
    assertEquals(await stage.end(producer("A/0"), isCommit, 0), "NONE");
    assertEquals(stage.takeMarkers(), [`t-0 ${other} A/0`, `u-0 ${other} A/0`]);
    assertEquals(await stage.state(), `${done} A/0`);
    assertEquals(await stage.end(producer("A/0"), isCommit, 0), "NONE");
    assertEquals(await stage.end(producer("A/0"), !isCommit, 0), "INVALID_TXN_STATE");
    assertEquals(stage.takeMarkers(), []);
  });

  Deno.test(`protocol 2: ${other} raises the epoch and may be repeated`, async () => {
    const stage = await begun();
    await stage.add(producer("A/0"), [0]);
    assertEquals(await stage.end(producer("A/0"), isCommit), "A/1");
    assertEquals(stage.takeMarkers(), [`t-0 ${other} A/1`]);
    assertEquals(await stage.end(producer("A/0"), isCommit), "A/1");
    assertEquals(await stage.end(producer("A/0"), !isCommit), "INVALID_TXN_STATE");
    assertEquals(await stage.end(producer("A/2"), isCommit), "PRODUCER_FENCED");
    assertEquals(await stage.add(producer("A/0"), [0]), "PRODUCER_FENCED");
    assertEquals(await stage.state(), `${done} A/1`);
    assertEquals(await stage.end(producer("A/1"), true), "INVALID_TXN_STATE");
    assertEquals(await stage.end(producer("A/1"), false), "A/2", "the next one is aborted before it began");
    assertEquals(await stage.end(producer("A/1"), false), "A/2");
    assertEquals(await stage.end(producer("A/0"), isCommit), "PRODUCER_FENCED");
    assertEquals(stage.takeMarkers(), []);
  });

  for (const version of [0, 2]) {
    Deno.test(`${other} under way: the same again is CONCURRENT_TRANSACTIONS, protocol ${version}`, async () => {
      const stage = await begun();
      await stage.add(producer("A/0"), [0, "slow"], { version });
      const { promise, resolve } = Promise.withResolvers<number>();
      stage.outcomes.set("slow", promise);
      const end = await stage.end(producer("A/0"), isCommit, version);
      const next = version === 2 ? "A/1" : "A/0";
      assertEquals(end, version === 2 ? next : "NONE");
      assertEquals(await stage.state(), `Prepare${done.slice(8)} ${next} slow[0]`);
      assertEquals(await stage.end(producer("A/0"), isCommit, version), "CONCURRENT_TRANSACTIONS");
      assertEquals(await stage.end(producer("A/0"), !isCommit, version), "INVALID_TXN_STATE");
      assertEquals(await stage.add(producer(next), [0], { version }), "CONCURRENT_TRANSACTIONS");
      assertEquals(await stage.initText(), "CONCURRENT_TRANSACTIONS");
      if (version === 2) assertEquals(await stage.end(producer("A/1"), isCommit), "PRODUCER_FENCED");
      // Asked for again meanwhile, it is not written twice.
      await stage.advance(5_000);
      assertEquals(stage.attempts.length, 2);
      stage.outcomes.delete("slow");
      resolve(ErrorCode.NONE);
      await settled();
      assertEquals(await stage.state(), `${done} ${next}`);
      assertEquals(stage.takeMarkers(), [`t-0 ${other} ${next}`]);
    });
  }
}

Deno.test("a marker that cannot be written is tried again until it is", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), [0, "sick"]);
  stage.outcomes.set("sick", ErrorCode.KAFKA_STORAGE_ERROR);
  assertEquals(await stage.end(producer("A/0"), true), "A/1");
  await stage.advance(60_000);
  assertEquals(await stage.state(), "PrepareCommit A/1 sick[0]");
  stage.outcomes.delete("sick");
  await stage.advance(30_000);
  assertEquals(stage.takeMarkers(), ["t-0 COMMIT A/1", "sick-0 COMMIT A/1"]);
  assertEquals(await stage.state(), "CompleteCommit A/1");
});

Deno.test("a marker that cannot be written is tried less and less often, down to twice a minute", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), ["fenced"]);
  stage.outcomes.set("fenced", ErrorCode.TRANSACTION_COORDINATOR_FENCED);
  await stage.end(producer("A/0"), true);
  await stage.advance(121_500);
  const waits = stage.attempts.slice(1).map((at, i) => at - stage.attempts[i]);
  assertEquals(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

Deno.test("thousands of markers are written in slices, and each once", async () => {
  const stage = await begun();
  const all = Array.from({ length: 5000 }, (_, i) => i);
  await stage.add(producer("A/0"), all);
  // What takes long on a disk: here each marker takes a millisecond of the clock.
  stage.msPerMarker = 1;
  assertEquals(await stage.end(producer("A/0"), true), "A/1");
  assert(stage.markers.length < 50, `${stage.markers.length} markers at a stretch`);
  assertEquals(await stage.add(producer("A/1"), [0]), "CONCURRENT_TRANSACTIONS");
  await stage.advance(10_000);
  assertEquals(stage.markers.map(({ partition }) => partition), all);
  assertEquals(await stage.state(), "CompleteCommit A/1");
});

Deno.test("markers of many ends together hold nobody up for longer than those of one, and a small end does not wait", async () => {
  const stage = new Stage();
  const begin = async (transactionalId: string, count: number) => {
    const { producerId, producerEpoch } = await stage.init({ transactionalId });
    const partitions = Array.from({ length: count }, (_, partition) => ({ topic: "t", partition }));
    const request = { transactionalId, producerId, producerEpoch };
    await stage.service.addPartitions({ ...request, partitions, verifyOnly: false });
    return () => stage.service.endTxn({ ...request, isCommit: true, clientTransactionVersion: 2 });
  };
  const ends = [];
  for (let i = 0; i < 30; i++) ends.push(await begin(`large-${i}`, 200));
  ends.push(await begin("small", 1));
  stage.msPerMarker = 1;
  for (const end of ends) void end();
  await settled();
  const most = 11;
  assert(stage.markers.length <= most, `${stage.markers.length} ms before anybody else`);
  // A round of the event loop: all timers that are due fire.
  const round = () => {
    const { length } = stage.markers;
    stage.timers.advance(0);
    const now = stage.markers.length - length;
    assert(now <= most, `${now} ms in one round`);
  };
  for (let i = 0; i < 4; i++) round();
  assertEquals((await stage.service.describe("small")).transactionState, "CompleteCommit");
  for (let i = 0; i < 1000 && stage.markers.length < 30 * 200 + 1; i++) round();
  assertEquals(stage.markers.length, 30 * 200 + 1);
});

/** A hundred transactions that time out together after 20 s, with a log that takes a millisecond for each append. */
async function aboutToTimeOut(): Promise<Stage> {
  const stage = new Stage();
  const partitions = [{ topic: "t", partition: 0 }];
  for (let i = 0; i < 100; i++) {
    const transactionalId = `id-${i}`;
    const { producerId, producerEpoch } = await stage.init({ transactionalId, transactionTimeoutMs: 15_000 });
    const request = { transactionalId, producerId, producerEpoch, partitions, verifyOnly: false };
    await stage.service.addPartitions(request);
  }
  const append = stage.log.append.bind(stage.log);
  stage.log.append = (records, nowMs) => {
    stage.clock.advance(1);
    return append(records, nowMs);
  };
  return stage;
}

Deno.test("transactions that time out together are aborted in slices, and requests are heard in between", async () => {
  const stage = await aboutToTimeOut();
  const { length } = stage.log.batches;
  stage.timers.advance(20_000);
  const appended = stage.log.batches.length - length;
  assert(appended > 0 && appended <= 11, `${appended} ms before anybody else`);
  assertEquals((await stage.service.describe("id-99")).transactionState, "Ongoing");
  for (let i = 0; i < 30; i++) stage.timers.advance(0);
  assertEquals(stage.markers.length, 100);
  // The timer is set again.
  await stage.init({ transactionalId: "later", transactionTimeoutMs: 15_000 });
  assertEquals(stage.timers.count, 1);
});

Deno.test("a log that takes nothing is reported once, not for each transaction that has timed out", async () => {
  const stage = await aboutToTimeOut();
  stage.log.failWith = ErrorCode.KAFKA_STORAGE_ERROR;
  await stage.advance(25_000);
  assertEquals(stage.problems.length, 1);
  stage.log.failWith = ErrorCode.NONE;
  await stage.advance(10_000);
  assertEquals(stage.markers.length, 100);
});

Deno.test("who has resigned writes no more, though transactions had timed out before", async () => {
  const stage = await aboutToTimeOut();
  stage.timers.advance(20_000);
  stage.service.resign(0);
  const { length } = stage.log.batches;
  await stage.advance(1_000);
  assertEquals(stage.log.batches.length, length);
});

Deno.test("no marker is written once the service is closed: the logs are closed next", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), Array.from({ length: 100 }, (_, i) => i));
  stage.msPerMarker = 5;
  const end = stage.end(producer("A/0"), true);
  await settled();
  const { length } = stage.markers;
  stage.service.close();
  await stage.advance(1000);
  assertEquals([stage.markers.length, await end], [length, "A/1"]);
  assertEquals(length < 100, true);
});

Deno.test("an id that was brought for what is over by then is not used: the producer is fenced, not forgotten", async () => {
  const stage = new Stage();
  const answers: ((id: number) => void)[] = [];
  stage.newProducerId = () => new Promise((resolve) => answers.push(resolve));
  const [first, second] = [stage.initText(), stage.initText()];
  await settled();
  answers[0](1000);
  assertEquals(await first, "A/0");
  assertEquals(await stage.add(producer("A/0"), [0]), "NONE");
  answers[1](1001);
  assertEquals(await second, "CONCURRENT_TRANSACTIONS");
  assertEquals(await stage.state(), "CompleteAbort A/1");
  assertEquals(await stage.end(producer("A/0"), true, 0), "PRODUCER_FENCED");
});

Deno.test("a topic that is deleted does not keep a transaction from ending, one that is away does", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), ["gone"]);
  stage.outcomes.set("gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
  await stage.end(producer("A/0"), true);
  await stage.advance(10_000);
  assertEquals(await stage.state(), "PrepareCommit A/1 gone[0]");
  stage.missingTopics.add("gone");
  await stage.advance(10_000);
  assertEquals(await stage.state(), "CompleteCommit A/1");
});

Deno.test("a partition that has gone on to a newer epoch has had its marker", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), [0]);
  stage.outcomes.set("t", ErrorCode.INVALID_PRODUCER_EPOCH);
  await stage.end(producer("A/0"), false);
  assertEquals(await stage.state(), "CompleteAbort A/1");
});

Deno.test("an end that was decided goes on after a restart, with the coordinator's epoch", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), [0, 1, "u"]);
  for (const topic of ["t", "u"]) stage.outcomes.set(topic, ErrorCode.KAFKA_STORAGE_ERROR);
  assertEquals(await stage.end(producer("A/0"), true), "A/1");
  const after = stage.restarted();
  await settled();
  assertEquals(after.markers.map(({ coordinatorEpoch }) => coordinatorEpoch), [7, 7, 7]);
  assertEquals(after.takeMarkers(), ["t-0 COMMIT A/1", "t-1 COMMIT A/1", "u-0 COMMIT A/1"]);
  assertEquals(await after.state(), "CompleteCommit A/1");
  assertEquals(await after.end(producer("A/0"), true), "A/1");
});

Deno.test("an end that cannot be logged is refused, and is not known afterwards", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), [0]);
  stage.log.failWith = ErrorCode.KAFKA_STORAGE_ERROR;
  assertEquals(await stage.end(producer("A/0"), true), "NOT_COORDINATOR");
  assertEquals(stage.takeMarkers(), []);
  stage.log.failWith = ErrorCode.NONE;
  assertEquals(await stage.state(), "Ongoing A/0 t[0]");
  assertEquals(await stage.end(producer("A/0"), false), "A/1");
});

Deno.test("no marker is written before the end is committed", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), [0]);
  stage.log.isReplicated = true;
  const end = stage.end(producer("A/0"), true);
  await settled();
  assertEquals(stage.takeMarkers(), []);
  stage.log.commit();
  stage.log.isReplicated = false;
  assertEquals(await end, "A/1");
  assertEquals(stage.takeMarkers(), ["t-0 COMMIT A/1"]);
});

Deno.test("what is complete but could not be logged so is complete later", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), [0]);
  const { promise, resolve } = Promise.withResolvers<number>();
  stage.outcomes.set("t", promise);
  await stage.end(producer("A/0"), true);
  stage.log.failWith = ErrorCode.KAFKA_STORAGE_ERROR;
  stage.outcomes.delete("t");
  resolve(ErrorCode.NONE);
  await stage.advance(2_000);
  assertEquals(await stage.state(), "PrepareCommit A/1 t[0]");
  stage.log.failWith = ErrorCode.NONE;
  await stage.advance(2_000);
  assertEquals(await stage.state(), "CompleteCommit A/1");
});

/** A stage over a log that another broker wrote. */
function stageOver(transaction: Partial<Transaction>): { stage: Stage; open: () => Stage } {
  const stage = new Stage();
  const value: Transaction = {
    transactionalId: ID,
    producerId: 1000,
    previousProducerId: -1,
    nextProducerId: -1,
    producerEpoch: 0,
    lastProducerEpoch: -1,
    transactionTimeoutMs: 60_000,
    status: "Ongoing",
    partitions: new Map(),
    startMs: stage.clock.now(),
    lastUpdateMs: stage.clock.now(),
    clientTransactionVersion: 0,
    ...transaction,
  };
  stage.log.append([encodeFact({ transactionalId: ID, value })], stage.clock.now());
  return { stage, open: () => stage.restarted() };
}

Deno.test("an end without partitions, decided by another broker, is complete once that can be logged", async () => {
  const { stage, open } = stageOver({ status: "PrepareCommit" });
  stage.log.failWith = ErrorCode.KAFKA_STORAGE_ERROR;
  const after = open();
  await after.advance(2_000);
  assertEquals(await after.state(), "PrepareCommit A/0");
  assertEquals(after.problems.length, 5, "every 500 ms");
  after.log.failWith = ErrorCode.NONE;
  await after.advance(500);
  assertEquals(await after.state(), "CompleteCommit A/0");
});

Deno.test("a transaction of another broker's at the very last epoch is aborted at that epoch", async () => {
  const { open } = stageOver({
    ...producer(`B/${MAX_EPOCH}`),
    partitions: new Map([["t", new Set([0])]]),
  });
  const after = open();
  assertEquals(await after.initText(), "CONCURRENT_TRANSACTIONS");
  assertEquals(after.markers.map(({ transactionVersion }) => transactionVersion), [0]);
  assertEquals(after.takeMarkers(), [`t-0 ABORT B/${MAX_EPOCH}`]);
  assertEquals(await after.initText(), "A/1", "of a new id");
});

Deno.test("an open transaction times out after a restart too", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), [0]);
  const after = stage.restarted();
  await after.advance(75_000);
  assertEquals(await after.state(), "CompleteAbort A/1");
});

Deno.test("a transactional id that nobody uses is forgotten, unless its transaction is open", async () => {
  const stage = new Stage({ transactionalIdExpirationMs: 7_200_000 });
  await stage.initText({ transactionTimeoutMs: 900_000 });
  await stage.advance(3_600_001);
  assertEquals(await stage.state(), "Empty A/0");
  await stage.advance(2 * 3_600_000);
  assertEquals(await stage.state(), "TRANSACTIONAL_ID_NOT_FOUND");
  assertEquals(await stage.restarted().state(), "TRANSACTIONAL_ID_NOT_FOUND");
});

Deno.test("a transactional id is not forgotten while its end is under way, however long that takes", async () => {
  const stage = new Stage({ transactionalIdExpirationMs: 7_200_000 });
  await stage.init();
  await stage.add(producer("A/0"), ["sick"]);
  stage.outcomes.set("sick", ErrorCode.KAFKA_STORAGE_ERROR);
  await stage.end(producer("A/0"), true);
  for (let hour = 0; hour < 4; hour++) await stage.advance(3_600_000);
  assertEquals(await stage.state(), "PrepareCommit A/1 sick[0]");
  stage.outcomes.delete("sick");
  await stage.advance(30_000);
  assertEquals(stage.takeMarkers(), ["sick-0 COMMIT A/1"]);
});

Deno.test("transactional ids that are forgotten go some at a time, and not those that were used meanwhile", async () => {
  const stage = new Stage({ transactionalIdExpirationMs: 3_000_000 });
  const ids = Array.from({ length: 1_200 }, (_, i) => `id-${i}`);
  for (const transactionalId of ids) await stage.init({ transactionalId });
  const { length } = stage.log.batches;
  const append = stage.log.append.bind(stage.log);
  stage.log.append = (records, nowMs) => {
    // As long as a slice of what nobody asks for, so that requests come in between.
    stage.clock.advance(20);
    return append(records, nowMs);
  };
  stage.timers.advance(3_600_000);
  assertEquals(stage.log.batches.length, length + 1);
  await stage.init({ transactionalId: "id-1199" });
  await stage.advance(1_000);
  assertEquals(stage.log.batches.length, length + 4);
  const described = await Promise.all(["id-0", "id-1198", "id-1199"].map((id) => stage.service.describe(id)));
  assertEquals(described.map(({ transactionState }) => transactionState), ["", "", "Empty"]);
});

Deno.test("markers of an earlier end do not count for the one that is under way", async () => {
  const stage = await begun();
  await stage.add(producer("A/0"), [0]);
  await stage.end(producer("A/0"), true);
  await stage.add(producer("A/1"), [0]);
  stage.outcomes.set("t", ErrorCode.KAFKA_STORAGE_ERROR);
  await stage.end(producer("A/1"), true);
  // deno-lint-ignore no-explicit-any -- the shards are private to the service
  const shard = (stage.service as any).shards.at(0);
  const written = (text: string) => ({
    type: "markersWritten",
    ending: { transactionalId: ID, ...producer(text) },
    partitions: [{ topic: "t", partition: 0 }],
  });
  shard.tell(written("A/1"));
  shard.tell(written("B/2"));
  assertEquals(await stage.state(), "PrepareCommit A/2 t[0]");
  shard.tell(written("A/2"));
  assertEquals(await stage.state(), "CompleteCommit A/2");
});

Deno.test("ListTransactions filters by state, producer id and age", async () => {
  const stage = await begun();
  await stage.init({ transactionalId: "other" });
  await stage.add(producer("A/0"), [0]);
  await stage.advance(5_000);
  const list = async (states: string[], producerIds: number[], durationFilter: number) => {
    const filters = {
      stateFilters: new Set(states),
      producerIdFilters: new Set(producerIds),
      durationFilter,
    };
    return (await stage.service.list(filters)).transactions.map(({ transactionalId }) => transactionalId);
  };
  assertEquals(await list([], [], -1), [ID, "other"]);
  assertEquals(await list(["Ongoing"], [], -1), [ID]);
  assertEquals(await list([], [1001], -1), ["other"]);
  assertEquals(await list(["Ongoing"], [], 4_000), [ID]);
  assertEquals(await list(["Ongoing"], [], 6_000), []);
});

Deno.test("a service that is closed says so", async () => {
  const stage = await begun();
  stage.service.close();
  assertEquals(await stage.initText(), "COORDINATOR_NOT_AVAILABLE");
  assertEquals(await stage.end(producer("A/0"), true), "COORDINATOR_NOT_AVAILABLE");
  assertEquals(stage.timers.count, 0);
});
