/** Makes a client a member of a classic group; the answer waits for the rebalance to complete. */
import type { joinGroup } from "../codec/messages/join_group.ts";
import type { Handler } from "./context.ts";

/** The first version that can say "no protocol" with null; before it that is an empty name. */
const firstWithNullProtocol = 7;

export const joinGroupHandler: Handler<typeof joinGroup> = async (request, context) => {
  const { services, version, clientId, clientHost } = context;
  const reply = await services.groups.join({ ...request, clientId, clientHost, apiVersion: version });
  return { ...reply, protocolName: reply.protocolName ?? (version < firstWithNullProtocol ? "" : null) };
};
