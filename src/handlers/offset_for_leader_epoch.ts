/**
 * Tells where a leader epoch ended (KIP-101, KIP-279, KIP-320): a reader whose own end is beyond it has records that
 * the leader does not. An epoch later than any known gives (-1, -1).
 */
import { ErrorCode } from "../codec/errors.ts";
import type {
  offsetForLeaderEpoch,
  OffsetForLeaderEpochRequest,
} from "../codec/messages/offset_for_leader_epoch.ts";
import type { Handler, RequestContext } from "./context.ts";
import { whyNotHosted } from "./hosted.ts";
import { withStorageErrors } from "./storage_errors.ts";

type Asked = OffsetForLeaderEpochRequest["topics"][number]["partitions"][number];

export const offsetForLeaderEpochHandler: Handler<typeof offsetForLeaderEpoch> = (request, context) => ({
  topics: request.topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map((asked) => answer(topic, asked, context)),
  })),
});

function answer(topic: string, asked: Asked, { services }: RequestContext) {
  const refuse = (errorCode: number) => ({
    partition: asked.partition,
    errorCode,
    leaderEpoch: -1,
    endOffset: -1,
  });
  const partition = services.replicas.get(topic, asked.partition);
  if (partition === undefined) return refuse(whyNotHosted(topic, asked.partition, services));
  const stale = partition.checkLeaderEpoch(asked.currentLeaderEpoch);
  if (stale !== ErrorCode.NONE) return refuse(stale);
  return withStorageErrors(() => {
    const end = partition.log.endOffsetForEpoch(asked.leaderEpoch, partition.leaderEpoch);
    return { ...refuse(ErrorCode.NONE), ...end };
  }, refuse);
}
