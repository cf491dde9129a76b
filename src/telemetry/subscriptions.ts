/** Which metrics a client is asked for: what all subscriptions that match it ask for together (KIP-714). */
import { crc32c } from "../codec/crc32c.ts";
import {
  type ClientMatchName,
  ClientMetricsSettings,
  DEFAULT_INTERVAL_MS,
  MAX_MATCHED_LENGTH,
} from "../config/client_metrics.ts";

/** What subscriptions can look at. */
export interface TelemetryClient {
  readonly clientId: string;
  readonly softwareName: string;
  readonly softwareVersion: string;
  /** "10.0.0.1" */
  readonly address: string;
  readonly port: string;
}

/** What one client is asked for. */
export interface Wanted {
  /** Beginnings of names; `*` alone for all, nothing for none. */
  readonly metrics: readonly string[];
  readonly pushIntervalMs: number;
  /** Equal for equal demands on the same client, and as a rule another for others. */
  readonly subscriptionId: number;
}

const ALL_METRICS = "*";

export class Subscriptions {
  readonly #all: readonly ClientMetricsSettings[];

  /** From the settings of every client-metrics resource. */
  constructor(configs: Iterable<ReadonlyMap<string, string>> = []) {
    this.#all = [...configs].map((config) => new ClientMetricsSettings(config));
  }

  /** What the client with this instance id is asked for. */
  wanted(instanceId: string, client: TelemetryClient): Wanted {
    const matching = this.#all.filter((one) => isMatch(one, instanceId, client));
    const names = [...new Set(matching.flatMap(({ metrics }) => metrics))].sort();
    const metrics = names.includes(ALL_METRICS) ? [ALL_METRICS] : names;
    const pushIntervalMs = Math.min(DEFAULT_INTERVAL_MS, ...matching.map(({ intervalMs }) => intervalMs));
    return { metrics, pushIntervalMs, subscriptionId: idOf(metrics, pushIntervalMs, instanceId) };
  }
}

function isMatch({ match }: ClientMetricsSettings, instanceId: string, client: TelemetryClient): boolean {
  const values: Record<ClientMatchName, string> = {
    client_instance_id: instanceId,
    client_id: client.clientId,
    client_software_name: client.softwareName,
    client_software_version: client.softwareVersion,
    client_source_address: client.address,
    client_source_port: client.port,
  };
  return [...match].every(([name, pattern]) => pattern.test(values[name].slice(0, MAX_MATCHED_LENGTH)));
}

const utf8 = new TextEncoder();

function idOf(metrics: readonly string[], pushIntervalMs: number, instanceId: string): number {
  return (crc32c(utf8.encode(`${metrics} ${pushIntervalMs}`)) ^ crc32c(utf8.encode(instanceId))) | 0;
}
