/** Creates topics. From version 5 the answer tells every setting that the topic has, with its source. */
import { ErrorCode } from "../codec/errors.ts";
import type { createTopics } from "../codec/messages/create_topics.ts";
import { refused } from "../cluster/create_topics.ts";
import { TopicSettings } from "../config/resource_settings.ts";
import type { Handler } from "./context.ts";
import { isLate, LATE } from "./late.ts";
import { mutationAllowance } from "./mutation_quota.ts";

/** The first version that knows THROTTLING_QUOTA_EXCEEDED (KIP-599). */
const firstWithQuotaErrors = 6;

export const createTopicsHandler: Handler<typeof createTopics> = async (request, context) => {
  const { services } = context;
  if (isLate(request.timeoutMs)) {
    return { topics: request.topics.map(({ name }) => ({ ...refused(name, LATE), configs: [] })) };
  }
  const allowance = mutationAllowance(context, firstWithQuotaErrors);
  const results = await services.cluster.createTopics(request.topics, request.validateOnly, allowance);
  return {
    throttleTimeMs: allowance?.throttleMs() ?? 0,
    topics: results.map((result) => ({
      ...result,
      configs: result.errorCode !== ErrorCode.NONE ? [] : new TopicSettings(result.configs, services.config)
        .describe()
        .map(({ name, value, readOnly, source, sensitive }) => ({
          name,
          value,
          readOnly,
          configSource: source,
          isSensitive: sensitive,
        })),
    })),
  };
};
