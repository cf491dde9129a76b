/** The load of the scenarios of transactions, held against a broker: one that commits nothing would look fast. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { connect } from "../../bench/lib/admin.ts";
import { withTopic } from "../../bench/lib/topics.ts";
import { TransactionalProducer } from "../../bench/lib/transactional_producer.ts";
import { untilRead } from "../../bench/lib/transactions.ts";
import { freePortBroker } from "../lib/broker.ts";
import { within } from "../lib/waiting.ts";

Deno.test("untilRead() times each transaction at a reader of committed records", async () => {
  await using broker = await freePortBroker();
  const sender = await connect(broker.port), reader = await connect(broker.port);
  try {
    await withTopic(broker.port, "timed", 1, async () => {
      const producer = await TransactionalProducer.start(sender, "timer", "timed", 3);
      await producer.transact();
      const times = await within(untilRead(reader, "timed", producer, 1, 5, 1), "five transactions");
      assertEquals(times.length, 5);
      assert(times.every((ms) => ms > 0), `${times}`);
    });
  } finally {
    await sender.close();
    await reader.close();
  }
});
