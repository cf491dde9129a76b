/** PushTelemetry (key 72): delivers a client's metrics (KIP-714). */
import { api, bool, bytes, int16, int32, int8, type RequestOf, type ResponseOf, uuid } from "../schema.ts";

export const pushTelemetry = api({
  key: 72,
  name: "PushTelemetry",
  versions: [0, 0],
  flexible: 0,
  request: {
    clientInstanceId: uuid,
    subscriptionId: int32,
    terminating: bool,
    compressionType: int8,
    metrics: bytes,
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
  },
});

export type PushTelemetryRequest = RequestOf<typeof pushTelemetry>;
export type PushTelemetryResponse = ResponseOf<typeof pushTelemetry>;
