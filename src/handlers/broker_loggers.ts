/**
 * The levels of this broker's loggers as a resource (KIP-412): named like the categories in its log lines, with "root"
 * above them. A level holds until it is changed or the broker ends; nothing of it is stored.
 */
import {
  type AlterableResource,
  ConfigOperation,
  malformedResources,
  nodeIdOf,
  type Refusal,
} from "../cluster/alter_configs.ts";
import { ErrorCode } from "../codec/errors.ts";
import type { DescribedSetting } from "../config/broker_config.ts";
import { configSource } from "../config/setting.ts";
import { logCategories, type LogLevel, logLevel, setLogLevel } from "../observe/logging.ts";

const ROOT = "root";

/** Kafka's names of levels, in the order of its messages. */
const levels: ReadonlyMap<string, LogLevel> = new Map([
  ["DEBUG", "debug"],
  ["ERROR", "error"],
  ["FATAL", "fatal"],
  ["INFO", "info"],
  ["TRACE", "trace"],
  ["WARN", "warning"],
]);

/** The level of every logger, or of those named, as DescribeConfigs shows it. */
export function describeLoggers(names?: readonly string[]): DescribedSetting[] {
  const shown = [ROOT, ...logCategories()].filter((name) => names === undefined || names.includes(name));
  return shown.map((name) => ({
    name,
    value: levelName(logLevel(categoryOf(name))),
    readOnly: false,
    source: configSource.brokerLogger,
    sensitive: false,
    synonyms: [],
    type: 0,
    doc: "",
  }));
}

/** Changes levels, unless it is only to be judged; for each resource, why not, or null. */
export function alterLoggers(
  resources: readonly AlterableResource[],
  nodeId: number,
  validateOnly: boolean,
): (Refusal | null)[] {
  const malformed = malformedResources(resources);
  return resources.map(({ resourceName, configs }, index) => {
    const refusal = malformed[index] ?? otherNode(resourceName, nodeId) ?? refusalOf(configs);
    if (refusal !== null || validateOnly) return refusal;
    for (const { name, value, configOperation } of configs) {
      setLogLevel(categoryOf(name), configOperation === ConfigOperation.DELETE ? null : levels.get(value!)!);
    }
    return null;
  });
}

function refusalOf(configs: AlterableResource["configs"]): Refusal | null {
  for (const { name, value, configOperation } of configs) {
    switch (configOperation) {
      case ConfigOperation.SET:
        if (!exists(name)) return noLogger(name);
        if (!levels.has(value!)) {
          return {
            errorCode: ErrorCode.INVALID_CONFIG,
            errorMessage:
              `Cannot set the log level of ${name} to ${value} as it is not a supported log level. ` +
              `Valid log levels are ${[...levels.keys()].join(", ")}`,
          };
        }
        break;
      case ConfigOperation.DELETE:
        if (!exists(name)) return noLogger(name);
        if (name === ROOT) return invalid("Removing the log level of the root logger is not allowed");
        break;
      default:
        return invalid(`${operationName(configOperation!)} is not allowed for the BROKER_LOGGER resource`);
    }
  }
  return null;
}

function operationName(operation: number): string {
  if (operation === ConfigOperation.APPEND) return "APPEND operation";
  return operation === ConfigOperation.SUBTRACT
    ? "SUBTRACT operation"
    : `Unknown operation type ${operation}`;
}

function otherNode(name: string, nodeId: number): Refusal | null {
  const named = nodeIdOf(name);
  if (named === null) return invalid(`Node id must be an integer, but it is: ${name}`);
  return named === nodeId ? null : invalid(`Unexpected node id. Expected ${nodeId}, but received ${named}`);
}

function exists(name: string): boolean {
  return name === ROOT || logCategories().includes(name);
}

function categoryOf(name: string): string {
  return name === ROOT ? "" : name;
}

function levelName(level: LogLevel): string {
  return level === "warning" ? "WARN" : level.toUpperCase();
}

function noLogger(name: string): Refusal {
  return { errorCode: ErrorCode.INVALID_CONFIG, errorMessage: `Logger ${name} does not exist!` };
}

function invalid(errorMessage: string): Refusal {
  return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage };
}
