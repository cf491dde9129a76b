/** Deletes topics by name, or from version 6 by id. */
import type { deleteTopics } from "../codec/messages/delete_topics.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { Handler } from "./context.ts";

/** The first version that takes ids. */
const firstWithTopicIds = 6;

export const deleteTopicsHandler: Handler<typeof deleteTopics> = async (request, { services, version }) => {
  const topics = version >= firstWithTopicIds
    ? request.topics
    : request.topicNames.map((name) => ({ name, topicId: ZERO_UUID }));
  return { responses: await services.cluster.deleteTopics(topics) };
};
