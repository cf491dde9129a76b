/** Broker settings of listeners, connections and requests. Kafka's names, types and defaults but where a comment says so. */
import { int, list, long, string } from "./setting.ts";

/** One row each; see setting.ts for the words. */
export const networkRows = {
  "num.io.threads": int({
    or: 8,
    min: 1,
    update: "cluster-wide",
    unused: true,
    doc: "Threads for requests; Trackway serves all of them from one event loop.",
  }),
  "request.timeout.ms": int({
    or: 30000,
    doc: "How long the broker waits for an answer to a request of its own.",
  }),
  "socket.connection.setup.timeout.ms": long({
    or: 10000,
    doc: "First limit on connecting to another broker.",
  }),
  "socket.connection.setup.timeout.max.ms": long({
    or: 30000,
    doc: "Largest limit on connecting to another broker.",
  }),
  "max.incremental.fetch.session.cache.slots": int({
    or: 1000,
    min: 0,
    doc: "Fetch sessions that are kept (KIP-227).",
  }),
  "fetch.max.bytes": int({
    or: 57671680,
    min: 1024,
    doc: "Most that one fetch answers, whatever the client asked for.",
  }),
  "max.request.partition.size.limit": int({
    or: 2000,
    min: 1,
    doc: "Partitions that one DescribeTopicPartitions answers.",
  }),
  // Kafka listens on every address; a broker that nobody configured stays on its own machine.
  "listeners": list({
    or: "PLAINTEXT://localhost:9092",
    doc:
      "Where the broker listens: NAME://host:port, between commas; an empty host is every address, localhost both loopback addresses.",
  }),
  "advertised.listeners": list({
    or: null,
    doc: "What clients are told to connect to, by listener name; the listeners themselves when not set.",
  }),
  "listener.security.protocol.map": string({
    or: "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
    doc: "Which security protocol each listener name speaks.",
  }),
  "socket.send.buffer.bytes": int({
    or: 102400,
    unused: true,
    doc: "Send buffer of a socket; the operating system sizes it.",
  }),
  "socket.receive.buffer.bytes": int({
    or: 102400,
    unused: true,
    doc: "Receive buffer of a socket; the operating system sizes it.",
  }),
  "socket.request.max.bytes": int({
    or: 104857600,
    min: 1,
    doc: "Largest request that is read; a longer one closes its connection.",
  }),
  "socket.listen.backlog.size": int({
    or: 50,
    min: 1,
    unused: true,
    doc: "Connections that may wait to be accepted; the runtime chooses the length.",
  }),
  "max.connections.per.ip": int({
    or: 2147483647,
    min: 0,
    update: "cluster-wide",
    doc: "Connections that may be open at a time from one address.",
  }),
  "max.connections.per.ip.overrides": string({
    or: "",
    update: "cluster-wide",
    doc: "Exceptions to max.connections.per.ip: address:count, between commas.",
  }),
  "max.connections": int({
    or: 2147483647,
    min: 0,
    update: "cluster-wide",
    doc: "Connections that may be open at a time, on all listeners together.",
  }),
  "max.connection.creation.rate": int({
    or: 2147483647,
    min: 0,
    update: "cluster-wide",
    doc: "Connections that may be accepted in a second.",
  }),
  "connections.max.idle.ms": long({ or: 600000, doc: "Silence after which a connection is closed." }),
  "connection.failed.authentication.delay.ms": int({
    or: 100,
    min: 0,
    doc: "Wait before the answer to a failed authentication, against guessing.",
  }),
  "queued.max.requests": int({
    or: 500,
    min: 1,
    unused: true,
    doc: "Requests waiting for a thread; memory is bounded by queued.max.request.bytes instead.",
  }),
  // -1 in Kafka, where queued.max.requests bounds memory. Here this is the bound, so it has to be one.
  "queued.max.request.bytes": long({
    or: 268435456,
    doc: "Memory for requests in flight in the whole broker; at this size reading pauses. -1 for no limit.",
  }),
  "num.network.threads": int({
    or: 3,
    min: 1,
    update: "cluster-wide",
    unused: true,
    doc: "Threads for sockets; Trackway serves all of them from one event loop.",
  }),
  "security.inter.broker.protocol": string({
    or: "PLAINTEXT",
    oneOf: ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"],
    doc: "The protocol between brokers when inter.broker.listener.name is not set.",
  }),
  "inter.broker.listener.name": string({ or: null, doc: "The listener that other brokers connect to." }),
  "connections.max.reauth.ms": long({
    or: 0,
    doc: "Longest life of an authenticated session (KIP-368); 0 for no limit.",
  }),
};
