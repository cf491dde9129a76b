/** What Linux knows of a process: CPU time, resident memory, when it began. From /proc; parsing is pure. */

/** Linux counts a process's times in hundredths of a second for user programs, whatever the kernel's own tick. */
const TICKS_PER_SECOND = 100;

export interface ProcessStat {
  /** User and system time of all threads, those that ended included; steps of 10 ms. */
  readonly cpuSeconds: number;
  /** Seconds from boot to the process's start. */
  readonly startedSeconds: number;
}

/** The text of /proc/PID/stat. The name in parentheses may have spaces and parentheses of its own. */
export function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // Field 3 of proc(5) comes first here: 14 and 15 are utime and stime, 22 is starttime.
  const field = (number: number) => Number(fields[number - 3]);
  return {
    cpuSeconds: (field(14) + field(15)) / TICKS_PER_SECOND,
    startedSeconds: field(22) / TICKS_PER_SECOND,
  };
}

/** A size in kB of /proc/PID/status, such as VmRSS, in bytes. Throws when it is not there. */
export function parseStatusBytes(text: string, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text);
  if (match === null) throw new Error(`no ${name} in the process status`);
  return Number(match[1]) * 1024;
}

/** Seconds since boot, now. */
export function uptimeSeconds(): number {
  return Number(Deno.readTextFileSync("/proc/uptime").split(" ")[0]);
}

export function processStat(pid: number): ProcessStat {
  return parseStat(Deno.readTextFileSync(`/proc/${pid}/stat`));
}

/** Whether the process has not ended; one that its parent has not asked after has. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Files, sockets and the like that it has open. */
export function openHandles(pid: number): number {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
}

/** Bytes that it has read by any call, from the page cache or the disk. */
export function bytesRead(pid: number): number {
  return Number(/^rchar: (\d+)$/m.exec(Deno.readTextFileSync(`/proc/${pid}/io`))![1]);
}

/** Resident memory in bytes, files that are mapped and in memory included. */
export function residentBytes(pid: number): number {
  return parseStatusBytes(Deno.readTextFileSync(`/proc/${pid}/status`), "VmRSS");
}

/** CPU time of a process from now on. */
export class CpuMeter {
  private readonly ticksAtStart: number;
  private readonly threadsAtStart: Map<string, number>;

  constructor(private readonly pid: number) {
    this.ticksAtStart = processStat(pid).cpuSeconds;
    this.threadsAtStart = threadNanoseconds(pid);
  }

  /**
   * CPU seconds since the meter was made. The scheduler's own nanoseconds of each thread are exact but lose threads
   * that ended, the process's ticks lose nothing but are coarse: the larger of the two.
   */
  seconds(): number {
    let nanoseconds = 0;
    for (const [thread, now] of threadNanoseconds(this.pid)) {
      nanoseconds += now - (this.threadsAtStart.get(thread) ?? 0);
    }
    const ticks = processStat(this.pid).cpuSeconds - this.ticksAtStart;
    return Math.max(nanoseconds / 1e9, ticks - 2 / TICKS_PER_SECOND);
  }
}

function threadNanoseconds(pid: number): Map<string, number> {
  const threads = new Map<string, number>();
  for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
    try {
      const text = Deno.readTextFileSync(`/proc/${pid}/task/${name}/schedstat`);
      threads.set(name, Number(text.split(" ")[0]));
    } catch (error) {
      // The thread ended between the listing and the look, or the kernel does not keep these: the ticks remain.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return threads;
}
