/** Takes members out of a classic group. Versions 0 to 2 name one member and have one error. */
import { ErrorCode } from "../codec/errors.ts";
import type { leaveGroup } from "../codec/messages/leave_group.ts";
import type { Handler } from "./context.ts";

/** The first version with a list of members. */
const firstWithMembers = 3;

export const leaveGroupHandler: Handler<typeof leaveGroup> = async (request, { services, version }) => {
  const batch = version >= firstWithMembers;
  const members = batch ? request.members : [{ memberId: request.memberId, groupInstanceId: null }];
  const reply = await services.groups.leave({ groupId: request.groupId, members });
  if (batch || reply.errorCode !== ErrorCode.NONE) return reply;
  return { ...reply, errorCode: reply.members[0]?.errorCode ?? ErrorCode.NONE };
};
