/** A pattern that an administrator gave and a name that a client chose must not hold up everybody else. */
import { assertEquals } from "@std/assert/equals";
import { errorName } from "../../src/codec/errors.ts";
import { getTelemetrySubscriptions } from "../../src/codec/messages/get_telemetry_subscriptions.ts";
import { incrementalAlterConfigs } from "../../src/codec/messages/incremental_alter_configs.ts";
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
