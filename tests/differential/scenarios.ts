/** All scenarios, by what they are about. */
import { groupScenarios } from "./groups.ts";
import { logScenarios } from "./log.ts";
import { produceScenarios } from "./produce.ts";
import type { Scenario } from "./scenario.ts";
import { topicScenarios } from "./topics.ts";

export const scenarios: readonly Scenario[] = [
  ...topicScenarios,
  ...produceScenarios,
  ...logScenarios,
  ...groupScenarios,
];
