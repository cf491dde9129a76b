/** Which settings a client may change while the broker runs; texts and their order were observed at Apache Kafka 4.4.0. */
import { assertEquals } from "@std/assert/equals";
import { validateBrokerChange } from "../../src/config/broker_changes.ts";
import { BrokerConfig } from "../../src/config/broker_config.ts";
import { errorName } from "../../src/codec/errors.ts";

function broker(statics: Record<string, string> = {}): BrokerConfig {
  return new BrokerConfig(
    new Map(Object.entries(statics).map(([name, text]) => [name, { text, origin: "test" }])),
  );
}

type Scope = "broker" | "cluster";

function problem(scope: Scope, values: Record<string, string>, config = broker()): string | null {
  const found = validateBrokerChange(config, scope, new Map(Object.entries(values)));
  return found && `${errorName(found.errorCode)}: ${found.errorMessage}`;
}

const threads = (name: string, count: number, should: string) =>
  `Dynamic thread count update validation failed for ${name}=${count}, value should ${should}`;

const cases: [scope: Scope, values: Record<string, string>, problem: string | null][] = [
  ["cluster", { "log.retention.ms": "5" }, null],
  ["broker", { "log.retention.ms": "-5" }, null],
  ["broker", { "my.plugin.setting": "5" }, null],
  ["broker", { "num.partitions": "5" }, "Cannot update these configs dynamically: [num.partitions]"],
  [
    "broker",
    { "log.retention.ms": "x", "num.partitions": "3", "zz": "3", "log.dirs": "x" },
    "Cannot update these configs dynamically: [num.partitions, log.dirs]",
  ],
  // Of parts that Trackway does not have; Kafka takes some of these.
  [
    "broker",
    { "ssl.keystore.location": "a" },
    "Cannot update these configs dynamically: [ssl.keystore.location]",
  ],
  [
    "broker",
    { "listener.name.plaintext.max.connections": "5" },
    "Cannot update these configs dynamically: [listener.name.plaintext.max.connections]",
  ],
  [
    "cluster",
    { "log.retention.ms": "x", "cordoned.log.dirs": "/a" },
    "Invalid value x for configuration " +
    "log.retention.ms: Not a number of type LONG",
  ],
  [
    "cluster",
    { "cordoned.log.dirs": "/a" },
    "Cannot update these configs at default cluster level, broker id must be specified: [cordoned.log.dirs]",
  ],
  [
    "broker",
    { "cordoned.log.dirs": "/a" },
    "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : /a",
  ],
  ["broker", { "cordoned.log.dirs": "*" }, null],
  ["broker", { "cordoned.log.dirs": "./data" }, null],
  [
    "broker",
    { "log.retention.ms": "0" },
    "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
  ],
  ["broker", { "log.roll.ms": "0" }, "requirement failed: log.roll.ms must be greater than or equal to 1"],
  [
    "broker",
    { "log.roll.jitter.ms": "-1" },
    "requirement failed: log.roll.jitter.ms must be greater than or equal to 0",
  ],
  [
    "broker",
    { "log.cleaner.dedupe.buffer.size": "1048576" },
    "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
  ],
  ["broker", { "log.cleaner.dedupe.buffer.size": "1048577" }, null],
  [
    "broker",
    { "group.consumer.assignment.interval.ms": "15001" },
    "group.consumer.assignment.interval.ms must be less than or equal to group.consumer.max.assignment.interval.ms",
  ],
  [
    "broker",
    { "max.connections.per.ip": "0" },
    "requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
  ],
  ["broker", { "max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:100" }, null],
  [
    "broker",
    { "max.connections.per.ip.overrides": "nonsense" },
    "Error parsing configuration property 'max.connections.per.ip.overrides': nonsense is no address:count",
  ],
  ["broker", { "max.connections": "0" }, "Invalid max.connections 0"],
  ["broker", { "num.io.threads": "16" }, null],
  ["broker", { "num.io.threads": "4" }, null],
  [
    "broker",
    { "num.io.threads": "17" },
    threads("num.io.threads", 17, "not be greater than double the current value 8"),
  ],
  ["broker", { "num.io.threads": "3" }, threads("num.io.threads", 3, "be at least half the current value 8")],
  // Kafka closes the connection.
  [
    "broker",
    { "log.cleaner.threads": "0" },
    "Log cleaner threads should be at least 1",
  ],
  [
    "broker",
    { "log.local.retention.ms": "99999999999" },
    "Invalid value 99999999999 for configuration log.local.retention.ms: Value must not be more than " +
    "log.retention.ms property value: 604800000",
  ],
  [
    "broker",
    { "log.local.retention.bytes": "-1", "log.retention.bytes": "3" },
    "Invalid value -1 for configuration log.local.retention.bytes: Value must not be -1 as log.retention.bytes " +
    "value is set as 3.",
  ],
  ["broker", { "log.local.retention.bytes": "5" }, null],
  [
    "broker",
    { "principal.builder.class": "foo" },
    "Invalid value foo for configuration principal.builder.class: Class foo could not be found.",
  ],
  // Kafka takes it, and then no topic's settings can be changed any more.
  [
    "broker",
    { "log.flush.interval.ms": "-1" },
    "Invalid value -1 for configuration log.flush.interval.ms: Value must be at least 0",
  ],
  ["cluster", { "leader.replication.throttled.rate": "1000" }, null],
  [
    "broker",
    { "follower.replication.throttled.rate": "-1" },
    "Invalid value -1 for configuration follower.replication.throttled.rate: Value must be at least 0",
  ],
];

for (const [scope, values, expected] of cases) {
  Deno.test(`validateBrokerChange() says ${expected ?? "nothing"} of ${JSON.stringify(values)} for the ${scope}`, () => {
    assertEquals(problem(scope, values), expected && `INVALID_REQUEST: ${expected}`);
  });
}

Deno.test("validateBrokerChange() counts threads from the number in force, also when a change is taken back", () => {
  const config = broker();
  config.setDynamic(new Map([["num.io.threads", "4"]]), new Map());
  assertEquals(problem("broker", { "num.io.threads": "2" }, config), null);
  config.setDynamic(new Map([["num.io.threads", "3"]]), new Map());
  assertEquals(
    problem("broker", {}, config),
    `INVALID_REQUEST: ${threads("num.io.threads", 8, "not be greater than double the current value 3")}`,
  );
});

Deno.test("validateBrokerChange() holds a change for all brokers against what one broker has of its own", () => {
  const config = broker();
  config.setDynamic(new Map([["log.retention.ms", "1000"]]), new Map());
  assertEquals(problem("cluster", { "log.local.retention.ms": "2000" }, config) !== null, true);
  assertEquals(problem("broker", { "log.local.retention.ms": "2000" }, config), null);
});

Deno.test("BrokerConfig.changed() leaves the settings in force as they are", () => {
  const config = broker({ "message.max.bytes": "5" });
  const after = config.changed("cluster", new Map([["message.max.bytes", "6"]]));
  assertEquals([after.get("message.max.bytes"), config.get("message.max.bytes")], [6, 5]);
});

Deno.test("validateBrokerChange() does not hold against a change what was given at start", () => {
  const config = broker({ "log.cleaner.threads": "0", "max.connections": "0" });
  assertEquals(problem("broker", { "log.retention.ms": "5" }, config), null);
});
