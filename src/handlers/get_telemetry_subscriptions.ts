/** Tells a client which of its metrics are wanted, and how often (KIP-714). */
import type { getTelemetrySubscriptions } from "../codec/messages/get_telemetry_subscriptions.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import { ACCEPTED_COMPRESSION_TYPES } from "../telemetry/telemetry.ts";
import type { Handler } from "./context.ts";
import { telemetryClient } from "./telemetry_client.ts";

/** What an answer with an error has. */
const NOTHING = {
  clientInstanceId: ZERO_UUID,
  subscriptionId: 0,
  acceptedCompressionTypes: [],
  pushIntervalMs: 0,
  telemetryMaxBytes: 0,
  deltaTemporality: false,
  requestedMetrics: [],
};

export const getTelemetrySubscriptionsHandler: Handler<typeof getTelemetrySubscriptions> = (
  request,
  context,
) => {
  const { services: { telemetry, clock, config }, connection } = context;
  const client = telemetryClient(context);
  const told = telemetry.ask(request.clientInstanceId, client, connection, clock.monotonic());
  if (!("wanted" in told)) return { errorCode: told.errorCode, ...NOTHING };
  return {
    errorCode: told.errorCode,
    clientInstanceId: told.clientInstanceId,
    subscriptionId: told.wanted.subscriptionId,
    acceptedCompressionTypes: ACCEPTED_COMPRESSION_TYPES,
    pushIntervalMs: told.wanted.pushIntervalMs,
    telemetryMaxBytes: config.get("telemetry.max.bytes"),
    // Deltas would have to be added up by whoever reads them; ours are added up as they come.
    deltaTemporality: true,
    requestedMetrics: told.wanted.metrics,
  };
};
