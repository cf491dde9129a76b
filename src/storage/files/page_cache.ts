/**
 * Bringing parts of files into the operating system's page cache, without bringing them into the process: for that a file
 * is sent to nowhere by the system itself, on a thread of its own. To read it would cost a copy and, on virtual machines,
 * the first touch of every page, which is the larger part.
 */

import * as fs from "node:fs";
import { openGlibc } from "../../base/glibc.ts";

const SYMBOLS = {
  sendfile: { parameters: ["i32", "i32", "buffer", "usize"], result: "isize", nonblocking: true },
} as const;

export class PageCache {
  private constructor(
    private readonly glibc: Deno.DynamicLibrary<typeof SYMBOLS>["symbols"],
    private readonly nowhere: number,
  ) {}

  /** Null where the system has no such call. */
  static open(): PageCache | null {
    const library = openGlibc(SYMBOLS);
    return library && new PageCache(library.symbols, fs.openSync("/dev/null", "w"));
  }

  /** Resolves to how many of `bytes` bytes from `position` on are in memory now; 0 for any failure, and at the file's end. */
  async bring(descriptor: number, position: number, bytes: number): Promise<number> {
    const at = new BigInt64Array([BigInt(position)]);
    const sent = await this.glibc.sendfile(
      this.nowhere,
      descriptor,
      new Uint8Array(at.buffer),
      BigInt(bytes),
    );
    return Math.max(0, Number(sent));
  }
}
