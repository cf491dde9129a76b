/** The one line that a start after an unclean stop says of what it read and cut off. */

import { assertEquals } from "@std/assert/equals";
import { LogManager } from "../../src/storage/manager/log_manager.ts";
import type { MemoryFiles } from "../../src/storage/files/memory.ts";
import { describeRecovered } from "../../src/storage/log/recovered.ts";
import { DIRECTORY } from "./helpers.ts";
import { batch, mustAppend, openLog } from "./helpers.ts";
import { defaultLogConfig } from "../../src/storage/log/config.ts";
import { ManualClock } from "../../src/base/clock.ts";

/** What is said at the next start. */
async function said(files: MemoryFiles): Promise<string[]> {
  const lines: string[] = [];
  const manager = await LogManager.open({
    files,
    directory: DIRECTORY,
    clusterId: null,
    nodeId: 1,
    clock: new ManualClock(),
    configOf: () => defaultLogConfig,
    onWarning() {},
    onRecovered: (text) => lines.push(text),
  });
  await manager.close();
  return lines;
}

Deno.test("LogManager.open() tells after a crash what it read, and what it cut off", async () => {
  const { log, files } = await openLog();
  const bytes = batch(3);
  mustAppend(log, bytes);
  const killed = (files as MemoryFiles).crashed("killed");
  const torn = (files as MemoryFiles).crashed("killed");
  const handle = torn.open("/data/t-0/00000000000000000000.log", false);
  handle.writeAt(bytes.subarray(0, 50), bytes.length);
  handle.close();
  const size = bytes.length;
  assertEquals(await said(killed), [
    `The last stop was not in order: checked ${size} bytes in 1 of 1 partition from the recovery points on, and cut ` +
    "nothing off",
  ]);
  assertEquals(await said(torn), [
    `The last stop was not in order: checked ${
      size + 50
    } bytes in 1 of 1 partition from the recovery points on, and ` +
    "cut 50 bytes off",
  ]);
});

Deno.test("LogManager.open() tells of no recovery after an orderly stop, nor in an empty directory", async () => {
  const { log, manager, files } = await openLog();
  mustAppend(log, batch(3));
  await manager.close();
  assertEquals(await said(files as MemoryFiles), []);
  (files as MemoryFiles).removeDirectory("/data/t-0");
  assertEquals(await said(files as MemoryFiles), []);
});

Deno.test("describeRecovered() counts what is offline, and says where nothing had to be read", () => {
  const whole = { recovered: { readBytes: 0, cutBytes: 0 }, offline: null };
  assertEquals(
    describeRecovered([whole, whole]),
    "The last stop was not in order: nothing of 2 partitions lay past the recovery points",
  );
  const read = { recovered: { readBytes: 12_340_000, cutBytes: 0 }, offline: null };
  assertEquals(
    describeRecovered([whole, read, { recovered: null, offline: "damaged" }]),
    "The last stop was not in order: checked 12.3 MB in 1 of 3 partitions from the recovery points on, and cut nothing " +
      "off; 1 partition offline, see the warnings",
  );
});
