/**
 * Functions of the C library. Trackway works without: with another library than glibc, on another system than Linux, or
 * where foreign functions are not allowed, there is none.
 */

/** The functions asked for; null where there is no such library. */
export function openGlibc<const S extends Deno.ForeignLibraryInterface>(
  symbols: S,
): Deno.DynamicLibrary<S> | null {
  if (Deno.build.os !== "linux") return null;
  // To try would have Deno ask whoever sits at the terminal, and everything else wait for the answer.
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return null;
  try {
    return Deno.dlopen("libc.so.6", symbols);
  } catch {
    // No such library, or not allowed. Either is as good as known before: it costs what the caller does without it.
    return null;
  }
}
