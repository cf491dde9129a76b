/** `deno task tools:record`: keeps what Kafka's command-line tools print with Kafka, for tests/clients/tools. */

import { join } from "node:path";

import { root } from "../tests/clients/install.ts";
import { printAll, record } from "../tests/clients/tools/compare.ts";
import { withBroker } from "../tests/clients/tools/course.ts";

Deno.env.set("TEST_BROKER", "kafka");
/** Longer than any change takes to get from Kafka's controller to its broker. */
const SETTLE_MS = 400;
const settle = () => new Promise<void>((resolve) => setTimeout(resolve, SETTLE_MS));

const logDir = join(root, ".cache/clients/logs");
await Deno.mkdir(logDir, { recursive: true });
await withBroker(
  join(logDir, "record-tools.log"),
  async (bootstrap, data) => await record(await printAll(bootstrap, data, settle)),
);
