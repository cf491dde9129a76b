/** What is bound and what is advertised, on machines that are made up. */
import { assertEquals } from "@std/assert/equals";
import {
  advertisedPort,
  hostPort,
  type Listener,
  type ListenerSettings,
  type Machine,
  type MachineAddress,
  parseEndpoint,
  planListeners,
} from "../../src/config/listeners.ts";

const lo: MachineAddress[] = [
  { name: "lo", family: "IPv4", address: "127.0.0.1" },
  { name: "lo", family: "IPv6", address: "::1" },
];
const eth: MachineAddress = { name: "eth0", family: "IPv4", address: "192.0.2.7" };
const laptop: Machine = { hostname: "laptop", addresses: [...lo, eth] };

function settings(over: Partial<ListenerSettings>): ListenerSettings {
  return {
    listeners: ["PLAINTEXT://localhost:9092"],
    advertisedListeners: null,
    securityProtocolMap: "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
    interBrokerListenerName: null,
    securityInterBrokerProtocol: "PLAINTEXT",
    controllerListenerNames: null,
    ...over,
  };
}

/** `NAME bound -> advertised` of every listener, or the errors. */
function planned(over: Partial<ListenerSettings>, machine = laptop): readonly string[] {
  const plan = planListeners(settings(over), machine);
  if ("errors" in plan) return plan.errors;
  return plan.listeners.map((l) =>
    `${l.name} ${hostPort(l.host, l.port)} -> ${hostPort(l.advertisedHost, l.advertisedPort)}`
  );
}

function warnings(over: Partial<ListenerSettings>, machine = laptop): readonly string[] {
  const plan = planListeners(settings(over), machine);
  return "errors" in plan ? plan.errors : plan.warnings;
}

Deno.test("localhost binds both loopback addresses, since clients try ::1 first, and advertises localhost", () => {
  assertEquals(planned({}), [
    "PLAINTEXT 127.0.0.1:9092 -> localhost:9092",
    "PLAINTEXT [::1]:9092 -> localhost:9092",
  ]);
  assertEquals(warnings({}), []);
});

Deno.test("localhost binds 127.0.0.1 alone on a machine without IPv6", () => {
  const machine = { hostname: "old", addresses: [lo[0]] };
  assertEquals(planned({}, machine), ["PLAINTEXT 127.0.0.1:9092 -> localhost:9092"]);
});

Deno.test("0.0.0.0 without advertised.listeners advertises the machine's own address and says so", () => {
  const over = { listeners: ["PLAINTEXT://0.0.0.0:9092"] };
  assertEquals(planned(over), ["PLAINTEXT 0.0.0.0:9092 -> 192.0.2.7:9092"]);
  assertEquals(warnings(over), [
    "Listener PLAINTEXT is bound to every address and sends clients to 192.0.2.7:9092: set advertised.listeners if " +
    "they reach this machine by another name",
  ]);
});

Deno.test("an advertised address is not loopback, link-local, or that of a container bridge", () => {
  const machine: Machine = {
    hostname: "h",
    addresses: [
      ...lo,
      { name: "docker0", family: "IPv4", address: "172.17.0.1" },
      { name: "eth1", family: "IPv4", address: "169.254.3.4" },
      { name: "eth0", family: "IPv6", address: "fe80::1" },
      eth,
    ],
  };
  assertEquals(planned({ listeners: ["PLAINTEXT://0.0.0.0:1"] }, machine), [
    "PLAINTEXT 0.0.0.0:1 -> 192.0.2.7:1",
  ]);
});

Deno.test("an advertised address is a bridge's, IPv6, or the host's name when there is nothing better", () => {
  const bridge: MachineAddress = { name: "br-1", family: "IPv4", address: "172.18.0.1" };
  const ipv6: MachineAddress = { name: "eth0", family: "IPv6", address: "2001:db8::5" };
  const over = { listeners: ["PLAINTEXT://:1"] };
  const on = (...more: MachineAddress[]) =>
    planned(over, { hostname: "db.example", addresses: [...lo, ...more] });
  assertEquals(on(bridge), ["PLAINTEXT [::]:1 -> 172.18.0.1:1"]);
  assertEquals(on(ipv6), ["PLAINTEXT [::]:1 -> [2001:db8::5]:1"]);
  assertEquals(on(), ["PLAINTEXT [::]:1 -> db.example:1"]);
  const onlyIPv4 = { listeners: ["PLAINTEXT://0.0.0.0:1"] };
  assertEquals(planned(onlyIPv4, { hostname: "db.example", addresses: [...lo, ipv6] }), [
    "PLAINTEXT 0.0.0.0:1 -> db.example:1",
  ]);
});

Deno.test("0.0.0.0 on a machine that has no address for clients asks for advertised.listeners", () => {
  assertEquals(
    planned({ listeners: ["PLAINTEXT://0.0.0.0:9092"] }, { hostname: "localhost", addresses: lo }),
    [
      "Listener PLAINTEXT is bound to every address and this machine has none that clients could use: set " +
      "advertised.listeners=PLAINTEXT://<name that clients use>:9092",
    ],
  );
});

Deno.test("an empty host binds every address of both families, or of IPv4 where there is no IPv6", () => {
  const over = { listeners: ["PLAINTEXT://:9092"], advertisedListeners: ["PLAINTEXT://kafka:9092"] };
  assertEquals(planned(over), ["PLAINTEXT [::]:9092 -> kafka:9092"]);
  assertEquals(planned(over, { hostname: "h", addresses: [lo[0], eth] }), [
    "PLAINTEXT 0.0.0.0:9092 -> kafka:9092",
  ]);
});

Deno.test("a container with two named listeners serves its network and its host", () => {
  const over: Partial<ListenerSettings> = {
    listeners: ["INTERNAL://0.0.0.0:29092", "EXTERNAL://0.0.0.0:9092"],
    advertisedListeners: ["INTERNAL://broker:29092", "EXTERNAL://localhost:9092"],
    securityProtocolMap: "INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT",
    interBrokerListenerName: "INTERNAL",
  };
  assertEquals(planned(over), [
    "INTERNAL 0.0.0.0:29092 -> broker:29092",
    "EXTERNAL 0.0.0.0:9092 -> localhost:9092",
  ]);
  assertEquals(warnings(over), []);
});

Deno.test("a KRaft server.properties works: its controller listener is left out and reported", () => {
  const over: Partial<ListenerSettings> = {
    listeners: ["PLAINTEXT://localhost:9092", "CONTROLLER://localhost:9093"],
    advertisedListeners: ["PLAINTEXT://localhost:9092", "CONTROLLER://localhost:9093"],
    controllerListenerNames: ["CONTROLLER"],
  };
  assertEquals(planned(over), planned({}));
  assertEquals(warnings(over), ["Listener CONTROLLER is for a KRaft controller: not opened"]);
});

Deno.test("one name may bind several addresses and has one advertised address", () => {
  const over = {
    listeners: ["PLAINTEXT://127.0.0.1:9092", "PLAINTEXT://192.0.2.7:9092"],
    advertisedListeners: ["PLAINTEXT://kafka.example:9092"],
  };
  assertEquals(planned(over), [
    "PLAINTEXT 127.0.0.1:9092 -> kafka.example:9092",
    "PLAINTEXT 192.0.2.7:9092 -> kafka.example:9092",
  ]);
});

Deno.test("port 0 is advertised as the port that the socket gets", () => {
  const plan = planListeners(settings({ listeners: ["PLAINTEXT://localhost:0"] }), laptop);
  const [first] = (plan as { listeners: readonly Listener[] }).listeners;
  assertEquals([first.port, advertisedPort(first, 40001)], [0, 40001]);
  assertEquals(advertisedPort({ ...first, advertisedPort: 9092 }, 40001), 9092);
});

const refused: [claim: string, over: Partial<ListenerSettings>, errors: string[]][] = [
  ["TLS, which comes later", { listeners: ["SSL://localhost:9093"] }, [
    "Listener SSL uses SSL, which is not supported yet: use PLAINTEXT",
  ]],
  ["SASL under a name of its own", {
    listeners: ["CLIENTS://localhost:9093"],
    securityProtocolMap: "CLIENTS:SASL_PLAINTEXT",
  }, ["Listener CLIENTS uses SASL_PLAINTEXT, which is not supported yet: use PLAINTEXT"]],
  ["a name without a protocol", { listeners: ["CLIENTS://localhost:9093"] }, [
    "Listener CLIENTS has no security protocol: add CLIENTS:PLAINTEXT to listener.security.protocol.map",
  ]],
  ["a text that is no listener", { listeners: ["localhost:9092"] }, [
    "Invalid value localhost:9092 for configuration listeners: must look like PLAINTEXT://host:9092",
  ]],
  ["a port above 65535", { listeners: ["PLAINTEXT://localhost:70000"] }, [
    "Invalid value PLAINTEXT://localhost:70000 for configuration listeners: must look like PLAINTEXT://host:9092",
  ]],
  ["an advertised wildcard", { advertisedListeners: ["PLAINTEXT://0.0.0.0:9092"] }, [
    "advertised.listeners gives 0.0.0.0 for PLAINTEXT: clients cannot connect to it, name a real address",
  ]],
  ["an advertised name that is not bound", { advertisedListeners: ["EXTERNAL://a:1"] }, [
    "advertised.listeners names EXTERNAL, which is not among listeners (PLAINTEXT)",
  ]],
  ["an inter-broker name that is not bound", { interBrokerListenerName: "INTERNAL" }, [
    "inter.broker.listener.name is INTERNAL, which is not among listeners (PLAINTEXT)",
  ]],
  ["one address twice", { listeners: ["PLAINTEXT://a:1", "PLAINTEXT://a:1"] }, [
    "listeners names a:1 twice: give each its own port",
  ]],
  ["a controller alone", { listeners: ["CONTROLLER://a:1"], controllerListenerNames: ["CONTROLLER"] }, [
    "listeners names no address for clients: add one such as PLAINTEXT://localhost:9092",
  ]],
];

for (const [claim, over, errors] of refused) {
  Deno.test(`planListeners() refuses ${claim}`, () => assertEquals(planned(over), errors));
}

Deno.test("the inter-broker listener is the named one, or the first of the inter-broker protocol", () => {
  const over: Partial<ListenerSettings> = {
    listeners: ["A://a:1", "B://a:2"],
    securityProtocolMap: "A:PLAINTEXT,B:PLAINTEXT",
  };
  const name = (more: Partial<ListenerSettings>) =>
    (planListeners(settings({ ...over, ...more }), laptop) as { interBrokerListenerName: string })
      .interBrokerListenerName;
  assertEquals([name({}), name({ interBrokerListenerName: "b" })], ["A", "B"]);
});

Deno.test("parseEndpoint() reads names, addresses of both families, and empty hosts", () => {
  assertEquals(parseEndpoint("plaintext://[::1]:9092"), { name: "PLAINTEXT", host: "::1", port: 9092 });
  assertEquals(parseEndpoint(" A_B://:0"), { name: "A_B", host: "", port: 0 });
  for (const text of ["", "A://a", "A://::1:9092", "A:a:1", "A://a b:1", "A://a:-1"]) {
    assertEquals([text, parseEndpoint(text)], [text, null]);
  }
});
