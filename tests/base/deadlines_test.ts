import { assertEquals } from "@std/assert/equals";
import { Deadlines, type Due } from "../../src/base/deadlines.ts";
import { Prng } from "../../src/base/prng.ts";

const due = (dueMs: number): Due => ({ dueMs, place: -1 });

Deno.test("Deadlines gives what is due first, whatever came and went in between", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = new Prng(seed);
  const deadlines = new Deadlines<Due>();
  const model: Due[] = [];
  for (let step = 0; step < 5000; step++) {
    if (model.length === 0 || random.int(100) < 55) {
      const item = due(random.int(50));
      model.push(item);
      deadlines.add(item);
    } else {
      const [gone] = model.splice(random.int(model.length), 1);
      deadlines.remove(gone);
      assertEquals(gone.place, -1);
    }
    assertEquals(deadlines.size, model.length, `seed ${seed}`);
    assertEquals(
      deadlines.first?.dueMs ?? Infinity,
      Math.min(Infinity, ...model.map((d) => d.dueMs)),
      `seed ${seed}`,
    );
  }
  assertEquals(new Set(deadlines.all()), new Set(model));
  let last = -1;
  for (let first = deadlines.first; first !== undefined; first = deadlines.first) {
    assertEquals(first.dueMs >= last, true, `seed ${seed}`);
    last = first.dueMs;
    deadlines.remove(first);
  }
});

Deno.test("Deadlines.remove() does nothing to what is not in there", () => {
  const deadlines = new Deadlines<Due>();
  const a = due(1), b = due(2);
  deadlines.add(a);
  deadlines.remove(b);
  deadlines.remove(a);
  deadlines.remove(a);
  assertEquals([deadlines.size, deadlines.first], [0, undefined]);
});
