/** What the settings tables say to those who decide about changes of settings. */
import { assert } from "../base/assert.ts";
import { type BrokerConfig, brokerRow, validateBrokerSetting } from "../config/broker_config.ts";
import type { BrokerSettingName } from "../config/broker.ts";
import { groupRows } from "../config/group.ts";
import {
  GroupSettings,
  TopicSettings,
  validateGroupSettings,
  validateTopicSettings,
} from "../config/resource_settings.ts";
import type { Setting } from "../config/setting.ts";
import { topicRows } from "../config/topic.ts";
import { ResourceType, type SettingRules } from "./alter_configs.ts";

/** The rules as the tables of src/config and the broker's settings in force have them. */
export function settingRules(config: BrokerConfig): SettingRules {
  return {
    isList: (kind, name) => rowOf(kind, name)?.type === "list",
    inherited(kind, name) {
      if (kind === ResourceType.TOPIC) return new TopicSettings(new Map(), config).describe([name])[0].value;
      if (kind === ResourceType.GROUP) return new GroupSettings(new Map(), config).describe([name])[0].value;
      return config.text(name as BrokerSettingName);
    },
    problem(kind, resourceName, overrides, changed) {
      if (kind === ResourceType.TOPIC) return validateTopicSettings(overrides, config);
      if (kind === ResourceType.GROUP) return validateGroupSettings(overrides, config);
      assert(kind === ResourceType.BROKER, `settings of resource type ${kind}`);
      const scope = resourceName === "" ? "cluster" : "broker";
      for (const name of changed) {
        const problem = validateBrokerSetting(name, overrides.get(name) ?? null, scope);
        if (problem !== null) return problem;
      }
      return null;
    },
  };
}

function rowOf(kind: number, name: string): Setting<unknown> | undefined {
  if (kind === ResourceType.BROKER) return brokerRow(name);
  const rows: Readonly<Record<string, Setting<unknown>>> = kind === ResourceType.TOPIC
    ? topicRows
    : groupRows;
  return Object.hasOwn(rows, name) ? rows[name] : undefined;
}
