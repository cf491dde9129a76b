/** Stores the offsets that a group has consumed to. Version 10 names topics by id. */
import type { offsetCommit } from "../codec/messages/offset_commit.ts";
import { commitTopics, MAX_RETENTION_MS } from "./commit_topics.ts";
import type { Handler } from "./context.ts";

/** The first version that names topics by id. */
const firstWithTopicIds = 10;

export const offsetCommitHandler: Handler<typeof offsetCommit> = async (request, { services, version }) => {
  const { cluster: { image }, groups } = services;
  const topics = await commitTopics(
    request.topics,
    version >= firstWithTopicIds,
    image,
    (topics) =>
      groups.commitOffsets({
        ...request,
        retentionTimeMs: Math.min(Number(request.retentionTimeMs), MAX_RETENTION_MS),
        topics,
        apiVersion: version,
      }),
  );
  return { topics };
};
