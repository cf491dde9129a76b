import { assertEquals } from "@std/assert/equals";
import { LeaderEpochs } from "../../src/storage/epochs/leader_epochs.ts";

const history = () =>
  new LeaderEpochs([[1, 10], [3, 20], [4, 35]].map(([epoch, startOffset]) => ({ epoch, startOffset })));
const listed = (epochs: LeaderEpochs) => epochs.all.map(({ epoch, startOffset }) => [epoch, startOffset]);

// KIP-279: the answer names the epoch it is about, which may be older than the one asked for.
for (
  const [requested, leaderEpoch, endOffset, why] of [
    [-1, -1, -1, "undefined"],
    [0, 0, 10, "older than any known: where the first known begins"],
    [1, 1, 20, "known: where the next begins"],
    [2, 1, 20, "skipped: the one before it"],
    [3, 3, 35, "known"],
    [4, 4, 50, "the latest: the log's end"],
    [5, -1, -1, "future"],
  ] as const
) {
  Deno.test(`LeaderEpochs.endOffset(${requested}) is (${leaderEpoch}, ${endOffset}): ${why}`, () => {
    assertEquals(history().endOffset(requested, 4, 50), { leaderEpoch, endOffset });
  });
}

Deno.test("LeaderEpochs.endOffset() of the current epoch is the log's end, even without a record in it", () => {
  assertEquals(history().endOffset(6, 6, 50), { leaderEpoch: 6, endOffset: 50 });
  assertEquals(new LeaderEpochs().endOffset(0, 0, 0), { leaderEpoch: 0, endOffset: 0 });
});

Deno.test("LeaderEpochs.assign() drops what contradicts the new entry", () => {
  const epochs = history();
  assertEquals(epochs.assign(4, 40), false);
  assertEquals(epochs.assign(5, 35), true);
  assertEquals(listed(epochs), [[1, 10], [3, 20], [5, 35]]);
  assertEquals(epochs.assign(2, 60), true);
  assertEquals(listed(epochs), [[1, 10], [2, 60]]);
  assertEquals(epochs.assign(2, 50), true);
  assertEquals(listed(epochs), [[1, 10], [2, 50]]);
});

Deno.test("LeaderEpochs.at() finds the epoch in force at an offset", () => {
  const found = [0, 10, 19, 20, 34, 35, 999].map((offset) => history().at(offset));
  assertEquals(found, [-1, 1, 1, 3, 3, 4, 4]);
});

Deno.test("LeaderEpochs.truncateFromEnd() drops epochs that begin at the offset or later", () => {
  for (
    const [offset, kept, changed] of [[36, 3, false], [35, 2, true], [20, 1, true], [0, 0, true]] as const
  ) {
    const epochs = history();
    assertEquals([epochs.truncateFromEnd(offset), epochs.all.length], [changed, kept]);
  }
});

Deno.test("LeaderEpochs.truncateFromStart() keeps the epoch in force, from the offset on", () => {
  const cases: [number, number[][]][] = [
    [5, [[1, 10], [3, 20], [4, 35]]],
    [10, [[1, 10], [3, 20], [4, 35]]],
    [15, [[1, 15], [3, 20], [4, 35]]],
    [20, [[3, 20], [4, 35]]],
    [99, [[4, 99]]],
  ];
  for (const [offset, left] of cases) {
    const epochs = history();
    epochs.truncateFromStart(offset);
    assertEquals(listed(epochs), left);
  }
});
