/** Takes a broker's segments out of the page cache, so that reading them is reading the disk. Linux, no root needed. */

/**
 * Writes the files of `topic` below `dataDirectory` to the disk and makes the kernel forget their pages
 * (posix_fadvise, which is what dd's flag `nocache` is). Throws when there are none.
 */
export async function forgetTopic(dataDirectory: string, topic: string): Promise<void> {
  const script = `find "$0" -path "*/$1-*/*.log" -size +0 | grep . | while read -r f; do ` +
    `sync -d "$f" && dd if="$f" iflag=nocache count=0 status=none || exit 1; done`;
  const { success, stderr } = await new Deno.Command("bash", {
    args: ["-c", `set -o pipefail; ${script}`, dataDirectory, topic],
  }).output();
  if (!success) {
    throw new Error(`cannot clear the page cache of ${topic}: ${new TextDecoder().decode(stderr)}`);
  }
}
