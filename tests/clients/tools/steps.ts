/**
 * What is asked of Kafka's command-line tools, in this order, on a broker that is new. `recorded.json` has what they
 * printed against Kafka; `normal.ts` takes out of it what differs from run to run.
 */

import { transactionSteps } from "./transaction_steps.ts";
import type { Deed } from "./transactions.ts";

/** One run of a tool. */
export interface Step {
  readonly name: string;
  /** A key of {@link TOOLS}. */
  readonly tool: keyof typeof TOOLS;
  /** `{data}` stands for the directory that holds the partitions, `{file:NAME}` for a file of {@link Step.files}. */
  readonly args: readonly string[];
  readonly input?: string;
  /** What is done before by raw requests. */
  readonly before?: Deed;
  /** Files that the tool reads, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Lines whose order says nothing. */
  readonly sorted?: boolean;
}

const tools = "org.apache.kafka.tools";

/** Classes, and how each is told where the broker is. */
export const TOOLS = {
  topics: { class: `${tools}.TopicCommand`, server: "--bootstrap-server" },
  configs: { class: `${tools}.ConfigCommand`, server: "--bootstrap-server" },
  groups: { class: `${tools}.consumer.group.ConsumerGroupCommand`, server: "--bootstrap-server" },
  allGroups: { class: `${tools}.GroupsCommand`, server: "--bootstrap-server" },
  offsets: { class: `${tools}.GetOffsetShell`, server: "--bootstrap-server" },
  deleteRecords: { class: `${tools}.DeleteRecordsCommand`, server: "--bootstrap-server" },
  logDirs: { class: `${tools}.LogDirsCommand`, server: "--bootstrap-server" },
  cluster: { class: `${tools}.ClusterTool`, server: "--bootstrap-server" },
  features: { class: `${tools}.FeatureCommand`, server: "--bootstrap-server", serverFirst: true },
  quorum: { class: `${tools}.MetadataQuorumCommand`, server: "--bootstrap-server", serverFirst: true },
  clientMetrics: { class: `${tools}.ClientMetricsCommand`, server: "--bootstrap-server" },
  transactions: { class: `${tools}.TransactionsCommand`, server: "--bootstrap-server", serverFirst: true },
  reassign: { class: `${tools}.reassign.ReassignPartitionsCommand`, server: "--bootstrap-server" },
  election: { class: `${tools}.LeaderElectionCommand`, server: "--bootstrap-server" },
  produce: { class: `${tools}.ConsoleProducer`, server: "--bootstrap-server" },
  consume: { class: `${tools}.consumer.ConsoleConsumer`, server: "--bootstrap-server" },
  verifiableProducer: { class: `${tools}.VerifiableProducer`, server: "--bootstrap-server" },
  dumpLog: { class: `${tools}.DumpLogSegments`, server: null },
} as const;

const KEYED = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"];
const lines = (count: number) => Array.from({ length: count }, (_, i) => `k${i}:value ${i}\n`).join("");
const json = JSON.stringify;

function topics(...of: [name: string, ...args: string[]][]): Step[] {
  return of.map(([name, ...args]) => ({ name: `topics ${name}`, tool: "topics", args }));
}
function steps(tool: keyof typeof TOOLS, ...of: [name: string, ...args: string[]][]): Step[] {
  return of.map(([name, ...args]) => ({ name: `${tool} ${name}`, tool, args }));
}

const topicSteps: Step[] = [
  ...topics(
    ["--list, of none", "--list", "--exclude-internal"],
    ["--create", "--create", "--topic", "a", "--partitions", "3"],
    ["--create again", "--create", "--topic", "a"],
    ["--create --if-not-exists", "--create", "--topic", "a", "--if-not-exists"],
    [
      "--create with settings",
      "--create",
      "--topic",
      "b",
      "--config",
      "retention.ms=1000",
      "--config",
      "cleanup.policy=compact",
    ],
    ["--create with a setting that there is not", "--create", "--topic", "c", "--config", "no.such=1"],
    ["--create with a value that cannot be", "--create", "--topic", "c", "--config", "retention.ms=x"],
    ["--create with replicas that there are not", "--create", "--topic", "c", "--replication-factor", "3"],
    ["--create with an assignment", "--create", "--topic", "c", "--replica-assignment", "1,1"],
    [
      "--create with an assignment to a broker that there is not",
      "--create",
      "--topic",
      "d",
      "--replica-assignment",
      "7",
    ],
    ["--create of a name that cannot be", "--create", "--topic", "d/e"],
    ["--create of a name like another", "--create", "--topic", "d_e.f", "--if-not-exists"],
    ["--create of a name that collides", "--create", "--topic", "d.e_f"],
    ["--create of no partitions", "--create", "--topic", "d", "--partitions", "0"],
    ["--list", "--list", "--exclude-internal"],
    ["--list of some", "--list", "--topic", "a|b"],
    ["--describe", "--describe", "--exclude-internal"],
    ["--describe one", "--describe", "--topic", "b"],
    ["--describe none", "--describe", "--topic", "nobody"],
    ["--describe --if-exists", "--describe", "--topic", "nobody", "--if-exists"],
    ["--describe --topics-with-overrides", "--describe", "--topics-with-overrides", "--topic", "b"],
    ["--describe --under-replicated-partitions", "--describe", "--under-replicated-partitions"],
    ["--describe --unavailable-partitions", "--describe", "--unavailable-partitions"],
    ["--describe --under-min-isr-partitions", "--describe", "--under-min-isr-partitions"],
    ["--describe --at-min-isr-partitions", "--describe", "--at-min-isr-partitions", "--topic", "a"],
    ["--alter", "--alter", "--topic", "a", "--partitions", "5"],
    ["--alter to fewer", "--alter", "--topic", "a", "--partitions", "2"],
    ["--alter to as many", "--alter", "--topic", "a", "--partitions", "5"],
    [
      "--alter with an assignment",
      "--alter",
      "--topic",
      "a",
      "--partitions",
      "6",
      "--replica-assignment",
      "1,1,1,1,1,1",
    ],
    ["--alter none", "--alter", "--topic", "nobody", "--partitions", "2"],
    ["--delete", "--delete", "--topic", "c"],
    ["--delete again", "--delete", "--topic", "c"],
    ["--delete --if-exists", "--delete", "--topic", "c", "--if-exists"],
    ["--delete of some", "--delete", "--topic", "d.*"],
  ),
];

const records: Step[] = [
  { name: "produce", tool: "produce", args: ["--topic", "a", ...KEYED], input: lines(20) },
  {
    name: "produce with a codec",
    tool: "produce",
    args: ["--topic", "a", "--compression-codec", "zstd", ...KEYED],
    input: lines(20),
  },
  {
    name: "produce to a compacted topic",
    tool: "produce",
    args: ["--topic", "b", ...KEYED],
    input: lines(5),
  },
  ...steps(
    "consume",
    [
      "some",
      "--topic",
      "a",
      "--from-beginning",
      "--max-messages",
      "40",
      "--group",
      "g",
      "--formatter-property",
      "print.key=true",
    ],
    [
      "from an offset",
      "--topic",
      "b",
      "--partition",
      "0",
      "--offset",
      "2",
      "--max-messages",
      "3",
      "--formatter-property",
      "print.offset=true",
    ],
    [
      "of a topic that there is not",
      "--topic",
      "nobody",
      "--max-messages",
      "1",
      "--timeout-ms",
      "2000",
      "--consumer-property",
      "allow.auto.create.topics=false",
    ],
  ).map((step) => ({ ...step, sorted: true })),
  ...steps(
    "offsets",
    ["of a topic", "--topic", "a"],
    ["of some topics", "--topic-partitions", "a:0-2,b"],
    ["earliest", "--topic", "a", "--time", "earliest"],
    ["earliest-local", "--topic", "b", "--time", "earliest-local"],
    ["latest-tiered", "--topic", "b", "--time", "latest-tiered"],
    ["of the future", "--topic", "b", "--time", "99999999999999"],
    ["of the past", "--topic", "b", "--time", "1"],
    ["of partitions", "--topic", "a", "--partitions", "1,3"],
    ["of all topics", "--exclude-internal-topics"],
    ["of none", "--topic", "nobody"],
    ["with a time that cannot be", "--topic", "a", "--time", "yesterday"],
  ),
];

function deletion(name: string, partitions: unknown[], version: unknown = 1): Step {
  return {
    name: `deleteRecords ${name}`,
    tool: "deleteRecords",
    args: ["--offset-json-file", "{file:offsets.json}"],
    files: { "offsets.json": json({ partitions, version }) },
  };
}

const recordDeletion: Step[] = [
  deletion("before an offset", [{ topic: "a", partition: 0, offset: 1 }]),
  deletion("all", [{ topic: "a", partition: 1, offset: -1 }]),
  deletion("beyond the end", [{ topic: "a", partition: 2, offset: 1000 }]),
  deletion("of a compacted topic", [{ topic: "b", partition: 0, offset: 1 }]),
  {
    ...deletion("of none", [{ topic: "nobody", partition: 0, offset: 1 }]),
    args: ["--offset-json-file", "{file:offsets.json}", "--command-config", "{file:impatient.properties}"],
    files: {
      "offsets.json": json({ partitions: [{ topic: "nobody", partition: 0, offset: 1 }], version: 1 }),
      "impatient.properties": "default.api.timeout.ms=3000\nrequest.timeout.ms=2000\n",
    },
  },
  deletion("of one twice", [{ topic: "a", partition: 0, offset: 1 }, {
    topic: "a",
    partition: 0,
    offset: 2,
  }]),
  ...steps("offsets", ["after a deletion", "--topic", "a", "--time", "earliest"]),
];

function reset(name: string, ...args: string[]): Step {
  return {
    name: `groups --reset-offsets ${name}`,
    tool: "groups",
    args: ["--group", "g", "--reset-offsets", ...args],
    sorted: true,
  };
}

const groupSteps: Step[] = [
  ...steps(
    "groups",
    ["--list", "--list"],
    ["--list --state", "--list", "--state"],
    ["--list --state Empty", "--list", "--state", "Empty"],
    ["--list --state Stable", "--list", "--state", "Stable"],
    ["--list of a state that there is not", "--list", "--state", "Tired"],
    ["--list --type", "--list", "--type"],
    ["--list --type consumer", "--list", "--type", "consumer"],
    ["--describe", "--describe", "--group", "g"],
    ["--describe --offsets --verbose", "--describe", "--group", "g", "--offsets", "--verbose"],
    ["--describe --members", "--describe", "--group", "g", "--members"],
    ["--describe --members --verbose", "--describe", "--group", "g", "--members", "--verbose"],
    ["--describe --state", "--describe", "--group", "g", "--state"],
    ["--describe --state --verbose", "--describe", "--group", "g", "--state", "--verbose"],
    ["--describe --all-groups", "--describe", "--all-groups"],
    ["--describe --all-groups --state", "--describe", "--all-groups", "--state"],
    ["--describe of none", "--describe", "--group", "nobody"],
    ["--validate-regex", "--validate-regex", "a.*"],
  ).map((step) => ({ ...step, sorted: true })),
  ...steps("allGroups", ["--list", "--list"], ["--list --consumer", "--list", "--consumer"], [
    "--list --share",
    "--list",
    "--share",
  ]).map((step) => ({ ...step, sorted: true })),
  reset("--to-earliest, as a plan", "--topic", "a", "--to-earliest", "--dry-run"),
  reset("--to-earliest", "--topic", "a", "--to-earliest", "--execute"),
  reset("--to-latest of one partition", "--topic", "a:3", "--to-latest", "--execute"),
  reset("--to-offset", "--topic", "a:0", "--to-offset", "2", "--execute"),
  reset("--to-offset beyond the end", "--topic", "a:0", "--to-offset", "1000", "--execute"),
  reset("--to-offset before the start", "--topic", "a:0", "--to-offset", "0", "--execute"),
  reset("--shift-by", "--topic", "a:0", "--shift-by", "1", "--execute"),
  reset("--shift-by back", "--topic", "a:0", "--shift-by", "-1000", "--execute"),
  reset("--to-current", "--all-topics", "--to-current", "--execute"),
  reset("--to-datetime", "--topic", "a", "--to-datetime", "2000-01-01T00:00:00.000", "--execute"),
  reset(
    "--to-datetime of the future",
    "--topic",
    "a:4",
    "--to-datetime",
    "2199-01-01T00:00:00.000",
    "--execute",
  ),
  reset("--by-duration", "--topic", "a", "--by-duration", "PT1H", "--execute"),
  reset("--export", "--topic", "a", "--to-latest", "--dry-run", "--export"),
  {
    ...reset("--from-file", "--from-file", "{file:plan.csv}", "--execute"),
    files: { "plan.csv": "a,0,2\na,3,1\n" },
  },
  reset("of a topic that there is not", "--topic", "nobody", "--to-earliest", "--dry-run"),
  ...steps(
    "groups",
    ["--describe after resets", "--describe", "--group", "g"],
    ["--delete-offsets", "--delete-offsets", "--group", "g", "--topic", "a:0"],
    ["--delete-offsets of a topic without any", "--delete-offsets", "--group", "g", "--topic", "b"],
    [
      "--delete-offsets of a topic that there is not",
      "--delete-offsets",
      "--group",
      "g",
      "--topic",
      "nobody",
    ],
    [
      "--delete-offsets of a group that there is not",
      "--delete-offsets",
      "--group",
      "nobody",
      "--topic",
      "a",
    ],
    ["--describe after --delete-offsets", "--describe", "--group", "g"],
    ["--delete", "--delete", "--group", "g"],
    ["--delete again", "--delete", "--group", "g"],
    ["--list after --delete", "--list"],
  ).map((step) => ({ ...step, sorted: true })),
];

const configSteps: Step[] = [
  ...steps(
    "configs",
    ["--describe of a topic", "--describe", "--topic", "b"],
    ["--describe --all of a topic", "--describe", "--all", "--topic", "b"],
    [
      "--alter of a topic",
      "--alter",
      "--topic",
      "a",
      "--add-config",
      "retention.ms=86400000,max.message.bytes=500000",
    ],
    ["--alter with brackets", "--alter", "--topic", "a", "--add-config", "cleanup.policy=[compact,delete]"],
    ["--describe after --alter", "--describe", "--topic", "a"],
    ["--delete-config", "--alter", "--topic", "a", "--delete-config", "retention.ms,cleanup.policy"],
    ["--delete-config of what is not set", "--alter", "--topic", "a", "--delete-config", "retention.bytes"],
    ["--delete-config of what there is not", "--alter", "--topic", "a", "--delete-config", "no.such"],
    ["--alter of a name that there is not", "--alter", "--topic", "a", "--add-config", "no.such=1"],
    ["--alter to a value that cannot be", "--alter", "--topic", "a", "--add-config", "retention.ms=soon"],
    [
      "--alter of a topic that there is not",
      "--alter",
      "--topic",
      "nobody",
      "--add-config",
      "retention.ms=1",
    ],
    ["--describe of a topic that there is not", "--describe", "--topic", "nobody"],
    ["--describe of all topics", "--describe", "--entity-type", "topics"],
    ["--alter of a broker", "--alter", "--broker", "1", "--add-config", "log.cleaner.backoff.ms=20000"],
    [
      "--alter of the default broker",
      "--alter",
      "--broker-defaults",
      "--add-config",
      "log.retention.ms=7777777",
    ],
    ["--describe of a broker", "--describe", "--broker", "1"],
    ["--describe of the default broker", "--describe", "--broker-defaults"],
    ["--describe of a topic under the default broker's", "--describe", "--all", "--topic", "c2"],
    ["--alter of a broker's read-only setting", "--alter", "--broker", "1", "--add-config", "node.id=7"],
    [
      "--alter of the cluster's setting for one broker",
      "--alter",
      "--broker",
      "1",
      "--add-config",
      "num.partitions=7",
    ],
    [
      "--alter of a broker that there is not",
      "--alter",
      "--broker",
      "77",
      "--add-config",
      "log.cleaner.backoff.ms=1",
    ],
    ["--delete-config of a broker", "--alter", "--broker", "1", "--delete-config", "log.cleaner.backoff.ms"],
    [
      "--delete-config of the default broker",
      "--alter",
      "--broker-defaults",
      "--delete-config",
      "log.retention.ms",
    ],
    ["--alter of a group", "--alter", "--group", "cg", "--add-config", "consumer.session.timeout.ms=50000"],
    ["--describe of a group", "--describe", "--group", "cg"],
    [
      "--alter of a group out of range",
      "--alter",
      "--group",
      "cg",
      "--add-config",
      "consumer.session.timeout.ms=1",
    ],
    [
      "--alter of client-metrics",
      "--alter",
      "--client-metrics",
      "m",
      "--add-config",
      "interval.ms=30000,metrics=org.apache.kafka.producer.,match=[client_id=.*]",
    ],
    ["--describe of client-metrics", "--describe", "--client-metrics", "m"],
    [
      "--delete-config of client-metrics",
      "--alter",
      "--client-metrics",
      "m",
      "--delete-config",
      "interval.ms,metrics,match",
    ],
    [
      "--alter of quotas",
      "--alter",
      "--entity-type",
      "users",
      "--entity-name",
      "u",
      "--add-config",
      "producer_byte_rate=1000000,consumer_byte_rate=2000000",
    ],
    ["--alter of default quotas", "--alter", "--client-defaults", "--add-config", "request_percentage=50"],
    [
      "--alter of quotas of both",
      "--alter",
      "--user",
      "u",
      "--client",
      "c",
      "--add-config",
      "producer_byte_rate=5",
    ],
    [
      "--alter of an address",
      "--alter",
      "--ip",
      "127.0.0.9",
      "--add-config",
      "connection_creation_rate=1000",
    ],
    ["--describe of quotas", "--describe", "--entity-type", "users"],
    ["--describe of clients", "--describe", "--entity-type", "clients"],
    ["--describe of both", "--describe", "--entity-type", "users", "--entity-type", "clients"],
    ["--describe of addresses", "--describe", "--entity-type", "ips"],
    ["--alter of a quota that there is not", "--alter", "--user", "u", "--add-config", "no_such=1"],
    [
      "--delete-config of quotas",
      "--alter",
      "--user",
      "u",
      "--delete-config",
      "producer_byte_rate,consumer_byte_rate",
    ],
  ).map((step) => ({ ...step, sorted: true })),
];

const clusterSteps: Step[] = [
  ...steps("cluster", ["cluster-id", "cluster-id"], ["list-endpoints", "list-endpoints"]),
  ...steps(
    "cluster",
    ["unregister of a broker that there is not", "unregister", "--id", "7"],
    ["list-endpoints --include-fenced-brokers", "list-endpoints", "--include-fenced-brokers"],
  ),
  ...steps("quorum", ["--status", "describe", "--status"], ["--replication", "describe", "--replication"]),
  ...steps(
    "features",
    ["describe", "describe"],
    ["upgrade to what there is", "upgrade", "--feature", "metadata.version=33"],
    ["upgrade --metadata", "upgrade", "--metadata", "4.4-IV2"],
    ["upgrade --dry-run", "upgrade", "--feature", "metadata.version=33", "--dry-run"],
    ["upgrade above", "upgrade", "--feature", "metadata.version=99"],
    ["upgrade to what is below", "upgrade", "--feature", "metadata.version=20"],
    ["upgrade of what there is not", "upgrade", "--feature", "no.such.version=1"],
    ["downgrade", "downgrade", "--metadata", "4.0"],
    ["downgrade --unsafe", "downgrade", "--feature", "metadata.version=20", "--unsafe"],
    ["disable", "disable", "--feature", "metadata.version"],
    ["disable of what there is not", "disable", "--feature", "no.such.version"],
  ),
  ...steps(
    "clientMetrics",
    ["--alter", "--alter", "--name", "n", "--metrics", "org.apache.kafka.consumer.", "--interval", "60000"],
    ["--list", "--list"],
    ["--describe", "--describe", "--name", "n"],
    ["--describe of all", "--describe"],
    ["--alter of an interval that cannot be", "--alter", "--name", "n", "--interval", "1"],
    ["--delete", "--delete", "--name", "n"],
    ["--list after --delete", "--list"],
  ),
  ...steps(
    "election",
    ["preferred", "--election-type", "preferred", "--all-topic-partitions"],
    ["of one", "--election-type", "preferred", "--topic", "b", "--partition", "0"],
    ["unclean", "--election-type", "unclean", "--topic", "b", "--partition", "0"],
    ["of none", "--election-type", "preferred", "--topic", "nobody", "--partition", "0"],
  ),
  ...steps("reassign", ["--list", "--list"]),
  {
    name: "reassign --generate",
    tool: "reassign",
    args: ["--generate", "--topics-to-move-json-file", "{file:topics.json}", "--broker-list", "1"],
    files: { "topics.json": json({ topics: [{ topic: "a" }], version: 1 }) },
  },
  ...["--execute", "--verify", "--cancel"].map((verb): Step => ({
    name: `reassign ${verb}`,
    tool: "reassign",
    args: [verb, "--reassignment-json-file", "{file:plan.json}"],
    files: { "plan.json": json({ version: 1, partitions: [{ topic: "a", partition: 0, replicas: [1] }] }) },
  })),
  {
    name: "reassign --execute to a broker that there is not",
    tool: "reassign",
    args: ["--execute", "--reassignment-json-file", "{file:plan.json}"],
    files: { "plan.json": json({ version: 1, partitions: [{ topic: "a", partition: 0, replicas: [5] }] }) },
  },
  ...steps("logDirs", ["--describe", "--describe", "--topic-list", "b"], [
    "--describe of a broker that there is not",
    "--describe",
    "--broker-list",
    "9",
    "--topic-list",
    "a",
  ]),
];

const files: Step[] = steps(
  "dumpLog",
  ["of a log", "--files", "{data}/b-0/00000000000000000000.log", "--print-data-log"],
  ["of a log, deeply", "--files", "{data}/b-0/00000000000000000000.log", "--deep-iteration"],
  ["of a log that there is not", "--files", "{data}/b-0/00000000000000000007.log"],
);

/** All of them. */
export const STEPS: readonly Step[] = [
  ...topicSteps,
  ...records,
  ...recordDeletion,
  ...groupSteps,
  ...configSteps,
  ...clusterSteps,
  ...files,
  ...transactionSteps,
];
