/** Deletes topics by name, or from version 6 by id. */
import { ErrorCode } from "../codec/errors.ts";
import type { deleteTopics } from "../codec/messages/delete_topics.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { Handler } from "./context.ts";

/** The first version that knows TOPIC_DELETION_DISABLED; before it that is an invalid request. */
const firstWithDeletionDisabled = 3;
/** The first version that takes ids. */
const firstWithTopicIds = 6;

export const deleteTopicsHandler: Handler<typeof deleteTopics> = async (request, { services, version }) => {
  const topics = version >= firstWithTopicIds
    ? request.topics
    : request.topicNames.map((name) => ({ name, topicId: ZERO_UUID }));
  const responses = await services.cluster.deleteTopics(topics);
  if (version >= firstWithDeletionDisabled) return { responses };
  return {
    responses: responses.map((r) =>
      r.errorCode === ErrorCode.TOPIC_DELETION_DISABLED ? { ...r, errorCode: ErrorCode.INVALID_REQUEST } : r
    ),
  };
};
