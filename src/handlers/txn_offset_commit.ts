/**
 * Stores offsets that count when the producer's transaction commits. Version 3 on names the member that read up to
 * them (KIP-447), version 5 on makes them part of the transaction (KIP-890), version 6 names topics by id.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { txnOffsetCommit } from "../codec/messages/txn_offset_commit.ts";
import { commitTopics } from "./commit_topics.ts";
import type { Handler } from "./context.ts";

/** The first version that names topics by id. */
const firstWithTopicIds = 6;
/** The first version whose clients bear COORDINATOR_LOAD_IN_PROGRESS: before, producers fell over it. */
const firstToWaitForLoading = 2;

export const txnOffsetCommitHandler: Handler<typeof txnOffsetCommit> = async (
  request,
  { services, version },
) => {
  const { cluster: { image }, groups } = services;
  const { transactionalId, producerId, producerEpoch } = request;
  const topics = await commitTopics(
    request.topics,
    version >= firstWithTopicIds,
    image,
    (topics) =>
      groups.commitInTransaction({
        ...request,
        retentionTimeMs: -1,
        transactionalId,
        transaction: { producerId: Number(producerId), producerEpoch },
        topics,
        apiVersion: version,
      }),
  );
  if (version < firstToWaitForLoading) {
    for (const { partitions } of topics) {
      for (const partition of partitions) {
        if (partition.errorCode !== ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) continue;
        partition.errorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE;
      }
    }
  }
  return { topics };
};
