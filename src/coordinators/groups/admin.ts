/** ListGroups, DescribeGroups and DeleteGroups: what administrators ask about groups. */
import { ErrorCode } from "../../codec/errors.ts";
import type { Ticket } from "../machine.ts";
import { dropAllOffsets } from "./offsets.ts";
import type { DeletedGroup, DescribedGroup, ListedGroup, ListRequest } from "./requests.ts";
import { metadataFor, NO_BYTES, type Turn } from "./turn.ts";

/** How ListGroups calls the groups of the classic protocol. */
const CLASSIC = "classic";

/** From here on a group that does not exist is an error; before, it was described as dead (KIP-1043). */
const describesMissingAsError = 6;

export function list(turn: Turn, ticket: Ticket, request: ListRequest): void {
  const states = request.statesFilter.map((state) => state.toLowerCase());
  const types = request.typesFilter.map((type) => type.toLowerCase());
  const groups: ListedGroup[] = [];
  if (types.length === 0 || types.includes(CLASSIC)) {
    for (const group of turn.groups()) {
      if (states.length > 0 && !states.includes(group.state.toLowerCase())) continue;
      groups.push({
        groupId: group.groupId,
        protocolType: group.protocolType ?? "",
        groupState: group.state,
        groupType: CLASSIC,
      });
    }
  }
  turn.reply(ticket, { errorCode: ErrorCode.NONE, groups });
}

export function describe(turn: Turn, ticket: Ticket, groupId: string, apiVersion: number): void {
  const group = turn.group(groupId);
  if (group === undefined) {
    const isError = apiVersion >= describesMissingAsError;
    const errorCode = isError ? ErrorCode.GROUP_ID_NOT_FOUND : ErrorCode.NONE;
    return turn.reply(ticket, {
      ...describeFailed(groupId, errorCode, isError ? `Group ${groupId} not found.` : null),
      groupState: "Dead",
    });
  }
  // Until the group is stable, members and protocol belong to different generations.
  const isStable = group.state === "Stable";
  turn.reply(ticket, {
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    groupId,
    groupState: group.state,
    protocolType: group.protocolType ?? "",
    protocolData: isStable ? group.protocolName ?? "" : "",
    members: [...group.members.values()].map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      memberMetadata: isStable ? metadataFor(member, group.protocolName) : NO_BYTES,
      memberAssignment: member.assignment,
    })),
  });
}

export function describeFailed(
  groupId: string,
  errorCode: number,
  errorMessage: string | null = null,
): DescribedGroup {
  return {
    errorCode,
    errorMessage,
    groupId,
    groupState: "",
    protocolType: "",
    protocolData: "",
    members: [],
  };
}

export function deleteGroup(turn: Turn, ticket: Ticket, groupId: string): void {
  const group = turn.group(groupId);
  if (group === undefined) return turn.reply(ticket, deleteFailed(groupId, ErrorCode.GROUP_ID_NOT_FOUND));
  if (group.state !== "Empty") return turn.reply(ticket, deleteFailed(groupId, ErrorCode.NON_EMPTY_GROUP));
  turn.divisible = true;
  dropAllOffsets(turn, groupId);
  turn.logGroupGone(groupId);
  turn.reply(ticket, deleteFailed(groupId, ErrorCode.NONE));
}

export function deleteFailed(
  groupId: string,
  errorCode: number,
  errorMessage: string | null = null,
): DeletedGroup {
  return { groupId, errorCode, errorMessage };
}
