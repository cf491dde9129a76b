/**
 * Native addons that Trackway can do without: a platform or a compiled binary that lacks one must still start. What
 * every broker needs is loaded at once, what few need at its first use: an addon costs some megabytes and milliseconds.
 */

import { createRequire } from "node:module";

/** The module that `load` imports, or why it cannot be had. `load` is a literal import, so that bundlers see it. */
export async function loadAddon<Module>(
  load: () => Promise<Module>,
): Promise<{ addon: Module; reason: null } | { addon: null; reason: string }> {
  try {
    return { addon: await load(), reason: null };
  } catch (error) {
    return { addon: null, reason: firstLine(error) };
  }
}

/** An addon that is loaded when it is first asked for, in the middle of something that cannot wait. */
export class LazyAddon<Module> {
  private loaded: Module | null | undefined;
  /** Told why there is none, once that is certain. */
  onMissing: (reason: string) => void = () => {};

  /** `load` is a literal import of the package `name`: bundlers see it, and it stands in where `require` is of no use. */
  constructor(private readonly name: string, private readonly load: () => Promise<Module>) {}

  /** The module, or null when it cannot be had, or not yet. */
  get(): Module | null {
    if (this.loaded !== undefined) return this.loaded;
    try {
      this.loaded = createRequire(import.meta.url)(this.name) as Module;
    } catch {
      // A compiled binary may know the package to `import` only; if it does not either, that says why.
      this.loaded = null;
      void loadAddon(this.load).then(({ addon, reason }) => {
        this.loaded = addon;
        if (reason !== null) this.onMissing(reason);
      });
    }
    return this.loaded;
  }
}

function firstLine(error: unknown): string {
  return error instanceof Error ? error.message.split("\n")[0] : String(error);
}
