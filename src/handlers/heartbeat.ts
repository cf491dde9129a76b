/** Keeps a member of a classic group alive. */
import type { heartbeat } from "../codec/messages/heartbeat.ts";
import type { Handler } from "./context.ts";

export const heartbeatHandler: Handler<typeof heartbeat> = (request, { services }) =>
  services.groups.heartbeat(request);
