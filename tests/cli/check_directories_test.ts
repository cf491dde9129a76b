/** `trackway check` over a broker that has several directories. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { alterReplicaLogDirs } from "../../src/codec/messages/alter_replica_log_dirs.ts";
import { describeLogDirs } from "../../src/codec/messages/describe_log_dirs.ts";
import { check } from "../../src/cli/check.ts";
import { freePortBroker } from "../lib/broker.ts";
import { batchOf, TestClient } from "../protocol/requests.ts";
import { FakeTerminal } from "./fakes.ts";

async function checked(...args: string[]): Promise<{ code: number; out: string[] }> {
  const terminal = new FakeTerminal();
  const code = await check(args, terminal);
  return { code, out: terminal.outLines };
}

Deno.test("check finds nothing wrong with several directories, of which each has some of the partitions", async () => {
  await using broker = await freePortBroker({ "log.dirs": "<dir>/one,<dir>/two" });
  const [one, two] = ["one", "two"].map((name) => `${broker.dataDir}/${name}`);
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("t", 4);
    for (let partition = 0; partition < 4; partition++) await client.append("t", batchOf(["a"]), partition);
    const dirs = [{ path: two, topics: [{ name: "t", partitions: [0] }] }];
    const { results } = await client.send(alterReplicaLogDirs, 2, { dirs });
    assertEquals(results[0].partitions[0].errorCode, ErrorCode.NONE);
    for (let moved = false; !moved;) {
      const { results } = await client.send(describeLogDirs, 4, {
        topics: [{ topic: "t", partitions: [0] }],
      });
      const holding = results.filter(({ topics }) => topics.length > 0).map(({ logDir }) => logDir);
      moved = holding.join() === two;
    }
  }
  await broker.stop();
  for (const args of [["--data", `${one},${two}`], [`${one},${two}`], [one, two], [two, one]]) {
    const { code, out } = await checked(...args);
    assertEquals([code, out.filter((line) => line.startsWith("damage"))], [0, []]);
    assertEquals(out.filter((line) => line.includes(": no damage")).length, 2);
  }
  const { code, out } = await checked(one);
  const offline =
    `it is missing; the broker keeps it offline, as it may be in ${two}, which was not checked along`;
  assertEquals([code, out.filter((line) => line.endsWith(offline)).length], [1, 3]);
  await Deno.remove(`${one}/trackway-log-directories`);
  const anew = await checked(one);
  assertEquals(
    anew.out.filter((line) => line.endsWith("it is missing; the broker makes it anew, empty")).length,
    3,
  );
});

Deno.test("check tells of a partition that is in two directories", async () => {
  await using broker = await freePortBroker({ "log.dirs": "<dir>/one,<dir>/two" });
  const [one, two] = ["one", "two"].map((name) => `${broker.dataDir}/${name}`);
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("t");
    await client.append("t", batchOf(["a"]));
  }
  await broker.stop();
  await new Deno.Command("cp", { args: ["-r", `${one}/t-0`, `${two}/t-0`] }).output();
  const twice = await checked(one, two);
  assertEquals([twice.code, twice.out.filter((line) => line.includes("it is in /")).length], [1, 2]);
  await Deno.writeTextFile(`${two}/t-0/trackway-moved-from`, one);
  const moved = await checked(one, two);
  assertEquals(moved.out.filter((line) => line.includes("taken the place")).map((line) => line.slice(0, 4)), [
    "note",
  ]);
});
