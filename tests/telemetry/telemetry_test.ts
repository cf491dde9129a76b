/** Telemetry at a running broker: from the settings of a subscription to the answers that clients get. */
import { assertEquals } from "@std/assert/equals";
import { Client } from "../../src/client/client.ts";
import { apiVersions } from "../../src/codec/messages/api_versions.ts";
import { getTelemetrySubscriptions } from "../../src/codec/messages/get_telemetry_subscriptions.ts";
import { incrementalAlterConfigs } from "../../src/codec/messages/incremental_alter_configs.ts";
import { pushTelemetry } from "../../src/codec/messages/push_telemetry.ts";
import { compress } from "../../src/codec/compression/index.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { freePortBroker, type TestBroker } from "../lib/broker.ts";
import { gauge, metricsData } from "./otlp_writer.ts";

/** The resource type of client-metrics. */
const CLIENT_METRICS = 16;

async function connect(broker: TestBroker, clientId: string, software = "soft"): Promise<Client> {
  const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port }, clientId);
  await client.send(apiVersions, 3, { clientSoftwareName: software, clientSoftwareVersion: "1.2" });
  return client;
}

/** Sets a subscription; null removes a setting. */
async function subscribe(broker: TestBroker, settings: Record<string, string | null>): Promise<void> {
  const admin = await connect(broker, "admin");
  const configs = Object.entries(settings).map(([name, value]) => ({
    name,
    value,
    configOperation: value === null ? 1 : 0,
  }));
  const { responses } = await admin.send(incrementalAlterConfigs, 1, {
    resources: [{ resourceType: CLIENT_METRICS, resourceName: "s", configs }],
    validateOnly: false,
  });
  assertEquals(responses[0].errorCode, 0, responses[0].errorMessage ?? "");
  await admin.close();
}

const ask = (client: Client, clientInstanceId = ZERO_UUID) =>
  client.send(getTelemetrySubscriptions, 0, { clientInstanceId });

Deno.test("a client is asked for what the subscriptions say that match its id, software and address", async () => {
  await using broker = await freePortBroker({ "telemetry.max.bytes": "5000" });
  await subscribe(broker, {
    "metrics": "org.apache.kafka.producer.",
    "interval.ms": "60000",
    "match":
      "client_id=app-.*,client_software_name=soft,client_software_version=1\\..*,client_source_address=127.0.0.1," +
      "client_source_port=[0-9]+",
  });
  const app = await connect(broker, "app-1"), other = await connect(broker, "app-1", "hard");
  const told = await ask(app);
  assertEquals({ ...told, clientInstanceId: "", subscriptionId: 0 }, {
    throttleTimeMs: 0,
    errorCode: 0,
    clientInstanceId: "",
    subscriptionId: 0,
    acceptedCompressionTypes: [4, 3, 1, 2],
    pushIntervalMs: 60_000,
    telemetryMaxBytes: 5000,
    deltaTemporality: true,
    requestedMetrics: ["org.apache.kafka.producer."],
  });
  assertEquals((await ask(other)).requestedMetrics, []);
  await app.close();
  await other.close();
});

Deno.test("a subscription that changes is told at the next question, and is there after a restart", async () => {
  await using broker = await freePortBroker();
  const client = await connect(broker, "app");
  const first = await ask(client);
  assertEquals([first.requestedMetrics, first.pushIntervalMs], [[], 300_000]);
  await subscribe(broker, { "metrics": "*", "interval.ms": "1000" });
  const second = await ask(client, first.clientInstanceId);
  assertEquals([second.requestedMetrics, second.pushIntervalMs], [["*"], 1000]);
  assertEquals(second.clientInstanceId, first.clientInstanceId);
  await client.close();
  await broker.restart();
  const again = await connect(broker, "app");
  const third = await ask(again, first.clientInstanceId);
  assertEquals([third.requestedMetrics, third.subscriptionId], [["*"], second.subscriptionId]);
  await subscribe(broker, { "metrics": null, "interval.ms": null });
  assertEquals((await ask(again)).requestedMetrics, []);
  await again.close();
});

Deno.test("a push is taken in every compression that is offered", async () => {
  await using broker = await freePortBroker();
  await subscribe(broker, { "metrics": "*", "interval.ms": "100" });
  const client = await connect(broker, "app");
  for (const compressionType of [0, 1, 2, 3, 4]) {
    const { clientInstanceId, subscriptionId } = await ask(client);
    const metrics = compress(compressionType, metricsData(gauge("g", 1)));
    const push = { clientInstanceId, subscriptionId, terminating: false, compressionType, metrics };
    assertEquals((await client.send(pushTelemetry, 0, push)).errorCode, 0, `compression ${compressionType}`);
  }
  await client.close();
});

Deno.test("an answer that has an error has nothing else", async () => {
  await using broker = await freePortBroker();
  const client = await connect(broker, "app");
  const { clientInstanceId } = await ask(client);
  assertEquals(await ask(client, clientInstanceId), {
    throttleTimeMs: 0,
    errorCode: 89,
    clientInstanceId: ZERO_UUID,
    subscriptionId: 0,
    acceptedCompressionTypes: [],
    pushIntervalMs: 0,
    telemetryMaxBytes: 0,
    deltaTemporality: false,
    requestedMetrics: [],
  });
  await client.close();
});

Deno.test("a client instance ends with its connection", async () => {
  await using broker = await freePortBroker();
  const first = await connect(broker, "app");
  const { clientInstanceId } = await ask(first);
  assertEquals((await ask(first, clientInstanceId)).errorCode, 89);
  await first.close();
  const second = await connect(broker, "app");
  // The broker may hear of the end a moment after it accepts the next connection.
  let errorCode = 89;
  for (const end = Date.now() + 5000; errorCode === 89 && Date.now() < end;) {
    errorCode = (await ask(second, clientInstanceId)).errorCode;
  }
  assertEquals(errorCode, 0);
  await second.close();
});
