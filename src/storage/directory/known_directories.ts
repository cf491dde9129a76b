/**
 * Which data directories a broker has had, in a file beside the metadata: `<directory id> <path>` a line. One that is
 * named there and holds nothing is most likely on a disk that is not mounted, and must not be taken for a new one.
 */

import { META_PROPERTIES_FILE, readMetaProperties } from "./checkpoints.ts";
import { DataDirectoryError, unusable } from "./data_directory.ts";
import { type Files, readText, replaceFile } from "../files/files.ts";
import { parsePartitionDirectory } from "./names.ts";

/** Not Kafka's, which has the directories' ids in its metadata. */
export const KNOWN_DIRECTORIES_FILE = "trackway-log-directories";

/** Ids by path; none without the file. Throws `IoError`. */
export function readKnownDirectories(files: Files, directory: string): Map<string, string> {
  const known = new Map<string, string>();
  for (const line of (readText(files, `${directory}/${KNOWN_DIRECTORIES_FILE}`) ?? "").split("\n")) {
    const at = line.indexOf(" ");
    if (at > 0) known.set(line.slice(at + 1), line.slice(0, at));
  }
  return known;
}

/** Throws `IoError`. */
export function writeKnownDirectories(
  files: Files,
  directory: string,
  known: ReadonlyMap<string, string>,
): void {
  const lines = [...known].map(([path, id]) => `${id} ${path}\n`);
  replaceFile(files, `${directory}/${KNOWN_DIRECTORIES_FILE}`, lines.join(""), true);
}

/** The cluster that the first of these directories to name one belongs to. What cannot be read says nothing here. */
export function clusterOf(files: Files, directories: readonly string[]): string | null {
  for (const directory of directories) {
    try {
      const meta = readMetaProperties(files, `${directory}/${META_PROPERTIES_FILE}`);
      if (meta !== null) return meta.clusterId;
    } catch (error) {
      // Whoever opens it tells.
      if (!(unusable(directory, error) instanceof DataDirectoryError)) throw error;
    }
  }
  return null;
}

/** Throws `DataDirectoryError` when a directory that was in use has nothing in it any more, and `IoError`. */
export function refuseEmptied(files: Files, directory: string, metadataDirectory: string, id: string): void {
  if (files.stat(`${directory}/${META_PROPERTIES_FILE}`) !== null) return;
  throw new DataDirectoryError(
    "unusable",
    `Cannot use data directory ${directory}: it was in use as ${id}, and ${META_PROPERTIES_FILE} is not there any more. ` +
      `Mount its disk; or, if what was in it is lost for good, take its line out of ` +
      `${metadataDirectory}/${KNOWN_DIRECTORIES_FILE}, and its partitions begin anew, empty`,
  );
}

/** Whether there is a partition in a directory, or that cannot be told. */
export function mayHavePartitions(files: Files, directory: string): boolean {
  try {
    return files.list(directory).some(({ name }) => parsePartitionDirectory(name) !== null);
  } catch (error) {
    if (!(unusable(directory, error) instanceof DataDirectoryError)) throw error;
    return true;
  }
}
