/** Every client reads what every client wrote with every codec that all of them have: one topic, all of it, by each. */

import { type Client, codecs, NotSupported } from "./adapter.ts";
import { type Bench, expectRecords } from "./scenario.ts";

const partitions = 4;
const batch = 20;
/** The table's columns for these two steps. */
export const crossSteps = ["cross write", "cross read"] as const;

/** Runs both halves for all clients, on a topic of their own. Never throws: failures go to the report. */
export async function runCross(
  { adapters, report, reference }: Bench,
  clients: Client[],
  topic: string,
): Promise<void> {
  const written: string[] = [];
  const shared = codecs.filter((codec) => clients.every(({ unsupported }) => !unsupported[`codec:${codec}`]));
  try {
    await adapters.run(reference, "create", { topic, partitions });
  } catch (error) {
    for (const client of clients) {
      for (const step of crossSteps) report.failed(client.id, step, (error as Error).message);
    }
    return;
  }
  for (const client of clients) {
    // Sarama now and then closes its connection under its first batch and sends it again: without idempotence that is two.
    const idempotent = client.unsupported.idempotence === undefined;
    await timed(client, "cross write", async () => {
      for (const codec of shared) {
        const start = written.length;
        await adapters.run(client, "produce", { topic, count: batch, start, codec, idempotent });
        for (let i = start; i < start + batch; i++) written.push(`v${i}`);
      }
    });
  }
  for (const client of clients) {
    await timed(client, "cross read", async () => {
      const flags = { topic, count: written.length, from: "beginning" };
      expectRecords(await adapters.run(client, "consume", flags), written);
    });
  }

  async function timed(
    client: Client,
    step: typeof crossSteps[number],
    work: () => Promise<void>,
  ): Promise<void> {
    const startedAt = performance.now();
    try {
      await work();
    } catch (error) {
      if (error instanceof NotSupported) report.lacks(client.id, step, error.message);
      else report.failed(client.id, step, (error as Error).message);
      return;
    }
    report.passed(client.id, step, (performance.now() - startedAt) / 1000);
  }
}
