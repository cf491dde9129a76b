/**
 * 64-bit integers in the two forms that the record codec takes: a number where it is safe, which is fast, and a bigint
 * for the rest. Sums wrap at 64 bits, as Java's do.
 */

/** As a number it must be a safe integer; a bigint is taken as its lowest 64 bits. */
export type Int64 = number | bigint;

/** `a + b`, as a number if it is safe. */
export function addInt64(a: Int64, b: Int64): Int64 {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return shortest(BigInt(a) + BigInt(b));
}

/** `a - b`, as a number if it is safe. */
export function subtractInt64(a: Int64, b: Int64): Int64 {
  if (typeof a === "number" && typeof b === "number") {
    const difference = a - b;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return shortest(BigInt(a) - BigInt(b));
}

function shortest(bits: bigint): Int64 {
  const wrapped = BigInt.asIntN(64, bits);
  const rounded = Number(wrapped);
  return Number.isSafeInteger(rounded) ? rounded : wrapped;
}
