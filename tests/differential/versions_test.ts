import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { registry } from "../../src/handlers/all.ts";
import { readRecordings } from "./recordings.ts";

const [answer] = readRecordings("versions")["ApiVersions tells of every API its versions"];
const kafkaVersions = Object.values(answer as Record<string, number[][]>)[0];

Deno.test("what is served goes up to Kafka's newest version, and down at least to its oldest", () => {
  // Telemetry is not in Kafka's list before somebody has given it a place to send metrics to.
  for (const { api, versions: [first, last] } of registry.all) {
    const kafka = kafkaVersions.find(([key]) => key === api.key);
    if (kafka === undefined) continue;
    assertEquals(last, kafka[2], `the newest version of ${api.name}`);
    assert(first <= kafka[1], `${api.name} is served from ${first} on, by Kafka from ${kafka[1]} on`);
  }
});
