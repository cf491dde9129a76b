/**
 * Looking at the metadata file of a data directory without changing it, as `trackway check` does. A file with a write-ahead
 * log, which only a crash leaves, is looked at in a copy: SQLite would merge the two.
 */
import { DatabaseSync } from "node:sqlite";
import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CannotCheck, type Report } from "../base/finding.ts";
import { StartupError } from "../base/startup_error.ts";
import type { TopicImage } from "./image.ts";
import {
  BROKER_CONFIG_PREFIX,
  CLIENT_METRICS_CONFIG_PREFIX,
  CLUSTER_KEY,
  CorruptRow,
  DELETION_PREFIX,
  FEATURES_KEY,
  GROUP_CONFIG_PREFIX,
  parseClusterRow,
  parseConfigRow,
  parseDeletionRow,
  parseFeaturesRow,
  parseProducerIdsRow,
  parseQuotaRow,
  parseTopicRow,
  PRODUCER_IDS_KEY,
  QUOTA_PREFIX,
  TOPIC_PREFIX,
} from "./rows.ts";
import {
  checkFormat,
  checkSize,
  findDamage,
  isSqliteError,
  METADATA_FILE,
  walFaultOf,
} from "./sqlite_file.ts";

/** What the metadata says, as far as it could be read. */
export interface CheckedMetadata {
  /** Nothing is in it yet: a broker would take over what topics it finds by their directories. */
  readonly isNew: boolean;
  readonly clusterId: string | null;
  readonly topics: ReadonlyMap<string, TopicImage>;
  /** Ids of topics that were deleted and whose directories may still be there. */
  readonly deletions: ReadonlySet<string>;
}

const CONFIG_PREFIXES = [BROKER_CONFIG_PREFIX, GROUP_CONFIG_PREFIX, CLIENT_METRICS_CONFIG_PREFIX];

/** How a broker ends that finds the file like that. */
const REFUSED = "does not start until a copy is put back, or the file is moved away";

/**
 * Looks at the metadata file in `directory`. Null when there is none, or none that can be read. Throws {@link CannotCheck}
 * when it may not be read.
 */
export function checkMetadata(directory: string, report: Report): CheckedMetadata | null {
  const path = join(directory, METADATA_FILE);
  try {
    const fault = walFaultOf(path);
    if (fault !== null) {
      report({
        severity: fault.isDamage ? "damage" : "note",
        file: fault.path,
        position: fault.position,
        problem: fault.problem,
        outcome: fault.isDamage ? REFUSED : "leaves out a last change that was not finished",
      });
    }
    if (!exists(path)) return null;
    checkSize(path);
    return withDatabase(path, (database) => checkDatabase(database, path, report));
  } catch (error) {
    const problem = problemOf(path, error);
    if (problem === null) throw error;
    report({ severity: "damage", file: path, position: null, problem, outcome: REFUSED });
    return null;
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** What is wrong with the file; null when the error says nothing about that. */
function problemOf(path: string, error: unknown): string | null {
  if (isSqliteError(error)) return error.message;
  // A newer release's file, or another program's.
  if (error instanceof StartupError) return error.message.replace(`Cannot use ${path}: `, "");
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EACCES" || code === "EPERM") {
    throw new CannotCheck(`Cannot check ${path}: ${message}. Run the check as a user who may read it`);
  }
  return code === undefined ? null : message;
}

/** Opens the file so that nothing beside it is made and nothing in it changed. */
function withDatabase<T>(path: string, use: (database: DatabaseSync) => T): T {
  if (!exists(`${path}-wal`)) {
    const url = pathToFileURL(resolve(path));
    url.search = "?immutable=1";
    return used(new DatabaseSync(url, { readOnly: true }), use);
  }
  const directory = mkdtempSync(join(tmpdir(), "trackway-check-"));
  try {
    const copy = join(directory, METADATA_FILE);
    for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, copy + suffix);
    return used(new DatabaseSync(copy), use);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function used<T>(database: DatabaseSync, use: (database: DatabaseSync) => T): T {
  try {
    return use(database);
  } finally {
    database.close();
  }
}

function checkDatabase(database: DatabaseSync, path: string, report: Report): CheckedMetadata {
  const tell = (problem: string) =>
    report({ severity: "damage", file: path, position: null, problem, outcome: REFUSED });
  const topics = new Map<string, TopicImage>();
  const deletions = new Set<string>();
  let clusterId: string | null = null;
  let isNew = true;
  if (checkFormat(database, path).fresh) {
    const outcome = "takes the topics over that it finds by their directories, without their settings";
    report({ severity: "note", file: path, position: null, problem: "it is empty", outcome });
    return { isNew, clusterId, topics, deletions };
  }
  const damage = findDamage(database);
  if (damage !== null) tell(damage);
  for (const row of database.prepare("SELECT key, value FROM entries ORDER BY key").iterate()) {
    const [key, value] = [String(row.key), String(row.value)];
    try {
      if (key === CLUSTER_KEY) ({ clusterId, isNew } = parseClusterRow(value));
      else if (key.startsWith(TOPIC_PREFIX)) {
        const topic = parseTopicRow(key.slice(TOPIC_PREFIX.length), value);
        topics.set(topic.name, topic);
      } else if (key.startsWith(DELETION_PREFIX)) {
        parseDeletionRow(key, value);
        deletions.add(key.slice(DELETION_PREFIX.length));
      } else if (key === PRODUCER_IDS_KEY) parseProducerIdsRow(value);
      else if (key === FEATURES_KEY) parseFeaturesRow(value);
      else if (CONFIG_PREFIXES.some((prefix) => key.startsWith(prefix))) {
        parseConfigRow(key, value);
      } else if (key.startsWith(QUOTA_PREFIX)) parseQuotaRow(key, value);
    } catch (error) {
      if (!(error instanceof CorruptRow)) throw error;
      tell(error.message);
    }
  }
  if (clusterId === null) tell(`the entry "${CLUSTER_KEY}" is missing`);
  return { isNew, clusterId, topics, deletions };
}
