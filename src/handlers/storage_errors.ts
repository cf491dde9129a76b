/** What goes wrong while a request looks into the log is that partition's error, not the end of the request. */
import { ErrorCode } from "../codec/errors.ts";
import { MalformedFrame } from "../codec/malformed.ts";
import { IoError } from "../storage/files/files.ts";

/**
 * What `look` gives; or what `refuse` makes of KAFKA_STORAGE_ERROR when the disk fails under it, and of CORRUPT_MESSAGE
 * when a batch does not hold what its header says. Such a batch can be in the log: compressed ones are stored unopened.
 */
export function withStorageErrors<T>(look: () => T, refuse: (errorCode: number) => T): T {
  try {
    return look();
  } catch (error) {
    if (error instanceof IoError) return refuse(ErrorCode.KAFKA_STORAGE_ERROR);
    if (error instanceof MalformedFrame) return refuse(ErrorCode.CORRUPT_MESSAGE);
    throw error;
  }
}
