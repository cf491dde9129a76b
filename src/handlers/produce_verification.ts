/**
 * Whether a producer's transaction has the partitions that its batches are for (KIP-890). Only the first batch of a
 * transaction at a partition has to wait for that: from Produce version 12 on its coordinator adds the partition to the
 * transaction, before that it says whether the client did.
 */
import { ErrorCode, errorName } from "../codec/errors.ts";
import type { BatchView } from "../codec/batch.ts";
import { type Partition, UNVERIFIED } from "../replication/partition.ts";
import { VerificationGuard } from "../replication/verifications.ts";
import type { Verification } from "../storage/producers/producer_state.ts";
import type { Services } from "./context.ts";
import { withStorageErrors } from "./storage_errors.ts";

/** The first version that adds partitions, and whose clients begin each transaction with sequence 0. */
const firstThatAdds = 12;
/** The first version that knows TRANSACTION_ABORTABLE. */
const firstWithAbortable = 11;

/** A transactional batch and where it goes. */
export interface TransactionalBatch {
  readonly partition: Partition;
  readonly batch: BatchView;
}

export interface TransactionalRequest {
  readonly transactionalId: string;
  readonly version: number;
  readonly timeoutMs: number;
}

/** Why a batch is not appended: codes that the version of its producer knows what to do with. */
export interface VerificationProblem {
  readonly errorCode: number;
  readonly text: string;
}

/** What a batch is appended under, at once or when its coordinator has answered. */
export interface Verifying {
  readonly verification: Verification | null;
  /** Null: there is nothing to wait for. Those of a producer at a partition resolve in the order in which they came. */
  readonly answer: Promise<VerificationProblem | null> | null;
}

/** Asks once for all of the request's batches, which are of one producer, where that is needed. */
export function verify(
  batches: readonly TransactionalBatch[],
  { transactionalId, version, timeoutMs }: TransactionalRequest,
  services: Services,
): Verifying[] {
  if (batches.length === 0) return [];
  const adds = version >= firstThatAdds;
  if (!adds && !services.config.get("transaction.partition.verification.enable")) {
    return batches.map(() => ({ verification: UNVERIFIED, answer: null }));
  }
  const [{ batch: { producerId, producerEpoch } }] = batches;
  const guards = batches.map(({ partition, batch: { baseSequence } }) =>
    // Where the disk fails, so does the append.
    withStorageErrors(
      () => partition.beginVerification(producerId, producerEpoch, baseSequence, adds),
      () => null,
    )
  );
  const askedOf = guards.map((guard) => guard instanceof VerificationGuard ? guard.asked : null);
  const news = batches.flatMap(({ partition }, i) => {
    const guard = guards[i];
    const isNew = guard instanceof VerificationGuard && askedOf[i]?.producerEpoch !== producerEpoch;
    return isNew ? [{ i, partition, guard }] : [];
  });
  if (news.length > 0) {
    const partitions = news.map(({ partition: { topic, index } }) => ({ topic, partition: index }));
    const request = { transactionalId, producerId, producerEpoch, partitions, verifyOnly: !adds };
    const answer = ask(request, timeoutMs, services, () => {
      for (const { i, guard } of news) if (guard.asked === askedOf[i]) guard.isOutdated = false;
    });
    for (const [at, { i, guard }] of news.entries()) {
      const asked = { producerEpoch, errorCode: answer.then((codes) => codes[at]) };
      askedOf[i] = asked;
      // Those of the newest epoch wait for each other, and are not let past by what an older one hears.
      if (guard.asked !== null && guard.asked.producerEpoch > producerEpoch) continue;
      guard.asked = asked;
      const done = () => {
        // What a newer epoch has asked meanwhile is still to be waited for.
        if (guard.asked === asked) guard.asked = null;
      };
      answer.then(done, done);
    }
  }
  return guards.map((guard, i) => {
    if (guard === "fenced") return { verification: null, answer: Promise.resolve(fencedHere) };
    const errorCode = askedOf[i]?.errorCode;
    return { verification: guard, answer: errorCode?.then((code) => problemOf(code, version)) ?? null };
  });
}

const fencedHere: VerificationProblem = {
  errorCode: ErrorCode.INVALID_PRODUCER_EPOCH,
  text: "The partition has seen a newer epoch of the producer",
};

type AddPartitions = Parameters<Services["transactions"]["addPartitions"]>[0];

/**
 * The coordinator's answer. Where it adds partitions, the transaction before may still be ending: it is asked again soon,
 * since clients would wait longer. `asksAgain` is called right before that: the markers that have come since were of that
 * transaction.
 */
async function ask(
  request: AddPartitions,
  timeoutMs: number,
  services: Services,
  asksAgain: () => void,
): Promise<readonly number[]> {
  const { clock, config, transactions } = services;
  const longestWaitMs = config.get("add.partitions.to.txn.retry.backoff.ms");
  const endMs = clock.monotonic() +
    Math.min(config.get("add.partitions.to.txn.retry.backoff.max.ms"), timeoutMs);
  for (let waitMs = 1;; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    const { errorCodes } = await transactions.addPartitions(request);
    const isEnding = errorCodes.includes(ErrorCode.CONCURRENT_TRANSACTIONS);
    if (!isEnding || request.verifyOnly || clock.monotonic() >= endMs) return errorCodes;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    asksAgain();
  }
}

const coordinatorIsAway: ReadonlySet<number> = new Set([
  ErrorCode.NETWORK_EXCEPTION,
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
]);

/** What a producer is told of its coordinator's answer; null when the partition is in the transaction. */
function problemOf(errorCode: number, version: number): VerificationProblem | null {
  if (errorCode === ErrorCode.NONE) return null;
  if (errorCode === ErrorCode.PRODUCER_FENCED) {
    const text =
      "A newer producer with the same transactional id has fenced this one, or its transaction timed out";
    return { errorCode: ErrorCode.INVALID_PRODUCER_EPOCH, text };
  }
  const text = `The coordinator does not have the partition in the transaction: ${errorName(errorCode)}`;
  if (errorCode === ErrorCode.TRANSACTION_ABORTABLE && version < firstWithAbortable) {
    return { errorCode: ErrorCode.INVALID_TXN_STATE, text };
  }
  // One that clients of any age send the batch again after, without looking for another leader.
  const isPassing = coordinatorIsAway.has(errorCode) ||
    (errorCode === ErrorCode.CONCURRENT_TRANSACTIONS && version < firstThatAdds);
  return { errorCode: isPassing ? ErrorCode.NOT_ENOUGH_REPLICAS : errorCode, text };
}
