/** Quotas as tests need them. */
import { ManualClock } from "../../src/base/clock.ts";
import { entityKey, type QuotaEntity } from "../../src/cluster/client_quotas.ts";
import { Quotas } from "../../src/quotas/quotas.ts";

/** Kafka's default: eleven samples of a second. */
export const windows = { samples: 11, sampleMs: 1000 };

/** Quotas that nobody has set. */
export function noQuotas(): Quotas {
  return new Quotas({ windows, mutationWindows: windows, clock: () => 0 });
}

/** Quotas of these entities, with a clock that the test turns. */
export function quotasWith(...all: [QuotaEntity, Record<string, number>][]) {
  const clock = new ManualClock();
  const quotas = new Quotas({ windows, mutationWindows: windows, clock: () => clock.monotonic() });
  setQuotas(quotas, ...all);
  return { quotas, clock };
}

/** Has these entities have these quotas, and no others. */
export function setQuotas(quotas: Quotas, ...all: [QuotaEntity, Record<string, number>][]): void {
  const changed = quotasOf(...all);
  quotas.change(changed, changed);
}

/** What the metadata has of these entities. */
export function quotasOf(...all: [QuotaEntity, Record<string, number>][]) {
  return all.map(([entity, quotas]) => ({ entity, quotas: new Map(Object.entries(quotas)) }));
}

/** The same by the entities' keys, as the image has them. */
export function quotaImage(...all: [QuotaEntity, Record<string, number>][]) {
  return new Map(quotasOf(...all).map((one) => [entityKey(one.entity), one]));
}
