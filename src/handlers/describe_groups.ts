/** Tells the state and the members of classic groups: of each once, however often it is named. */
import { ErrorCode } from "../codec/errors.ts";
import type { describeGroups } from "../codec/messages/describe_groups.ts";
import { groupOperations, operationsOmitted } from "./authorized_operations.ts";
import type { Handler } from "./context.ts";
import { inSlices } from "./pacing.ts";

export const describeGroupsHandler: Handler<typeof describeGroups> = async (
  request,
  { services, version },
) => {
  const groups = await inSlices(
    new Set(request.groups),
    services.clock,
    (groupId) => services.groups.describe([groupId], version),
  );
  return {
    groups: groups.flat().map((group) => ({
      ...group,
      authorizedOperations: request.includeAuthorizedOperations && group.errorCode === ErrorCode.NONE
        ? groupOperations
        : operationsOmitted,
    })),
  };
};
