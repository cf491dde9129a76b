/** What an error of node:zlib means. */

/** Whether there was more to decompress than `maxOutputLength` allowed; any other error is of the input. */
export function isTooLarge(error: unknown): boolean {
  return (error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE";
}
