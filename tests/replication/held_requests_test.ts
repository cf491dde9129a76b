import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { type HeldRequest, HeldRequests } from "../../src/replication/held_requests.ts";

/** No test takes so long. */
const TOO_LONG_MS = 60_000;

/** Held requests that note their names when they are answered; disposing stops the timer. */
class Stage implements Disposable {
  readonly answered: string[] = [];
  readonly held: HeldRequests;

  constructor(clock?: ManualClock) {
    this.held = new HeldRequests(clock);
  }

  hold(name: string, waitMs = TOO_LONG_MS): HeldRequest {
    return this.held.hold(waitMs, () => this.answered.push(name));
  }

  [Symbol.dispose](): void {
    this.held.endAll();
  }
}

/** Resolves when every microtask so far has run. */
const microtasks = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

// ---- Waking

Deno.test("HeldRequests.answerWoken() answers those that were woken, in that order, each once", () => {
  using stage = new Stage();
  const [a, b, c] = ["a", "b", "c"].map((name) => stage.hold(name));
  c.wake();
  a.wake();
  c.wake();
  assertEquals([stage.answered, stage.held.count], [[], 3], "nothing before the turn is over");
  stage.held.answerWoken();
  assertEquals([stage.answered, stage.held.count], [["c", "a"], 1]);
  a.wake();
  stage.held.answerWoken();
  assertEquals(stage.answered, ["c", "a"]);
  assert(b.isHeld && !a.isHeld && !c.isHeld);
});

Deno.test("HeldRequests answers who was woken when the turn is over, if nobody says that it is", async () => {
  using stage = new Stage();
  const a = stage.hold("a"), b = stage.hold("b");
  a.wake();
  b.wake();
  assertEquals(stage.answered, []);
  await Promise.resolve();
  assertEquals(stage.answered, ["a", "b"]);
});

Deno.test("HeldRequests.answerWoken() leaves those beyond its bound to the end of the turn", async () => {
  using stage = new Stage();
  for (const name of ["a", "b", "c", "d"]) stage.hold(name).wake();
  stage.held.answerWoken(3);
  assertEquals([stage.answered, stage.held.count], [["a", "b", "c"], 1]);
  stage.hold("e").wake();
  await Promise.resolve();
  assertEquals(stage.answered, ["a", "b", "c", "d", "e"]);
});

Deno.test("HeldRequests answers in the next turn who is woken by an answer", async () => {
  using stage = new Stage();
  const b = stage.hold("b");
  stage.held.hold(TOO_LONG_MS, () => {
    stage.answered.push("a");
    b.wake();
  }).wake();
  stage.held.answerWoken();
  assertEquals(stage.answered, ["a"]);
  await Promise.resolve();
  assertEquals(stage.answered, ["a", "b"]);
});

Deno.test("HeldRequests answers nobody who was released, woken or not", async () => {
  using stage = new Stage();
  const [a, b] = ["a", "b"].map((name) => stage.hold(name));
  a.release();
  b.wake();
  b.release();
  b.release();
  a.wake();
  assertEquals(stage.held.count, 0);
  stage.held.answerWoken();
  await microtasks();
  stage.held.endAll();
  assertEquals(stage.answered, []);
});

// ---- Time

Deno.test("HeldRequests answers each when its own time is over, whatever the order in which they came", async () => {
  using stage = new Stage();
  const before = performance.now();
  await new Promise<void>((resolve) => {
    const waits = [30, 10, 40, 10, 20];
    for (const waitMs of waits) {
      stage.held.hold(waitMs, () => {
        assert(performance.now() - before >= waitMs, "answered before its time");
        stage.answered.push(String(waitMs));
        if (stage.answered.length === waits.length) resolve();
      });
    }
  });
  assertEquals(stage.answered, ["10", "10", "20", "30", "40"]);
});

Deno.test("HeldRequests answers by its clock and not by the timer", async () => {
  const clock = new ManualClock();
  using stage = new Stage(clock);
  const last = stage.hold("b", 3);
  stage.hold("a", 2);
  // The real timer goes off, again and again, while this clock stands still.
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 3));
  assertEquals(stage.answered, []);
  clock.advance(2);
  while (stage.answered.length === 0) await microtasks();
  assertEquals([stage.answered, last.isHeld], [["a"], true]);
});

Deno.test("HeldRequests has one timer, for the first of those that are held", () => {
  const real = globalThis.setTimeout;
  const waits: (number | undefined)[] = [];
  globalThis.setTimeout = ((run: () => void, waitMs?: number) => {
    waits.push(waitMs);
    return real(run, waitMs);
  }) as typeof setTimeout;
  try {
    using stage = new Stage(new ManualClock());
    for (let i = 0; i < 100; i++) {
      stage.hold("a", 500).wake();
      stage.held.answerWoken();
    }
    stage.hold("later", 501);
    stage.hold("sooner", 400);
    assertEquals([waits, stage.answered.length], [[500, 400], 100]);
  } finally {
    globalThis.setTimeout = real;
  }
});

// ---- The end

Deno.test("HeldRequests.endAll() answers each that is held or woken, and none that was answered", () => {
  using stage = new Stage();
  const [, b, c] = ["a", "b", "c"].map((name) => stage.hold(name));
  b.release();
  c.wake();
  stage.held.endAll();
  assertEquals([stage.answered.toSorted(), stage.held.count], [["a", "c"], 0]);
  stage.held.endAll();
  assertEquals(stage.answered.length, 2);
});

Deno.test("HeldRequests.endAll() ends those that were held when it began, so that it comes to an end", () => {
  using stage = new Stage();
  const again: HeldRequest[] = [];
  const holdAgain = () => {
    again.push(stage.held.hold(TOO_LONG_MS, () => {
      stage.answered.push("a");
      if (stage.answered.length < 3) holdAgain();
    }));
  };
  holdAgain();
  stage.held.endAll();
  assertEquals([stage.answered.length, stage.held.count], [1, 1]);
  again[1].release();
});
