/** The client tests' own judgement: what they must call a failure, shown with adapters that misbehave on purpose. */

import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { assertThrows } from "@std/assert/throws";

import { AdapterFailure, Adapters, type Client, NotSupported } from "./adapter.ts";
import { Group } from "./group.ts";
import { expectRecords } from "./scenario.ts";
import { Changes } from "./waiting.ts";

/** A client whose adapter is the given program text. */
function scripted(code: string, unsupported: Client["unsupported"] = {}): Client {
  return {
    id: "scripted",
    command: [Deno.execPath(), "eval", code],
    install: () => Promise.resolve(),
    unsupported,
  };
}

/** Runs `work` with adapters whose logs go to a directory that is removed after. */
async function withAdapters(
  work: (adapters: Adapters) => Promise<void>,
  verbTimeoutMs = 20_000,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  const adapters = new Adapters(dir, "localhost:1", dir, verbTimeoutMs);
  try {
    await work(adapters);
  } finally {
    await adapters.killAll();
    await Deno.remove(dir, { recursive: true });
  }
}

const refusal = `console.log('{"unsupported":"no such thing"}'); Deno.exit(64)`;

Deno.test("Adapters.run() gives the lines of a verb", () =>
  withAdapters(async (adapters) => {
    const client = scripted(`console.log(JSON.stringify({ args: Deno.args }))`);
    const [{ args }] = await adapters.run(client, "produce", { topic: "t", timestampBase: 5 });
    assertEquals(args, ["produce", "--bootstrap", "localhost:1", "--topic", "t", "--timestamp-base", "5"]);
  }));

Deno.test("Adapters.run() takes a declared refusal as NotSupported", () =>
  withAdapters(async (adapters) => {
    await assertRejects(
      () => adapters.run(scripted(refusal, { list: "not there" }), "list"),
      NotSupported,
      "not there",
    );
  }));

Deno.test("Adapters.run() fails a refusal that is not declared", () =>
  withAdapters(async (adapters) => {
    await assertRejects(() => adapters.run(scripted(refusal), "list"), AdapterFailure, "does not declare");
  }));

Deno.test("Adapters.run() fails a verb that works although it is declared missing", () =>
  withAdapters(async (adapters) => {
    const client = scripted("console.log('{}')", { "codec:zstd": "no zstd" });
    await assertRejects(
      () => adapters.run(client, "produce", { codec: "zstd" }),
      AdapterFailure,
      "works, though",
    );
  }));

Deno.test("Adapters.run() gives the last line of stderr as the reason of a failure", () =>
  withAdapters(async (adapters) => {
    const client = scripted("console.error('first'); console.error('the reason'); Deno.exit(3)");
    const failure = await assertRejects(() => adapters.run(client, "list"), AdapterFailure);
    assertEquals(failure.message.split("\n")[0], "the reason");
  }));

Deno.test("Adapters.run() fails an adapter that prints anything but JSON", () =>
  withAdapters(async (adapters) => {
    await assertRejects(
      () => adapters.run(scripted("console.log('hello')"), "list"),
      AdapterFailure,
      "not JSON",
    );
  }));

Deno.test("Adapters.run() ends an adapter that hangs", () =>
  withAdapters(async (adapters) => {
    const client = scripted("setInterval(() => {}, 1000)");
    await assertRejects(() => adapters.run(client, "list"), AdapterFailure, "waited 300 ms");
  }, 300));

/** A member that prints these lines and stays until its stdin closes. */
function memberThatPrints(lines: unknown[]): Client {
  const prints = lines.map((line) => `console.log(${JSON.stringify(JSON.stringify(line))});`).join("");
  return scripted(`${prints} for await (const _ of Deno.stdin.readable);`);
}

const owns = (...partitions: number[]) => ({ event: "assigned", partitions });
const record = (offset: number, value: string) => ({ event: "record", partition: 0, offset, value });
const committed = { event: "committed" };

Deno.test("Group fails when a committed record comes again", () =>
  withAdapters(async (adapters) => {
    const client = memberThatPrints([owns(0), record(0, "v0"), committed, owns(), owns(0), record(0, "v0")]);
    const group = new Group(adapters, client, { topic: "t", group: "g" }, true);
    group.join("A");
    await assertRejects(
      () => group.until("never", () => false),
      Error,
      "0@0 (v0) again although it was committed",
    );
  }));

Deno.test("Group lets a record come again that was not committed", () =>
  withAdapters(async (adapters) => {
    const lines = [owns(0), record(0, "v0"), owns(), owns(0), record(0, "v0"), record(1, "v1"), committed];
    const group = new Group(adapters, memberThatPrints(lines), { topic: "t", group: "g" }, true);
    const member = group.join("A");
    await group.untilSeen(["v0", "v1"]);
    await group.leave(member);
    assertEquals([...group.committedOffsets()], [[0, 2]]);
  }));

Deno.test("Group does not count as committed what a member lost before it committed", () =>
  withAdapters(async (adapters) => {
    const lines = [owns(0), record(0, "v0"), committed, record(1, "v1"), owns(), committed];
    const group = new Group(adapters, memberThatPrints(lines), { topic: "t", group: "g" }, true);
    const member = group.join("A");
    await group.untilSeen(["v0", "v1"]);
    await group.leave(member);
    assertEquals([...group.committedOffsets()], [[0, 1]]);
  }));

Deno.test("Group fails when a member ends by itself", () =>
  withAdapters(async (adapters) => {
    const group = new Group(adapters, scripted("Deno.exit(5)"), { topic: "t", group: "g" }, true);
    group.join("A");
    await assertRejects(
      () => group.until("anything", () => false),
      AdapterFailure,
      "member A ended while waiting",
    );
  }));

Deno.test("Group is not shared while two members own one partition", () =>
  withAdapters(async (adapters) => {
    const group = new Group(adapters, memberThatPrints([owns(0, 1)]), { topic: "t", group: "g" }, true);
    const [a, b] = [group.join("A"), group.join("B")];
    await group.until("both", () => a.partitions.length + b.partitions.length === 4);
    group.waitTimeoutMs = 50;
    await assertRejects(
      () => group.untilShared(4, new Map([[a, 2], [b, 2]])),
      Error,
      "waited 50 ms for A owns 2",
    );
  }));

Deno.test("Changes.until() names what did not happen", async () => {
  await assertRejects(
    () => new Changes().until(() => false, 1, () => "the end of days"),
    Error,
    "the end of days",
  );
});

const line = (partition: number, offset: number, n: number) => ({
  partition,
  offset,
  key: `k${n}`,
  value: `v${n}`,
});

Deno.test("expectRecords() accepts every value once, in order", () => {
  expectRecords([line(0, 0, 1), line(1, 0, 3), line(0, 1, 2), { done: 3 }], ["v1", "v2", "v3"]);
});

for (
  const [flaw, lines] of [
    ["a missing value", [line(0, 0, 1), line(0, 1, 1), { done: 2 }]],
    ["a value that nobody wrote", [line(0, 0, 1), line(0, 1, 7), { done: 2 }]],
    ["a hole in the offsets", [line(0, 0, 1), line(0, 2, 2), { done: 2 }]],
    ["a start after offset 0", [line(0, 1, 1), line(0, 2, 2), { done: 2 }]],
    ["a wrong order", [line(0, 1, 2), line(0, 0, 1), { done: 2 }]],
    ["another record's key", [line(0, 0, 1), { ...line(0, 1, 2), key: "k1" }, { done: 2 }]],
    ["a wrong count", [line(0, 0, 1), line(0, 1, 2), { done: 1 }]],
  ] as const
) {
  Deno.test(`expectRecords() refuses ${flaw}`, () => {
    assertThrows(() => expectRecords([...lines], ["v1", "v2"]), Error);
  });
}
