/** A client as subscriptions to its metrics look at it. */
import type { TelemetryClient } from "../telemetry/subscriptions.ts";
import type { RequestContext } from "./context.ts";

/** What Kafka takes for the software of a client that did not say. */
const UNKNOWN = "unknown";

export function telemetryClient({ clientId, software, clientHost, remote }: RequestContext): TelemetryClient {
  return {
    clientId,
    softwareName: software?.name ?? UNKNOWN,
    softwareVersion: software?.version ?? UNKNOWN,
    // Without the slash that Kafka writes before it elsewhere.
    address: clientHost.slice(1),
    port: remote.slice(remote.lastIndexOf(":") + 1),
  };
}
