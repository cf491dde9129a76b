/** Takes the metrics that a client was asked for (KIP-714). */
import type { pushTelemetry } from "../codec/messages/push_telemetry.ts";
import type { Handler } from "./context.ts";
import { telemetryClient } from "./telemetry_client.ts";

export const pushTelemetryHandler: Handler<typeof pushTelemetry> = (request, context) => {
  const { services: { telemetry, clock }, connection } = context;
  return { errorCode: telemetry.push(request, telemetryClient(context), connection, clock.monotonic()) };
};
