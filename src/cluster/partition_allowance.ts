/** How many partitions a request may make or delete, as whoever keeps quotas decides. */
import { ErrorCode } from "../codec/errors.ts";

export interface PartitionAllowance {
  /** Counts that `partitions` are to be made or deleted; false when they must not be. */
  take(partitions: number): boolean;
}

/** The answer for a topic that the allowance has no room for; without a text, as Kafka has it. */
export const OVER_QUOTA = { errorCode: ErrorCode.THROTTLING_QUOTA_EXCEEDED, errorMessage: null } as const;
