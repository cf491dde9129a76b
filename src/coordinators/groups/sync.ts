/**
 * SyncGroup: members ask for their assignment, and the leader's request brings it for all. Followers are held until
 * the leader has come.
 */
import { ErrorCode } from "../../codec/errors.ts";
import type { Ticket } from "../machine.ts";
import { memberError } from "./group.ts";
import { changeMember, completeSync, syncReceived } from "./rebalance.ts";
import type { SyncRequest } from "./requests.ts";
import { syncError, type Turn } from "./turn.ts";
import type { ClassicGroup } from "./types.ts";

export function sync(turn: Turn, ticket: Ticket, request: SyncRequest): void {
  const group = turn.group(request.groupId);
  if (group === undefined) return turn.reply(ticket, syncError(ErrorCode.UNKNOWN_MEMBER_ID));
  const error = syncRequestError(group, request);
  if (error !== ErrorCode.NONE) return turn.reply(ticket, syncError(error));
  const { memberId } = request;
  if (group.state === "Stable" && !group.pendingSyncs.has(memberId)) {
    return turn.reply(ticket, currentAssignment(group, memberId));
  }
  const draft = turn.edit(request.groupId);
  syncReceived(draft, memberId);
  if (draft.state === "Stable") return turn.reply(ticket, currentAssignment(draft, memberId));

  const member = draft.members.get(memberId)!;
  // As with JoinGroup: the client has given up its earlier request, which still gets an answer.
  if (member.awaitingSync !== null) {
    turn.reply(member.awaitingSync, syncError(ErrorCode.REBALANCE_IN_PROGRESS));
  }
  changeMember(draft, member, { awaitingSync: ticket, sessionDeadline: Infinity });
  if (draft.leader === memberId) {
    completeSync(turn, draft, new Map(request.assignments.map((one) => [one.memberId, one.assignment])));
  }
}

/** Who asks comes first, then the generation, then the protocol (KIP-559), then whether it is the time to ask. */
function syncRequestError(group: ClassicGroup, request: SyncRequest): number {
  const error = memberError(group, request.memberId, request.groupInstanceId);
  if (error !== ErrorCode.NONE) return error;
  if (request.generationId !== group.generationId) return ErrorCode.ILLEGAL_GENERATION;
  if (differ(request.protocolType, group.protocolType) || differ(request.protocolName, group.protocolName)) {
    return ErrorCode.INCONSISTENT_GROUP_PROTOCOL;
  }
  return group.state === "PreparingRebalance" ? ErrorCode.REBALANCE_IN_PROGRESS : ErrorCode.NONE;
}

function differ(asked: string | null, actual: string | null): boolean {
  return asked !== null && actual !== null && asked !== actual;
}

function currentAssignment(group: ClassicGroup, memberId: string) {
  return {
    errorCode: ErrorCode.NONE,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    assignment: group.members.get(memberId)!.assignment,
  };
}
