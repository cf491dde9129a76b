/** GetTelemetrySubscriptions (key 71): tells a client which of its metrics are wanted (KIP-714). */
import {
  api,
  array,
  bool,
  int16,
  int32,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  uuid,
} from "../schema.ts";

export const getTelemetrySubscriptions = api({
  key: 71,
  name: "GetTelemetrySubscriptions",
  versions: [0, 0],
  flexible: 0,
  request: {
    clientInstanceId: uuid,
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    clientInstanceId: uuid,
    subscriptionId: int32,
    acceptedCompressionTypes: array(int8),
    pushIntervalMs: int32,
    telemetryMaxBytes: int32,
    deltaTemporality: bool,
    requestedMetrics: array(string),
  },
});

export type GetTelemetrySubscriptionsRequest = RequestOf<typeof getTelemetrySubscriptions>;
export type GetTelemetrySubscriptionsResponse = ResponseOf<typeof getTelemetrySubscriptions>;
