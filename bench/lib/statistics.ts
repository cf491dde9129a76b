/** Medians, percentiles and ratios: what a noisy machine leaves of a measurement. Pure. */

/** The middle value, or the mean of the middle two; NaN of nothing. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The smallest value that at least `share` (0 to 1) of the values do not exceed; NaN of nothing. */
export function percentile(values: ArrayLike<number>, share: number): number {
  if (values.length === 0) return NaN;
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

/** The median of the ratios of values that were measured right after each other: noise of both cancels in part. */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.slice(0, theirs.length).map((value, i) => value / theirs[i]));
}

/** A number as people read it: three significant digits, no exponent. */
export function readable(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1) return value.toFixed(2);
  return value.toPrecision(2);
}
