/** Broker settings of transactions and idempotent producers. */
import { boolean, int, short } from "./setting.ts";

/** One row each; see setting.ts for the words. */
export const transactionRows = {
  "transaction.state.log.min.isr": int({
    or: 2,
    min: 1,
    doc: "min.insync.replicas of __transaction_state, or the number of brokers when that is smaller.",
  }),
  "transaction.state.log.load.buffer.size": int({
    or: 5242880,
    min: 1,
    doc: "Bytes that are read at a time when transactions are loaded.",
  }),
  "transaction.state.log.replication.factor": short({
    or: 3,
    min: 1,
    doc: "Replicas of __transaction_state, or the number of brokers when that is smaller.",
  }),
  "transaction.state.log.num.partitions": int({
    or: 50,
    min: 1,
    doc: "Partitions of __transaction_state; not to be changed once the topic exists.",
  }),
  "transaction.state.log.segment.bytes": int({
    or: 104857600,
    min: 1,
    doc: "Segment size of __transaction_state.",
  }),
  "transaction.partition.verification.enable": boolean({
    or: true,
    update: "cluster-wide",
    doc: "Whether a partition asks the coordinator before it takes part in a transaction (KIP-890).",
  }),
  "producer.id.expiration.ms": int({
    or: 86400000,
    min: 1,
    update: "cluster-wide",
    doc: "How long a partition remembers an idle producer's sequence.",
  }),
  "transactional.id.expiration.ms": int({
    or: 604800000,
    min: 1,
    doc: "How long an idle transactional id is remembered.",
  }),
  "transaction.max.timeout.ms": int({
    or: 900000,
    min: 1,
    doc: "Longest transaction timeout that a producer may ask for.",
  }),
  "transaction.abort.timed.out.transaction.cleanup.interval.ms": int({
    or: 10000,
    min: 1,
    doc: "How often transactions are looked at for those past their timeout.",
  }),
  "transaction.remove.expired.transaction.cleanup.interval.ms": int({
    or: 3600000,
    min: 1,
    doc: "How often transactional ids are looked at for expiry.",
  }),
  "transaction.two.phase.commit.enable": boolean({
    or: false,
    doc: "Whether producers may take part in two-phase commits (KIP-939).",
  }),
  "unstable.api.versions.enable": boolean({
    or: false,
    internal: true,
    doc: "Whether versions of APIs are served that Kafka does not call stable: InitProducerId 6 (KIP-939).",
  }),
  "add.partitions.to.txn.retry.backoff.max.ms": int({ or: 100, min: 0, doc: "Longest such wait." }),
  "add.partitions.to.txn.retry.backoff.ms": int({
    or: 20,
    min: 1,
    doc: "First wait before the broker repeats its own AddPartitionsToTxn.",
  }),
};
