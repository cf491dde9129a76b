/** A client as subscriptions to its metrics look at it. */
import { shortCopy } from "../base/short_copy.ts";
import type { TelemetryClient } from "../telemetry/subscriptions.ts";
import type { RequestContext } from "./context.ts";

/** What Kafka takes for the software of a client that did not say. */
const UNKNOWN = "unknown";
/** Client ids may have 32 KB, and one is kept for each instance; patterns see no more either. */
const MAX_CLIENT_ID_LENGTH = 255;

export function telemetryClient({ clientId, software, clientHost, remote }: RequestContext): TelemetryClient {
  return {
    clientId: shortCopy(clientId, MAX_CLIENT_ID_LENGTH),
    softwareName: software?.name ?? UNKNOWN,
    softwareVersion: software?.version ?? UNKNOWN,
    // Without the slash that Kafka writes before it elsewhere.
    address: clientHost.slice(1),
    port: remote.slice(remote.lastIndexOf(":") + 1),
  };
}
