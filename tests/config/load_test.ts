/** From file, environment and flags to settings: who wins, what is refused, what is only reported. */
import { assertEquals } from "@std/assert/equals";
import { type ConfigInputs, loadConfig, type LoadedConfig } from "../../src/config/load.ts";

const machine = {
  hostname: "laptop",
  addresses: [
    { name: "lo", family: "IPv4", address: "127.0.0.1" },
    { name: "lo", family: "IPv6", address: "::1" },
    { name: "eth0", family: "IPv4", address: "192.0.2.7" },
  ],
} as const;

function load(inputs: Partial<ConfigInputs>): LoadedConfig {
  const result = loadConfig({ machine, ...inputs });
  if ("errors" in result) throw new Error(result.errors.join("\n"));
  return result.loaded;
}

function errorsOf(inputs: Partial<ConfigInputs>): readonly string[] {
  const result = loadConfig({ machine, ...inputs });
  return "errors" in result ? result.errors : [];
}

const file = (text: string) => ({ name: "server.properties", text });

/** The file that Kafka's own documentation walks through for a combined node, in our words. */
const kraft = file(`
process.roles=broker,controller
node.id=7
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
num.network.threads=3
socket.send.buffer.bytes=102400
log.dirs=/tmp/kraft-combined-logs
num.partitions=4
offsets.topic.replication.factor=1
log.retention.hours=168
`);

Deno.test("loadConfig() with nothing listens on loopback, keeps data in ./data and warns of nothing", () => {
  const { config, listeners, dataDirs, warnings, interBrokerListenerName } = load({});
  assertEquals(listeners.map(({ host, port, advertisedHost }) => [host, port, advertisedHost]), [
    ["127.0.0.1", 9092, "localhost"],
    ["::1", 9092, "localhost"],
  ]);
  assertEquals([dataDirs, warnings, interBrokerListenerName], [["./data"], [], "PLAINTEXT"]);
  assertEquals([config.get("node.id"), config.get("group.initial.rebalance.delay.ms")], [1, 0]);
});

Deno.test("loadConfig() lets each source win over the one before it", () => {
  const name = "num.partitions";
  const inputs: Partial<ConfigInputs> = {
    file: file(`${name}=2`),
    environment: { TRACKWAY_NUM_PARTITIONS: "3" },
  };
  const seen = [{}, { file: inputs.file }, inputs, { ...inputs, set: [`${name}=4`] }].map((each) => {
    const { config } = load(each);
    return [config.get(name), config.origin(name)];
  });
  assertEquals(seen, [
    [1, "default"],
    [2, "server.properties, line 1"],
    [3, "TRACKWAY_NUM_PARTITIONS"],
    [4, "--set"],
  ]);
});

Deno.test("loadConfig() lets flags win over everything", () => {
  const { listeners, dataDirs, config } = load({
    set: ["listeners=PLAINTEXT://127.0.0.1:1", "log.dirs=/a", "trackway.log.level=error"],
    port: 2,
    host: "192.0.2.7",
    dataDir: "/b",
    logLevel: "debug",
  });
  assertEquals(listeners.map(({ host, port }) => [host, port]), [["192.0.2.7", 2]]);
  assertEquals([dataDirs, config.get("trackway.log.level")], [["/b"], "debug"]);
});

Deno.test("loadConfig() takes a KRaft server.properties as it is", () => {
  const { config, listeners, dataDirs, warnings } = load({ file: kraft });
  assertEquals([config.get("node.id"), config.get("num.partitions")], [7, 4]);
  assertEquals(listeners.map(({ name, host, advertisedHost }) => [name, host, advertisedHost]), [
    ["PLAINTEXT", "::", "localhost"],
  ]);
  assertEquals(dataDirs, ["/tmp/kraft-combined-logs"]);
  assertEquals(warnings.map((warning) => warning.split(" (")[0]), [
    "Setting process.roles has no effect",
    "Setting controller.quorum.bootstrap.servers has no effect",
    "Setting controller.listener.names has no effect",
    "Setting num.network.threads has no effect",
    "Setting socket.send.buffer.bytes has no effect",
    "Listener CONTROLLER is for a KRaft controller: not opened",
  ]);
});

Deno.test("loadConfig() lets --port change the client listener of a KRaft server.properties", () => {
  const withoutAdvertised = file(kraft.text.replace(/^advertised.*$/m, ""));
  const { listeners } = load({ file: withoutAdvertised, port: 19092 });
  assertEquals(listeners.map(({ host, port, advertisedPort }) => [host, port, advertisedPort]), [[
    "::",
    19092,
    19092,
  ]]);
});

Deno.test("loadConfig() reads a container's environment", () => {
  const environment = {
    TRACKWAY_LISTENERS: "PLAINTEXT://0.0.0.0:9092",
    TRACKWAY_ADVERTISED_LISTENERS: "PLAINTEXT://broker:9092",
    TRACKWAY_LOG_LEVEL: "WARNING",
    PATH: "/bin",
    KAFKA_HEAP_OPTS: "-Xmx1G",
  };
  const { listeners, warnings, config } = load({ environment });
  assertEquals(listeners.map(({ host, advertisedHost }) => [host, advertisedHost]), [["0.0.0.0", "broker"]]);
  assertEquals([warnings, config.get("trackway.log.level")], [[], "warning"]);
});

Deno.test("loadConfig() reports unknown settings with their place and a likely meaning, and starts", () => {
  const { warnings } = load({
    file: file("foo.bar=1\nlog.retention.m=5"),
    environment: { TRACKWAY_NO_SUCH: "1" },
  });
  assertEquals(warnings, [
    "Unknown setting foo.bar (set by server.properties, line 1): ignored",
    "Unknown setting log.retention.m (set by server.properties, line 2): ignored; did you mean log.retention.ms?",
    "Unknown setting no.such (set by TRACKWAY_NO_SUCH): ignored",
  ]);
});

Deno.test("loadConfig() says why a setting of Kafka's has no effect", () => {
  const { warnings } = load({
    set: ["zookeeper.connect=a:1", "ssl.keystore.location=/k", "num.io.threads=9"],
  });
  assertEquals(warnings, [
    "Setting zookeeper.connect has no effect (set by --set): Trackway needs no ZooKeeper",
    "Setting ssl.keystore.location has no effect (set by --set): TLS is not supported yet",
    "Setting num.io.threads has no effect (set by --set): Threads for requests; Trackway serves all of them from one " +
    "event loop.",
  ]);
});

Deno.test("loadConfig() takes broker.id for node.id", () => {
  assertEquals(load({ set: ["broker.id=5"] }).config.get("node.id"), 5);
  assertEquals(load({ set: ["broker.id=5", "node.id=6"] }).config.get("broker.id"), 6);
  assertEquals(load({ set: ["broker.id=-1"] }).config.get("node.id"), 1);
});

const refused: [claim: string, inputs: Partial<ConfigInputs>, errors: string[]][] = [
  ["a bad value, naming setting, value, range and place", { file: file("\nnum.partitions=0") }, [
    "Invalid value 0 for configuration num.partitions: Value must be at least 1 (set by " +
    "server.properties, line 2)",
  ]],
  ["every bad value at once", {
    set: ["num.partitions=x"],
    environment: { TRACKWAY_LOG_PREALLOCATE: "maybe" },
  }, [
    "Invalid value maybe for configuration log.preallocate: Expected value to be either true or false (set by TRACKWAY_LOG_PREALLOCATE)",
    "Invalid value x for configuration num.partitions: Not a number of type INT (set by --set)",
  ]],
  ["settings that do not fit together", {
    set: ["log.retention.ms=0", "log.roll.ms=0", "cordoned.log.dirs=/a"],
  }, [
    "log.roll.ms must be greater than or equal to 1",
    "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : /a",
  ]],
  ["a default that no topic could have", { set: ["log.flush.interval.ms=-1"] }, [
    "Invalid value -1 for configuration log.flush.interval.ms: Value must be at least 0",
  ]],
  ["a --set without a value", { set: ["num.partitions"] }, [
    "--set num.partitions: must look like --set num.partitions=3",
  ]],
  ["a file that is not .properties", { file: file("a=\\uXYZ") }, [
    "server.properties, line 1: \\u needs four hexadecimal digits",
  ]],
  ["an unknown log level", { logLevel: "loud" }, [
    "Invalid value loud for configuration trackway.log.level: String must be one of: trace, debug, info, warning, " +
    "error, fatal (set by --log-level)",
  ]],
  ["--port beside several listeners", { port: 1, set: ["listeners=A://a:1,B://a:2"] }, [
    "--port cannot be combined with listeners=A://a:1,B://a:2: change listeners instead",
  ]],
  ["a port that is none", { port: 99999 }, ["--port 99999: must be an address and a port from 0 to 65535"]],
  ["an empty data directory", { dataDir: "" }, ["log.dirs names no directory: use --data DIR"]],
  ["an authorizer that would not be asked", { set: ["authorizer.class.name=org.example.Acl"] }, [
    "authorizer.class.name is org.example.Acl (set by --set) and permissions are not supported yet: take it out to " +
    "run without any",
  ]],
  ["session timeouts that exclude each other", {
    set: ["group.min.session.timeout.ms=9", "group.max.session.timeout.ms=8"],
  }, [
    "group.min.session.timeout.ms (9) is above group.max.session.timeout.ms (8)",
  ]],
  ["a TLS listener", { set: ["listeners=SSL://localhost:9093"] }, [
    "Listener SSL uses SSL, which is not supported yet: use PLAINTEXT",
  ]],
];

for (const [claim, inputs, errors] of refused) {
  Deno.test(`loadConfig() refuses ${claim}`, () => assertEquals(errorsOf(inputs), errors));
}

Deno.test("loadConfig() takes an IPv6 address from --host", () => {
  assertEquals(load({ host: "::1" }).listeners.map(({ host, port }) => [host, port]), [["::1", 9092]]);
});

Deno.test("loadConfig() refuses a topic's setting from --set or the environment, and names the one for all topics", () => {
  assertEquals(errorsOf({ set: ["flush.messages=1"] }), [
    "flush.messages is a topic's setting; for all topics it is log.flush.interval.messages (set by --set)",
  ]);
  assertEquals(errorsOf({ environment: { TRACKWAY_FLUSH_MS: "1" } }), [
    "flush.ms is a topic's setting; for all topics it is log.flush.interval.ms (set by TRACKWAY_FLUSH_MS)",
  ]);
  assertEquals(errorsOf({ set: ["leader.replication.throttled.replicas=*"] }), [
    "leader.replication.throttled.replicas is a topic's setting; there is none for all topics (set by --set)",
  ]);
});

Deno.test("loadConfig() warns of a topic's setting in a file, and takes names that both have", () => {
  const { warnings } = load({ file: file("flush.messages=1"), set: ["min.insync.replicas=1"] });
  assertEquals(warnings, [
    "Ignored: flush.messages is a topic's setting; for all topics it is log.flush.interval.messages " +
    "(set by server.properties, line 1)",
  ]);
});
