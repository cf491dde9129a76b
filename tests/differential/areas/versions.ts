/** What ApiVersions advertises. Trackway's list is its own; versions_test.ts holds it against Kafka's. */
import { apiVersions } from "../../../src/codec/messages/api_versions.ts";
import { scenario } from "../scenario.ts";

export const scenarios = [
  scenario("ApiVersions tells of every API its versions", async (broker) => {
    const named = { clientSoftwareName: "a", clientSoftwareVersion: "1" };
    await broker.ask(
      apiVersions,
      4,
      named,
      (r) => r.apiKeys.map((k) => [k.apiKey, k.minVersion, k.maxVersion]),
    );
  }),
];
