/**
 * The broker's settings: all tables in one. Kafka's names throughout; a setting that Kafka does not have begins with
 * `trackway.`. A row marked `unused` is accepted, reported, and has no effect.
 */
import { boundRows } from "./broker_bounds.ts";
import { clusterRows } from "./broker_cluster.ts";
import { groupCoordinatorRows } from "./broker_groups.ts";
import { logRows } from "./broker_log.ts";
import { networkRows } from "./broker_network.ts";
import { transactionRows } from "./broker_transactions.ts";
import { string } from "./setting.ts";

/** Levels of log lines, least important first. */
export const logLevels = ["trace", "debug", "info", "warning", "error", "fatal"] as const;

/** Settings that Kafka does not have. */
const trackwayRows = {
  "trackway.log.level": string({
    or: "info",
    oneOf: logLevels,
    ignoreCase: true,
    doc: "Least important log line that is written: trace, debug, info, warning, error or fatal.",
  }),
};

/** Every setting of the broker. */
export const brokerRows = {
  ...networkRows,
  ...clusterRows,
  ...logRows,
  ...groupCoordinatorRows,
  ...transactionRows,
  ...trackwayRows,
  ...boundRows,
};

/** Names of broker settings. */
export type BrokerSettingName = keyof typeof brokerRows;

/** Why a name that real server.properties files carry has no row here: [its beginning, the reason]. First match wins. */
export const foreignSettings: readonly (readonly [string, string])[] = [
  ["controller.", "it belongs to KRaft controllers; Trackway keeps its metadata by itself"],
  ["metadata.", "it belongs to KRaft's metadata log; Trackway keeps its metadata by itself"],
  ["initial.broker.registration.", "it belongs to KRaft controllers; Trackway keeps its metadata by itself"],
  ["broker.heartbeat.interval.ms", "it belongs to KRaft controllers; Trackway keeps its metadata by itself"],
  ["broker.session.timeout.ms", "it belongs to KRaft controllers; Trackway keeps its metadata by itself"],
  ["zookeeper.", "Trackway needs no ZooKeeper"],
  ["inter.broker.protocol.version", "Trackway negotiates versions by itself"],
  ["log.message.format.version", "Trackway stores message format 2 only, as Kafka 4 does"],
  ["listener.name.", "settings of a single listener are not supported yet"],
  ["sasl.", "SASL is not supported yet"],
  ["ssl.", "TLS is not supported yet"],
  ["delegation.token.", "delegation tokens are not supported yet"],
  ["super.users", "permissions are not supported yet"],
  ["allow.everyone.if.no.acl.found", "permissions are not supported yet"],
  ["remote.", "tiered storage is not supported"],
  ["rsm.config.", "tiered storage is not supported"],
  ["rlmm.config.", "tiered storage is not supported"],
];
