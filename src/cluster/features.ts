/**
 * The features of a cluster (KIP-584): what it can do, by versions that clients and tools go by, since they change what
 * they send. Here is only what behaves: `group.version` 1 would say that KIP-848 is there.
 */
import { ErrorCode } from "../codec/errors.ts";

export interface Feature {
  readonly name: string;
  /** The lowest and the highest level that the cluster can have. */
  readonly versions: readonly [number, number];
  /** The level that holds unless another was set; 0 stands for "off". */
  readonly level: number;
}

/** What this release has. */
export const supportedFeatures: readonly Feature[] = [
  // What tools read as "4.4-IV2". How metadata is stored depends on Trackway's release, so there is no other level.
  { name: "metadata.version", versions: [33, 33], level: 33 },
  // From 2 on Java's producers speak the newer protocol, with an epoch for each transaction (KIP-890).
  { name: "transaction.version", versions: [0, 2], level: 2 },
];

/** The level at which the feature is; `levels` has those that were set. */
export function levelOf({ name, versions, level }: Feature, levels: ReadonlyMap<string, number>): number {
  const set = levels.get(name);
  // Set by another release, for something that this one cannot do.
  const isKnown = set !== undefined && set >= versions[0] && set <= versions[1];
  return isKnown ? set : level;
}

/** Which way a level may go, as UpdateFeatures has it. */
export const UpgradeType = {
  UPGRADE: 1,
  /** Only if nothing is lost by it. */
  SAFE_DOWNGRADE: 2,
  UNSAFE_DOWNGRADE: 3,
} as const;

/** One update as a request has it. */
export interface FeatureUpdate {
  readonly feature: string;
  readonly maxVersionLevel: number;
  /** See {@link UpgradeType}; a client may send any number. */
  readonly upgradeType: number;
}

export interface UpdateFeaturesResult {
  readonly errorCode: number;
  readonly errorMessage: string | null;
}

export interface UpdateFeaturesPlan {
  readonly result: UpdateFeaturesResult;
  /** All levels that are set once the update is made. */
  readonly levels: ReadonlyMap<string, number>;
}

/** Decides on all of a request's updates: one that cannot be made keeps all others from being made. */
export function planUpdateFeatures(
  before: ReadonlyMap<string, number>,
  updates: readonly FeatureUpdate[],
  supported: readonly Feature[] = supportedFeatures,
): UpdateFeaturesPlan {
  const levels = new Map(before);
  for (const update of updates) {
    const problem = problemOf(before, update, supported);
    if (problem !== null) {
      const errorMessage = "The update failed for all features since the following feature had an error: " +
        `Invalid update version ${update.maxVersionLevel} for feature ${update.feature}. ${problem}`;
      return { result: { errorCode: ErrorCode.INVALID_UPDATE_VERSION, errorMessage }, levels: before };
    }
    levels.set(update.feature, update.maxVersionLevel);
  }
  return { result: { errorCode: ErrorCode.NONE, errorMessage: null }, levels };
}

function problemOf(
  levels: ReadonlyMap<string, number>,
  { feature: name, maxVersionLevel, upgradeType }: FeatureUpdate,
  supported: readonly Feature[],
): string | null {
  if (upgradeType < UpgradeType.UPGRADE || upgradeType > UpgradeType.UNSAFE_DOWNGRADE) {
    return "This upgrade type is not known.";
  }
  if (maxVersionLevel < 0) return "A level cannot be below 0.";
  const feature = supported.find((each) => each.name === name);
  if (feature === undefined) return "This cluster does not have the feature.";
  const [lowest, highest] = feature.versions;
  if (maxVersionLevel < lowest || maxVersionLevel > highest) {
    return `Only versions ${lowest}-${highest} are supported here.`;
  }
  const isDown = maxVersionLevel < levelOf(feature, levels);
  return isDown && upgradeType === UpgradeType.UPGRADE
    ? "It is a downgrade, which the upgrade type has to say."
    : null;
}
