/**
 * Moves the start of partitions' logs forward, to an offset or to the high watermark. What was answered without an
 * error stays deleted when the broker is killed.
 */
import { isInternalTopic } from "../cluster/topic_names.ts";
import { ErrorCode } from "../codec/errors.ts";
import type { deleteRecords, DeleteRecordsRequest } from "../codec/messages/delete_records.ts";
import type { Handler, Services } from "./context.ts";
import { whyNotHosted } from "./hosted.ts";
import { inSlices } from "./pacing.ts";

/** Stands for the high watermark. */
const UP_TO_HIGH_WATERMARK = -1;

/** What a partition that was refused has in the place of its start. */
const NO_LOW_WATERMARK = -1;

interface Answer {
  readonly partitionIndex: number;
  readonly lowWatermark: number;
  readonly errorCode: number;
}

export const deleteRecordsHandler: Handler<typeof deleteRecords> = async (request, { services }) => {
  // Each may open a log, and writes a file.
  const topics = await inSlices(
    [...offsetsOf(request.topics)],
    services.clock,
    async ([name, offsets]) => ({
      name,
      partitions: await inSlices(
        [...offsets],
        services.clock,
        ([index, offset]) => deleteBefore(name, index, offset, services),
      ),
    }),
  );
  if (services.logs.commitStarts()) return { topics };
  // Whoever hears of a failure asks again; whoever hears of none may rely on it.
  const unsure = (answer: Answer) =>
    answer.errorCode === ErrorCode.NONE
      ? refused(answer.partitionIndex, ErrorCode.KAFKA_STORAGE_ERROR)
      : answer;
  return { topics: topics.map(({ name, partitions }) => ({ name, partitions: partitions.map(unsure) })) };
};

/** The offset for each partition by topic; of a partition that is named twice the last one, as in Kafka. */
function offsetsOf(topics: DeleteRecordsRequest["topics"]): Map<string, Map<number, number>> {
  const offsets = new Map<string, Map<number, number>>();
  for (const { name, partitions } of topics) {
    // Kafka's answer is made of partitions: of a topic without any it has nothing to say.
    if (partitions.length === 0) continue;
    let ofTopic = offsets.get(name);
    if (ofTopic === undefined) offsets.set(name, ofTopic = new Map());
    for (const { partitionIndex, offset } of partitions) ofTopic.set(partitionIndex, Number(offset));
  }
  return offsets;
}

function deleteBefore(topic: string, index: number, asked: number, services: Services): Answer {
  const partition = services.replicas.get(topic, index);
  if (partition === undefined) return refused(index, whyNotHosted(topic, index, services));
  if (isInternalTopic(topic)) return refused(index, ErrorCode.INVALID_TOPIC_EXCEPTION);
  const { log, highWatermark } = partition;
  const { cleanupPolicy } = log.config;
  // A topic that is only compacted promises the last record of every key.
  if (cleanupPolicy.compact && !cleanupPolicy.delete) return refused(index, ErrorCode.POLICY_VIOLATION);
  const offset = asked === UP_TO_HIGH_WATERMARK ? highWatermark : asked;
  if (offset < 0 || offset > highWatermark) return refused(index, ErrorCode.OFFSET_OUT_OF_RANGE);
  const errorCode = services.logs.deleteRecordsBefore(log, offset);
  if (errorCode !== ErrorCode.NONE) return refused(index, errorCode);
  return { partitionIndex: index, lowWatermark: log.logStartOffset, errorCode };
}

function refused(partitionIndex: number, errorCode: number): Answer {
  return { partitionIndex, lowWatermark: NO_LOW_WATERMARK, errorCode };
}
