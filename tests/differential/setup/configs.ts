/**
 * Requests about settings, and what of their answers is compared: the texts too, since tools print them. Scenarios run side
 * by side: of the broker's settings, each changes ones that no other of its oracle looks at.
 */
import { describeConfigs } from "../../../src/codec/messages/describe_configs.ts";
import { incrementalAlterConfigs } from "../../../src/codec/messages/incremental_alter_configs.ts";
import { listConfigResources } from "../../../src/codec/messages/list_config_resources.ts";
import type { Oracle } from "../areas.ts";
import { type Broker, eventually } from "../scenario.ts";

/** Some of what was given at start, and bounds of groups that let a session be shorter than a heartbeat. */
export const oracle: Oracle = {
  settings: {
    "log.retention.minutes": "77",
    "log.roll.jitter.hours": "2",
    "num.io.threads": "9",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.share.max.assignment.interval.ms": "3000",
  },
};

/** For scenarios that change defaults of all topics and groups: others would see them. */
export const brokerOracle: Oracle = { settings: { ...oracle.settings, "background.threads": "11" } };

export const TOPIC = 2, BROKER = 4, LOGGER = 8, CLIENT_METRICS = 16, GROUP = 32;
export const SET = 0, DELETE = 1, APPEND = 2, SUBTRACT = 3;

export type Change = [name: string, operation: number, value: string | null];
export type Resource = [type: number, name: string, changes: Change[]];

/** An IncrementalAlterConfigs request. */
export function changing(resources: Resource[], validateOnly = false) {
  return {
    resources: resources.map(([resourceType, resourceName, changes]) => ({
      resourceType,
      resourceName,
      configs: changes.map(([name, configOperation, value]) => ({ name, configOperation, value })),
    })),
    validateOnly,
  };
}

export type FullResource = [type: number, name: string, settings: [string, string | null][]];

/** An AlterConfigs request. */
export function replacing(resources: FullResource[], validateOnly = false) {
  return {
    resources: resources.map(([resourceType, resourceName, settings]) => ({
      resourceType,
      resourceName,
      configs: settings.map(([name, value]) => ({ name, value })),
    })),
    validateOnly,
  };
}

/** A DescribeConfigs request, with synonyms. */
export function describing(resources: [type: number, name: string, settings?: string[] | null][], more = {}) {
  return {
    resources: resources.map(([resourceType, resourceName, configurationKeys = null]) => ({
      resourceType,
      resourceName,
      configurationKeys,
    })),
    includeSynonyms: true,
    includeDocumentation: false,
    ...more,
  };
}

type Answer = { responses: { errorCode: number; errorMessage: string | null; resourceName: string }[] };

/** Code and text of each result, and whose it is. */
export const withTexts = ({ responses }: Answer) =>
  responses.map(({ errorCode, errorMessage, resourceName }) => ({
    errorCode,
    says: errorMessage,
    resourceName,
  }));

/** Asks, for each label, whether a resource could be changed like that. */
export function judge(broker: Broker, type: number, name: string, changes: Record<string, Change[]>) {
  const requests = Object.entries(changes).map(([label, change]) =>
    [label, changing([[type, name, change]], true)] as const
  );
  return broker.askEach(incrementalAlterConfigs, 1, Object.fromEntries(requests), withTexts);
}

/** Asks for each value whether a setting could have it. */
export function judgeValues(broker: Broker, type: number, name: string, values: Record<string, string[]>) {
  const changes = Object.entries(values).flatMap(([setting, texts]) =>
    texts.map((text): [string, Change[]] => [`${setting}=${text}`, [[setting, SET, text]]])
  );
  return judge(broker, type, name, Object.fromEntries(changes));
}

/** Changes one resource and writes the answer down. */
export function change(broker: Broker, type: number, name: string, ...changes: Change[]) {
  return broker.ask(incrementalAlterConfigs, 1, changing([[type, name, changes]]), withTexts);
}

/** Waits until the broker shows a value, null for a setting that is not shown; Kafka's hears of changes a moment later. */
export async function settled(
  broker: Broker,
  type: number,
  name: string,
  setting: string,
  value: string | null,
) {
  await eventually(`${setting} of ${name} does not become ${value}`, async () => {
    const response = await broker.send(describeConfigs, 4, describing([[type, name, [setting]]]));
    return (response!.results[0].configs[0]?.value ?? null) === value ? true : null;
  });
}

/** Writes down what the broker says of some settings. */
export function describe(broker: Broker, type: number, name: string, settings?: string[]) {
  return broker.ask(describeConfigs, 4, describing([[type, name, settings]]));
}

/** Waits until a resource is listed, or no more. */
export async function untilListed(broker: Broker, type: number, name: string, listed: boolean) {
  await eventually(`${name} is ${listed ? "not" : "still"} listed`, async () => {
    const response = await broker.send(listConfigResources, 1, { resourceTypes: [type] });
    return response!.configResources.some(({ resourceName }) => resourceName === name) === listed
      ? true
      : null;
  });
}

/** Writes down which resources are listed: topics, groups and subscriptions of this scenario, and all brokers. */
export function list(broker: Broker, version: number, resourceTypes: number[]) {
  return broker.ask(listConfigResources, version, { resourceTypes }, ({ errorCode, configResources }) => ({
    errorCode,
    listed: configResources.filter(({ resourceName, resourceType }) =>
      resourceType === BROKER || resourceType === LOGGER || resourceName.startsWith(broker.name(""))
    ).map(({ resourceName, resourceType }) => `${resourceType} ${resourceName}`).sort(),
  }), resourceTypes.join(" and "));
}

const numbers = (least: string[], most: string[]) => ["", "x", "1.5", " 7 ", "+7", "007", ...least, ...most];
export const longs = (...least: string[]) => numbers(least, ["9223372036854775807", "9223372036854775808"]);
export const ints = (...least: string[]) => numbers(least, ["2147483647", "2147483648"]);
