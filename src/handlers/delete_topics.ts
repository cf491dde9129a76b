/** Deletes topics by name, or from version 6 by id. */
import { ErrorCode } from "../codec/errors.ts";
import type { deleteTopics } from "../codec/messages/delete_topics.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { Handler } from "./context.ts";
import { isLate, LATE } from "./late.ts";
import { mutationAllowance } from "./mutation_quota.ts";

/** The first version that knows TOPIC_DELETION_DISABLED; before it that is an invalid request. */
const firstWithDeletionDisabled = 3;
/** The first version that takes ids. */
const firstWithTopicIds = 6;
/** The first version that knows THROTTLING_QUOTA_EXCEEDED (KIP-599). */
const firstWithQuotaErrors = 5;

export const deleteTopicsHandler: Handler<typeof deleteTopics> = async (request, context) => {
  const { services, version } = context;
  const topics = version >= firstWithTopicIds
    ? request.topics
    : request.topicNames.map((name) => ({ name, topicId: ZERO_UUID }));
  if (isLate(request.timeoutMs)) return { responses: topics.map((topic) => ({ ...topic, ...LATE })) };
  const allowance = mutationAllowance(context, firstWithQuotaErrors);
  const responses = await services.cluster.deleteTopics(topics, allowance);
  const throttleTimeMs = allowance?.throttleMs() ?? 0;
  if (version >= firstWithDeletionDisabled) return { throttleTimeMs, responses };
  return {
    throttleTimeMs,
    responses: responses.map((r) =>
      r.errorCode === ErrorCode.TOPIC_DELETION_DISABLED ? { ...r, errorCode: ErrorCode.INVALID_REQUEST } : r
    ),
  };
};
