import { assertEquals } from "@std/assert/equals";
import { BatchView, buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import {
  readProducerSnapshot,
  writeProducerSnapshot,
} from "../../src/storage/producers/producer_snapshot.ts";
import { ProducerState } from "../../src/storage/producers/producer_state.ts";
import { batch, START } from "./helpers.ts";

const MAX_SEQUENCE = 0x7fff_ffff;

interface Sent {
  id?: number;
  epoch?: number;
  sequence: number;
  count?: number;
  offset?: number;
  transactional?: boolean;
}

function sent(
  { id = 7, epoch = 0, sequence, count = 1, offset = 0, transactional = false }: Sent,
): BatchView {
  return new BatchView(batch(count, {
    producerId: id,
    producerEpoch: epoch,
    baseSequence: sequence,
    baseOffset: offset,
    isTransactional: transactional,
  }));
}

function after(...batches: Sent[]): ProducerState {
  const state = new ProducerState();
  for (const each of batches) state.update(sent(each), START);
  return state;
}

const { NONE, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE } = ErrorCode;

for (
  const [what, before, next, errorCode] of [
    ["takes any first sequence of a producer not known (KIP-360)", [], { sequence: 42 }, NONE],
    ["takes the next sequence", [{ sequence: 0, count: 3 }], { sequence: 3 }, NONE],
    ["refuses a gap", [{ sequence: 0, count: 3 }], { sequence: 4 }, OUT_OF_ORDER_SEQUENCE_NUMBER],
    [
      "refuses an older sequence",
      [{ sequence: 0, count: 3 }, { sequence: 3 }],
      { sequence: 1 },
      OUT_OF_ORDER_SEQUENCE_NUMBER,
    ],
    [
      "refuses an older epoch",
      [{ sequence: 0, epoch: 2 }],
      { sequence: 1, epoch: 1 },
      INVALID_PRODUCER_EPOCH,
    ],
    ["takes a newer epoch from 0 on", [{ sequence: 5, epoch: 2 }], { sequence: 0, epoch: 3 }, NONE],
    [
      "refuses a newer epoch that does not begin at 0",
      [{ sequence: 5 }],
      { sequence: 6, epoch: 1 },
      OUT_OF_ORDER_SEQUENCE_NUMBER,
    ],
    ["goes on after 2^31-1 with 0", [{ sequence: MAX_SEQUENCE }], { sequence: 0 }, NONE],
    [
      "counts a batch over the end of the range",
      [{ sequence: MAX_SEQUENCE - 1, count: 4 }],
      { sequence: 2 },
      NONE,
    ],
    ["keeps producers apart", [{ id: 1, sequence: 9 }], { id: 2, sequence: 0 }, NONE],
    [
      "refuses a plain batch in a transaction",
      [{ sequence: 0, transactional: true }],
      { sequence: 1 },
      INVALID_TXN_STATE,
    ],
  ] as [string, Sent[], Sent, number][]
) {
  Deno.test(`ProducerState.check() ${what}`, () => {
    const verdict = after(...before).check(sent(next), null);
    assertEquals([verdict.errorCode, verdict.duplicateOf], [errorCode, null]);
  });
}

Deno.test("ProducerState.check() knows the last five batches again, and no older one", () => {
  const batches = Array.from(
    { length: 7 },
    (_, i) => ({ sequence: i * 10, count: 10, offset: 100 + i * 10 }),
  );
  const state = after(...batches);
  for (const each of batches.slice(2)) {
    const { errorCode, duplicateOf } = state.check(sent(each), null);
    assertEquals(errorCode, NONE);
    assertEquals(duplicateOf!.lastOffset - duplicateOf!.offsetDelta, each.offset);
  }
  assertEquals(state.check(sent(batches[1]), null).errorCode, OUT_OF_ORDER_SEQUENCE_NUMBER);
  const cut = { ...batches[4], count: 9 };
  assertEquals(state.check(sent(cut), null).errorCode, OUT_OF_ORDER_SEQUENCE_NUMBER);
});

Deno.test("ProducerState.checkCoordinators() leaves a coordinator's sequence numbers alone, but not its epoch", () => {
  const state = after({ sequence: 0, epoch: 1 });
  assertEquals(state.checkCoordinators(sent({ sequence: 77, epoch: 1 }), 0).errorCode, NONE);
  assertEquals(state.checkCoordinators(sent({ sequence: 1, epoch: 0 }), 0).errorCode, INVALID_PRODUCER_EPOCH);
});

Deno.test("ProducerState.firstUnstableOffset is where the oldest open transaction began; a marker ends it", () => {
  const state = after(
    { id: 1, sequence: 0, offset: 10, transactional: true },
    { id: 2, sequence: 0, offset: 20, transactional: true },
    { id: 1, sequence: 1, offset: 30, transactional: true },
  );
  assertEquals(state.firstUnstableOffset, 10);
  const key = new Uint8Array([0, 0, 0, 1]);
  const value = new Uint8Array([0, 0, 0, 0, 0, 5]);
  const marker = buildBatch([{ timestamp: START, key, value }], {
    producerId: 1,
    producerEpoch: 0,
    isControl: true,
    isTransactional: true,
    baseOffset: 31,
  });
  state.update(new BatchView(marker), START);
  assertEquals(state.firstUnstableOffset, 10, "the marker is not committed");
  state.committedTo(32);
  assertEquals(state.firstUnstableOffset, 20);
  assertEquals([...state.entries()].map((entry) => entry.coordinatorEpoch), [5, -1]);
});

Deno.test("ProducerState.expire() forgets the silent, not those in a transaction", () => {
  const state = after({ id: 1, sequence: 0 }, { id: 2, sequence: 0, transactional: true });
  state.expire(START + 99, 100);
  assertEquals(state.size, 2);
  state.expire(START + 100, 100);
  assertEquals([...state.entries()].map((entry) => entry.producerId), [2]);
});

// Three producers of the golden topic, written by Kafka 4.4 (fixtures/README.md).
const kafkaSnapshot = Deno.readFileSync(
  new URL("fixtures/kafka-4.4-closed/golden-0/00000000000000000153.snapshot", import.meta.url),
);

Deno.test("readProducerSnapshot() reads Kafka's file, and writeProducerSnapshot() writes the same bytes", () => {
  const state = readProducerSnapshot(kafkaSnapshot, START)!;
  assertEquals([...state.entries()].map((entry) => [entry.producerId, entry.batches[0].lastSequence]), [
    [0, 59],
    [1, 59],
    [2, 32],
  ]);
  assertEquals(writeProducerSnapshot(state), kafkaSnapshot);
});

Deno.test("readProducerSnapshot() refuses any damaged byte and any cut", () => {
  for (let at = 0; at < kafkaSnapshot.length; at++) {
    const damaged = kafkaSnapshot.slice();
    damaged[at] ^= 1;
    assertEquals(readProducerSnapshot(damaged, START), null);
    assertEquals(readProducerSnapshot(kafkaSnapshot.subarray(0, at), START), null);
  }
});

Deno.test("a snapshot keeps the producer's last five batches, so that retries are still known after a restart", () => {
  const batches = Array.from({ length: 7 }, (_, i) => ({ sequence: i, offset: 10 * i }));
  const state = after(...batches, { id: 8, sequence: 3, offset: 70 });
  const restored = readProducerSnapshot(writeProducerSnapshot(state), START)!;
  for (const sequence of [2, 3, 4, 5, 6]) {
    assertEquals(restored.check(sent({ sequence }), null).duplicateOf?.lastOffset, 10 * sequence);
  }
  assertEquals(restored.check(sent({ sequence: 7 }), null).errorCode, NONE);
  assertEquals(restored.check(sent({ sequence: 1 }), null).errorCode, OUT_OF_ORDER_SEQUENCE_NUMBER);
  assertEquals([...restored.entries()], [...state.entries()]);
});

Deno.test("a snapshot keeps no batch of an epoch that a producer has left", () => {
  const state = after({ sequence: 4, epoch: 0 }, { sequence: 0, epoch: 1 });
  const restored = readProducerSnapshot(writeProducerSnapshot(state), START)!;
  assertEquals([...restored.entries()], [...state.entries()]);
});
