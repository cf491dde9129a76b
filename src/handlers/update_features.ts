/** Changes the levels of the cluster's features: all that a request names, or none. */
import { ErrorCode } from "../codec/errors.ts";
import type { updateFeatures } from "../codec/messages/update_features.ts";
import { UpgradeType } from "../cluster/features.ts";
import type { Handler } from "./context.ts";

/** The first version that says which kind of downgrade is meant; before, one that loses nothing. */
const firstWithUpgradeType = 1;

export const updateFeaturesHandler: Handler<typeof updateFeatures> = async (request, context) => {
  const { featureUpdates, validateOnly } = request;
  const updates = featureUpdates.map(({ feature, maxVersionLevel, upgradeType, allowDowngrade }) => ({
    feature,
    maxVersionLevel,
    upgradeType: context.version >= firstWithUpgradeType
      ? upgradeType
      : allowDowngrade
      ? UpgradeType.SAFE_DOWNGRADE
      : UpgradeType.UPGRADE,
  }));
  const result = await context.services.cluster.updateFeatures(updates, validateOnly);
  const isDone = result.errorCode === ErrorCode.NONE;
  return {
    ...result,
    results: isDone
      ? featureUpdates.map(({ feature }) => ({
        feature,
        errorCode: ErrorCode.NONE,
        errorMessage: "NONE",
      }))
      : [],
  };
};
