/** Deletes groups without members, and their offsets. A group that is named twice is answered once, as in Kafka. */
import type { deleteGroups } from "../codec/messages/delete_groups.ts";
import type { Handler } from "./context.ts";
import { inSlices } from "./pacing.ts";

export const deleteGroupsHandler: Handler<typeof deleteGroups> = async (request, { services }) => ({
  results: (await inSlices(
    new Set(request.groupsNames),
    services.clock,
    (groupId) => services.groups.delete([groupId]),
  )).flat(),
});
