/** What is asked of kafka-transactions.sh, and the transactions that it is asked about. */

import type { Step } from "./steps.ts";
import { commit, type Deed, hang, open } from "./transactions.ts";

const VERIFICATION = "transaction.partition.verification.enable";

function transactions(name: string, ...args: string[]): Step {
  return { name: `transactions ${name}`, tool: "transactions", args };
}

function after(before: Deed, step: Step): Step {
  return { ...step, before };
}

function producersOf(name: string, partition: number, ...more: string[]): Step {
  const of = ["--topic", "txn", "--partition", String(partition)];
  return transactions(`describe-producers ${name}`, "describe-producers", ...of, ...more);
}

/** Gives up soon what it would ask for again and again. */
function impatient(step: Step): Step {
  return {
    ...step,
    args: ["--command-config", "{file:impatient.properties}", ...step.args],
    files: { "impatient.properties": "default.api.timeout.ms=3000\nrequest.timeout.ms=2000\n" },
  };
}

function findHanging(name: string, ...args: string[]): Step {
  return transactions(`find-hanging ${name}`, "find-hanging", ...args);
}

function configs(name: string, ...change: string[]): Step {
  return { name: `configs ${name}`, tool: "configs", args: ["--alter", "--broker-defaults", ...change] };
}

const steps: Step[] = [
  {
    name: "topics --create for transactions",
    tool: "topics",
    args: ["--create", "--topic", "txn", "--partitions", "2"],
  },
  transactions("list, of none", "list"),
  transactions("describe of none", "describe", "--transactional-id", "nobody"),
  producersOf("of none", 0),

  after(open("open", "txn", 0), transactions("list", "list")),
  transactions("list --duration-filter", "list", "--duration-filter", "3600000"),
  transactions("list --duration-filter of all", "list", "--duration-filter", "-1"),
  transactions("list --transactional-id-pattern", "list", "--transactional-id-pattern", "o.*n"),
  transactions("list --transactional-id-pattern of none", "list", "--transactional-id-pattern", "pen"),
  transactions("list --transactional-id-pattern that is none", "list", "--transactional-id-pattern", "(o"),
  transactions("describe", "describe", "--transactional-id", "open"),
  producersOf("of an open one", 0),
  producersOf("--broker-id", 0, "--broker-id", "1"),
  impatient(producersOf("--broker-id of a broker that there is not", 0, "--broker-id", "7")),
  impatient(producersOf("of a partition that there is not", 7)),
  findHanging("of one that its coordinator knows", "--topic", "txn", "--max-transaction-timeout", "0"),
  findHanging("without saying where"),
  after(commit("open"), producersOf("after a commit", 0)),
  transactions("describe after a commit", "describe", "--transactional-id", "open"),
  transactions("list after a commit", "list"),

  configs("--alter so that transactions can hang", "--add-config", `${VERIFICATION}=false`),
  after(hang("lost", "txn", 1), findHanging("--broker-id", "--broker-id", "1")),
  findHanging("--topic", "--topic", "txn"),
  findHanging("--partition", "--topic", "txn", "--partition", "1"),
  findHanging("of another partition", "--topic", "txn", "--partition", "0"),
  findHanging("--max-transaction-timeout", "--broker-id", "1", "--max-transaction-timeout", "120"),
  producersOf("of a hanging one", 1),
  transactions(
    "abort at another offset",
    "abort",
    "--topic",
    "txn",
    "--partition",
    "1",
    "--start-offset",
    "7",
  ),
  transactions("abort", "abort", "--topic", "txn", "--partition", "1", "--start-offset", "0"),
  transactions("abort again", "abort", "--topic", "txn", "--partition", "1", "--start-offset", "0"),
  findHanging("after an abort", "--broker-id", "1"),
  producersOf("after an abort", 1),
  configs("--alter so that transactions cannot hang", "--delete-config", VERIFICATION),

  after(
    open("stuck", "txn", 1),
    transactions("forceTerminateTransaction", "forceTerminateTransaction", "--transactionalId", "stuck"),
  ),
  transactions("forceTerminateTransaction again", "forceTerminateTransaction", "--transactionalId", "stuck"),
  transactions(
    "forceTerminateTransaction of none",
    "forceTerminateTransaction",
    "--transactionalId",
    "nobody",
  ),
  transactions("list after all", "list"),
  ...[0, 1].map((partition): Step => ({
    name: `dumpLog of transactions, ${partition}`,
    tool: "dumpLog",
    args: ["--files", `{data}/txn-${partition}/00000000000000000000.log`, "--print-data-log"],
  })),
];

/** All of them. */
export const transactionSteps: readonly Step[] = steps.map((step) =>
  step.args[0] === "list" ? { ...step, sorted: true } : step
);
