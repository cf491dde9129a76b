/** What the settings tables say to those who decide about changes of settings. */
import { ErrorCode } from "../codec/errors.ts";
import { validateBrokerChange } from "../config/broker_changes.ts";
import { type BrokerConfig, brokerRow } from "../config/broker_config.ts";
import { validateClientMetrics } from "../config/client_metrics.ts";
import { validateGroupSettings, validateTopicSettings } from "../config/resource_settings.ts";
import type { Setting } from "../config/setting.ts";
import { topicRows } from "../config/topic.ts";
import { type Refusal, type RulesByKind, type SettingRules, topicResourceProblem } from "./alter_configs.ts";

/** The rules as the tables of src/config and the broker's settings in force have them. */
export function settingRules(config: BrokerConfig): RulesByKind {
  return {
    topic: {
      listDefault: (name) =>
        listDefault(Object.hasOwn(topicRows, name) ? topicRows[name as keyof typeof topicRows] : undefined),
      noList,
      problem: (name, overrides) =>
        topicResourceProblem(name) ?? badConfig(validateTopicSettings(overrides, config)),
    },
    broker: {
      listDefault: (name) => listDefault(brokerRow(name)),
      noList: (operation, name) =>
        brokerRow(name) === undefined
          ? `Unknown config name: ${name}`
          : `Config value ${operation.toLowerCase()} is not allowed for config key: ${name}`,
      problem: (name, overrides) =>
        validateBrokerChange(config, name === "" ? "cluster" : "broker", overrides),
    },
    group: {
      ...withoutLists,
      problem: (name, overrides) =>
        nameless(name, "Default group resources are not allowed.") ??
          badConfig(validateGroupSettings(overrides, config)),
    },
    clientMetrics: {
      ...withoutLists,
      problem: (name, overrides) =>
        nameless(name, "Subscription name can't be empty") ?? validateClientMetrics(overrides),
    },
  };
}

function noList(operation: string, name: string): string {
  return `Can't ${operation} to key ${name} because its type is not LIST.`;
}

/** Kafka's controller knows the types of topics' and brokers' settings only. */
const withoutLists: Pick<SettingRules, "listDefault" | "noList"> = { listDefault: () => null, noList };

function listDefault(row: Setting<unknown> | undefined): string | null {
  return row?.type === "list" ? row.defaultText ?? "" : null;
}

function badConfig(errorMessage: string | null): Refusal | null {
  return errorMessage === null ? null : { errorCode: ErrorCode.INVALID_CONFIG, errorMessage };
}

function nameless(name: string, errorMessage: string): Refusal | null {
  return name === "" ? { errorCode: ErrorCode.INVALID_REQUEST, errorMessage } : null;
}
