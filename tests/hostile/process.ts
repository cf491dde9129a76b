/** What the system tells of a process, on Linux. */

/** Resident memory of a process, at the moment and at its highest; null where the system does not tell. */
export function residentBytes(pid: number): { now: number; peak: number } | null {
  const status = contentOf(`/proc/${pid}/status`);
  if (status === null) return null;
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return { now: kilobytes("VmRSS") * 1024, peak: kilobytes("VmHWM") * 1024 };
}

/** CPU time that a process has used, in clock ticks of mostly 10 ms; null where the system does not tell. */
export function cpuTicks(pid: number): number | null {
  const stat = contentOf(`/proc/${pid}/stat`);
  // The name in parentheses may have spaces in it.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields === undefined ? null : Number(fields[11]) + Number(fields[12]);
}

/** Descriptors that a process has open; null where the system does not tell. */
export function openDescriptors(pid: number): number | null {
  try {
    return [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function contentOf(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
