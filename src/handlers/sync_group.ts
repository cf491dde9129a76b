/** Takes the leader's assignment, and gives each member of a classic group its own. */
import type { syncGroup } from "../codec/messages/sync_group.ts";
import type { Handler } from "./context.ts";

export const syncGroupHandler: Handler<typeof syncGroup> = (request, { services, version }) =>
  services.groups.sync({ ...request, apiVersion: version });
