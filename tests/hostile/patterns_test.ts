/** A pattern that an administrator gave and a name that a client chose must not hold up everybody else. */
import { assertEquals } from "@std/assert/equals";
import { errorName } from "../../src/codec/errors.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { getTelemetrySubscriptions } from "../../src/codec/messages/get_telemetry_subscriptions.ts";
import { incrementalAlterConfigs } from "../../src/codec/messages/incremental_alter_configs.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { listTransactions } from "../../src/codec/messages/list_transactions.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { BrokerProcess, withDataDir, within } from "../durability/broker_process.ts";
import { connect } from "../durability/requests.ts";

const CLIENT_METRICS = 16;

Deno.test("a subscription's pattern that goes back without end is matched in no time, and one that cannot be is refused", async () => {
  await withDataDir(async (directory) => {
    const broker = await BrokerProcess.start(directory);
    try {
      const admin = await connect(broker.port);
      const subscribe = async (match: string) => {
        const configs = [{ name: "match", configOperation: 0, value: match }];
        const resources = [{ resourceType: CLIENT_METRICS, resourceName: "s", configs }];
        const { responses } = await admin.send(incrementalAlterConfigs, 1, {
          resources,
          validateOnly: false,
        });
        return errorName(responses[0].errorCode);
      };
      assertEquals(await subscribe("client_id=(?=(a+)+b).*"), "INVALID_CONFIG");
      for (const match of ["client_id=(a+)+b", "client_id=(a|a)*b", `client_id=${"(a*)*".repeat(50)}b`]) {
        assertEquals(await subscribe(match), "NONE");
        const client = await connect(broker.port, "a".repeat(32_000));
        const { errorCode } = await within(
          client.send(getTelemetrySubscriptions, 0, { clientInstanceId: ZERO_UUID }),
          `an answer while ${match} holds`,
        );
        assertEquals(errorName(errorCode), "NONE");
        await client.close();
      }
      await admin.close();
    } finally {
      await broker.end("SIGKILL");
    }
  });
});

Deno.test("ListTransactions answers any pattern in no time, against the longest transactional id too", async () => {
  await withDataDir(async (directory) => {
    const broker = await BrokerProcess.start(directory);
    try {
      const client = await connect(broker.port);
      const transactionalId = "x".repeat(32_767);
      await client.send(findCoordinator, 4, { key: "", keyType: 1, coordinatorKeys: [transactionalId] });
      await client.send(initProducerId, 5, { transactionalId, transactionTimeoutMs: 60_000 });
      const asked = { stateFilters: [], producerIdFilters: [], durationFilter: -1n };
      const list = async (transactionalIdPattern: string) => {
        const answer = client.send(listTransactions, 2, { ...asked, transactionalIdPattern });
        const { errorCode, transactionStates } = await within(answer, "an answer");
        return [errorName(errorCode), transactionStates.length];
      };
      assertEquals(await list("(x*)*x"), ["NONE", 1]);
      assertEquals(await list("(x*)*y"), ["NONE", 0]);
      for (const pattern of [50, 1000, 20_000].map((count) => `${"(x*)*".repeat(count)}y`)) {
        assertEquals(await list(pattern), ["INVALID_REGULAR_EXPRESSION", 0]);
      }
      await client.close();
    } finally {
      await broker.end("SIGKILL");
    }
  });
});
