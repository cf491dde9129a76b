/** Deletes groups without members, and their offsets. */
import type { deleteGroups } from "../codec/messages/delete_groups.ts";
import type { Handler } from "./context.ts";

export const deleteGroupsHandler: Handler<typeof deleteGroups> = async (request, { services }) => ({
  results: await services.groups.delete(request.groupsNames),
});
