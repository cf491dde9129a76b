/** What the tests of durability share: a broker that can be killed, and a data directory for it. */
import { join } from "node:path";

export { type BrokerOptions, BrokerProcess, type Exit, FROM_SOURCE } from "../lib/broker_process.ts";
export { PATIENCE_MS, until, within } from "../lib/waiting.ts";

/** A data directory that is gone after `use`. */
export async function withDataDir(use: (directory: string) => Promise<void>): Promise<void> {
  const parent = await Deno.makeTempDir({ prefix: "trackway-durability-" });
  try {
    await use(join(parent, "data"));
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
}
