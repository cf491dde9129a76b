import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { type Feature, levelOf, planUpdateFeatures, supportedFeatures } from "../../src/cluster/features.ts";
import { MemoryStore } from "../../src/cluster/memory.ts";
import { openCluster } from "./support.ts";

/** What there is only one level of cannot be altered, so the tests have a feature of their own. */
const speed: Feature = { name: "speed.version", versions: [0, 3], level: 2 };
const color: Feature = { name: "color.version", versions: [1, 5], level: 1 };

const UP = 1, DOWN = 2, DOWN_ANYWAY = 3;
const to = (maxVersionLevel: number, upgradeType = UP, feature = speed.name) => ({
  feature,
  maxVersionLevel,
  upgradeType,
});

/** The error of the first that is refused, and the levels that are set afterwards. */
function plan(updates: ReturnType<typeof to>[], before: Record<string, number> = {}) {
  const { result, levels } = planUpdateFeatures(new Map(Object.entries(before)), updates, [speed, color]);
  return [result.errorCode, Object.fromEntries(levels)];
}

Deno.test("planUpdateFeatures() raises a level, and lowers it only where the update says so", () => {
  const refused = ErrorCode.INVALID_UPDATE_VERSION;
  assertEquals(plan([to(3)]), [0, { "speed.version": 3 }]);
  assertEquals(plan([to(1)]), [refused, {}]);
  assertEquals(plan([to(1, DOWN)]), [0, { "speed.version": 1 }]);
  assertEquals(plan([to(0, DOWN_ANYWAY)]), [0, { "speed.version": 0 }]);
  // What is lower than the highest is no downgrade of a level that is lower still.
  assertEquals(plan([to(1)], { "speed.version": 0 }), [0, { "speed.version": 1 }]);
  assertEquals(plan([to(2)], { "speed.version": 3 }), [refused, { "speed.version": 3 }]);
});

Deno.test("planUpdateFeatures() makes none of a request's updates when one cannot be made", () => {
  assertEquals(plan([to(3), to(6, UP, color.name)], { "speed.version": 1 }), [
    ErrorCode.INVALID_UPDATE_VERSION,
    { "speed.version": 1 },
  ]);
  assertEquals(plan([to(3), to(5, UP, color.name)]), [0, { "speed.version": 3, "color.version": 5 }]);
});

Deno.test("planUpdateFeatures() says of which feature and level it will not go on, and why", () => {
  const { result } = planUpdateFeatures(new Map(), [to(3), to(0, DOWN, color.name)], [speed, color]);
  assertEquals(
    result.errorMessage,
    "The update failed for all features since the following feature had an error: " +
      "Invalid update version 0 for feature color.version. Only versions 1-5 are supported here.",
  );
});

Deno.test("levelOf() goes by the default where another release set a level that this one does not have", () => {
  assertEquals(levelOf(speed, new Map()), 2);
  assertEquals(levelOf(speed, new Map([["speed.version", 0]])), 0);
  assertEquals(levelOf(speed, new Map([["speed.version", 9]])), 2);
});

Deno.test("Cluster.updateFeatures() stores levels for the next start, and nothing when it only validates", async () => {
  const store = new MemoryStore();
  const features = [speed, color];
  const cluster = await openCluster({ store, features });
  await cluster.updateFeatures([to(0, DOWN)], true);
  const before = cluster.revision;
  assertEquals(cluster.image.featureLevels, new Map());
  assertEquals((await cluster.updateFeatures([to(0, DOWN)], false)).errorCode, ErrorCode.NONE);
  assertEquals(cluster.image.featureLevels, new Map([["speed.version", 0]]));
  assertEquals(cluster.revision, before + 1);
  await cluster.updateFeatures([to(0, DOWN)], false);
  assertEquals(cluster.revision, before + 1, "what is as it was is written again");
  await cluster.close();

  const next = await openCluster({ store, features });
  assertEquals(next.image.featureLevels, new Map([["speed.version", 0]]));
  assertEquals(next.revision, before + 1);
  await next.close();
});

Deno.test("a feature is told only once it behaves: new groups do not yet", () => {
  assertEquals(supportedFeatures.map(({ name }) => name), ["metadata.version", "transaction.version"]);
});
