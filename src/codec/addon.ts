/** Native addons that Trackway can do without: a platform or a compiled binary that lacks one must still start. */

/** The module that `load` imports, or why it cannot be had. `load` is a literal import, so that bundlers see it. */
export async function loadAddon<Module>(
  load: () => Promise<Module>,
): Promise<{ addon: Module; reason: null } | { addon: null; reason: string }> {
  try {
    return { addon: await load(), reason: null };
  } catch (error) {
    return { addon: null, reason: error instanceof Error ? error.message.split("\n")[0] : String(error) };
  }
}
