/** Where the first transaction under way began, held against a list that is searched from end to end. */
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { UnstableTransactions } from "../../src/storage/producers/unstable_transactions.ts";

/** How many entries its queue of first offsets has. */
function queued(transactions: UnstableTransactions): number {
  // deno-lint-ignore no-explicit-any -- nobody else needs to know
  return (transactions as any).order.length;
}

for (const startsUnsorted of [false, true]) {
  Deno.test(`UnstableTransactions.firstOpen is the lowest, ${startsUnsorted ? "from a snapshot" : "live"}`, () => {
    const random = new Prng(startsUnsorted ? 7 : 8);
    const transactions = new UnstableTransactions();
    const open = new Set<number>(startsUnsorted ? [40, 10, 30] : [10, 30, 40]);
    for (const firstOffset of open) transactions.begin(firstOffset);
    for (let offset = 100; offset < 20_100; offset++) {
      // Of those under way there are some hundreds, and some of them stay for very long.
      if (random.int(open.size + 300) < 300) {
        transactions.begin(offset);
        open.add(offset);
      } else {
        const all = [...open];
        const firstOffset = all[Math.floor(all.length * Math.sqrt(random.float()))];
        transactions.end(firstOffset, offset);
        open.delete(firstOffset);
      }
      if (offset % 7 === 0) assertEquals(transactions.firstOpen, Math.min(...open));
    }
  });
}

Deno.test("UnstableTransactions holds no more than it has to behind a transaction that hangs", () => {
  for (const snapshot of [[5], [5, 3]]) {
    const transactions = new UnstableTransactions();
    for (const firstOffset of snapshot) transactions.begin(firstOffset);
    for (let offset = 10; offset < 50_000; offset += 2) {
      transactions.begin(offset);
      transactions.end(offset, offset + 1);
      transactions.committedTo(offset + 2);
    }
    assertEquals(transactions.firstOpen, Math.min(...snapshot));
    assertEquals(queued(transactions) <= 1001, true, `${queued(transactions)} entries`);
  }
});
