/** Lists the groups that this broker coordinates, by state and type where asked to. */
import type { listGroups } from "../codec/messages/list_groups.ts";
import type { Handler } from "./context.ts";

export const listGroupsHandler: Handler<typeof listGroups> = (request, { services }) =>
  services.groups.list(request);
