/** Why a partition that a client asks for is not here. */
import { ErrorCode } from "../codec/errors.ts";
import type { Services } from "./context.ts";

/**
 * KAFKA_STORAGE_ERROR where the partition exists and its log could not be made: the client is told of the disk, not of
 * a topic that its metadata has. Both errors let it ask again.
 */
export function whyNotHosted(topic: string, index: number, { cluster }: Services): number {
  return cluster.image.partition(topic, index) === undefined
    ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    : ErrorCode.KAFKA_STORAGE_ERROR;
}
