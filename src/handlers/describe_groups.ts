/** Tells the state and the members of classic groups. */
import { ErrorCode } from "../codec/errors.ts";
import type { describeGroups } from "../codec/messages/describe_groups.ts";
import { groupOperations, operationsOmitted } from "./authorized_operations.ts";
import type { Handler } from "./context.ts";

export const describeGroupsHandler: Handler<typeof describeGroups> = async (
  request,
  { services, version },
) => {
  const groups = await services.groups.describe(request.groups, version);
  return {
    groups: groups.map((group) => ({
      ...group,
      authorizedOperations: request.includeAuthorizedOperations && group.errorCode === ErrorCode.NONE
        ? groupOperations
        : operationsOmitted,
    })),
  };
};
