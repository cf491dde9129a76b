/**
 * What must come of a piece of damage: no answer may be a lie, the other partition must not notice, the broker has to tell
 * what it refuses or has lost, and `trackway check` has to find it. Places where a change is not noticed are listed here,
 * each with the reason why it does no harm.
 */
import type { Prng } from "../../src/base/prng.ts";
import type { MemoryFiles } from "../../src/storage/files/memory.ts";
import {
  type Answers,
  type Damage,
  DIRECTORY,
  type Ending,
  findings,
  judge,
  type Look,
  look,
  TOPIC,
} from "./flips.ts";

interface Exception {
  readonly file: RegExp;
  readonly what: RegExp;
  readonly ending?: Ending;
  /** What a warning has to say. */
  readonly says?: RegExp;
  readonly reason: string;
}

/** Nobody notices, and every answer is right all the same. */
const UNNOTICED: readonly Exception[] = [
  {
    file: /^\.kafka_cleanshutdown$/,
    what: /flipped/,
    reason: "of the marker only the version has a meaning, and that it can be read",
  },
  {
    file: /^\.kafka_cleanshutdown$/,
    what: /deleted|cut to 0 /,
    reason: "older Kafka leaves it empty; without it the logs are read as after a crash",
  },
  {
    file: /^meta\.properties$/,
    what: /byte (69|7\d|8\d|90) flipped/,
    reason: "the id of the directory: there is one directory, and nothing to hold the id against",
  },
  {
    file: /^meta\.properties$/,
    what: /bit 0 of byte 20 flipped/,
    reason: "versions 0 and 1 differ in a name that both have here",
  },
  {
    file: /^meta\.properties$/,
    what: /cut to 56 /,
    reason: "directories of Kafka before 3.7 have no id of their own",
  },
  {
    file: /\.index$/,
    what: /cut to \d*[048] of/,
    reason: "entries that are missing only make a search longer",
  },
  {
    file: /\.index$/,
    what: /flipped/,
    reason: "an entry may name a later batch's offset, as Kafka before 4.0 wrote it",
  },
  { file: /\.timeindex$/, what: /flipped/, reason: "an offset in the same batch leads to the same batch" },
  {
    file: /\.timeindex$/,
    what: /cut to 0 of/,
    ending: "killed",
    reason: "a log that was not closed may have no entry in its last segment yet, and recovery makes it anew",
  },
  {
    file: /\.snapshot$/,
    what: /deleted/,
    reason: "an older snapshot and the batches behind it say the same",
  },
  {
    file: /^recovery-point-offset-checkpoint$/,
    what: /flipped|deleted|cut to 0 /,
    ending: "killed",
    reason: "an earlier recovery point, or none, only has more of the log read again",
  },
  {
    file: /^replication-offset-checkpoint$/,
    what: /flipped|deleted|cut to 0 /,
    reason: "a broker that is alone takes the log's end for the high watermark",
  },
  {
    file: /partition\.metadata$/,
    what: /swapped/,
    reason: "both partitions are of one topic, and have the same",
  },
];

/** Answers may differ from what they were, for the broker has told what it has lost or what it cannot tell any more. */
const TOLD: readonly Exception[] = [
  {
    file: /\.log$/,
    what: /cut|deleted|swapped/,
    reason: "what is lost, or another's, is told with its offsets",
  },
  {
    file: /\.log$/,
    what: /flipped/,
    says: /ends at position .* but the next segment begins at/,
    reason: "a segment whose last batch has lost offsets ends too early: the gap to the next one is told",
  },
  {
    file: /leader-epoch-checkpoint$/,
    what: /flipped/,
    says: /one of them is damaged/,
    reason: "where epochs and log start do not agree, no record is hidden, which is told",
  },
  {
    file: /\.log$/,
    what: /flipped/,
    ending: "killed",
    says: /cut .* bytes off the end/,
    reason: "an end that cannot be believed is cut off with a warning: a machine that stops leaves the same",
  },
  {
    file: /^log-start-offset-checkpoint$/,
    what: /./,
    reason: "where the log began is remembered by its epochs only: records that were deleted are there again",
  },
];

/** Answers may be another's: somebody has mixed up files that are intact, which no bit rot does. */
const MIXED_UP: readonly Exception[] = [
  {
    file: /\.snapshot$/,
    what: /swapped/,
    reason: "an older snapshot of another partition is a good snapshot",
  },
];

function isIn(
  list: readonly Exception[],
  { file, what }: Damage,
  ending: Ending,
  warnings: readonly string[] = [],
): boolean {
  return list.some((one) =>
    one.file.test(file) && one.what.test(what) && (one.ending === undefined || one.ending === ending) &&
    (one.says === undefined || warnings.some((line) => one.says!.test(line)))
  );
}

/**
 * The leader epoch of a batch, which no checksum covers, comes to readers as it is. Where it is the log's last batch, and the
 * file of epochs was not written since, nothing in the log can tell.
 */
function withoutEpochs(answers: Answers): Answers {
  const strip = (answer: string) => answer.replace(/ of epoch -?\d+|,"leaderEpoch":-?\d+/g, "");
  const others = [...answers].filter(([question]) => !/^(epoch at|end of epoch)/.test(question));
  return new Map(others.map(([question, answer]) => [question, strip(answer)]));
}

/** A directory and what is right about it. */
export interface Sample {
  readonly ending: Ending;
  readonly files: MemoryFiles;
  readonly right: Look;
}

/** Brings the damage about in a copy, and gives what is wrong with what comes of it; null when nothing is. */
export async function tried(sample: Sample, damage: Damage, random: Prng): Promise<string | null> {
  const { ending, right } = sample;
  const files = sample.files.crashed("killed");
  damage.apply(files);
  const found = findings(files);
  const seed = random.nextU32();
  const wrong = (problem: string) =>
    `${ending}, ${damage.file} ${damage.what} (questions ${seed}): ${problem}`;
  let seen: Look;
  try {
    seen = await look(files, seed);
  } catch (error) {
    return wrong(`the broker failed: ${(error as Error).stack}`);
  }
  if (seen.refused !== null) {
    if (!seen.refused.includes(DIRECTORY)) return wrong(`refused without saying which: ${seen.refused}`);
    return found.length > 0 ? null : wrong("refused, but the check finds nothing");
  }
  const isShared = !damage.file.startsWith(`${TOPIC}-0/`) || damage.what.startsWith("swapped");
  const isBatchEpoch = damage.file.endsWith(".log") && found.length > 0;
  let isRight = true;
  for (const [partition, answers] of seen.partitions.entries()) {
    const exact = judge(right.partitions[partition], answers);
    const { lies, isHurt } = isBatchEpoch
      ? judge(withoutEpochs(right.partitions[partition]), withoutEpochs(answers))
      : exact;
    isRight &&= exact.lies.length === 0 && !isHurt;
    if (partition === 1 && !isShared && (lies.length > 0 || isHurt)) {
      return wrong("the other partition is hurt");
    }
    if (lies.length > 0) {
      const isTold = seen.warnings.length > 0 && isIn(TOLD, damage, ending, seen.warnings);
      if (!isTold && !isIn(MIXED_UP, damage, ending)) return wrong(`lies: ${lies.slice(0, 3).join("; ")}`);
    }
    const isRefused = [...answers.values()].includes("refused");
    const names = [damage.file.slice(damage.file.lastIndexOf("/") + 1), `${TOPIC}-${partition}`];
    if (isRefused && !seen.warnings.some((line) => names.some((name) => line.includes(name)))) {
      return wrong("refused without a word");
    }
  }
  const isNoticed = found.length > 0;
  if (!isNoticed && !(isRight && isIn(UNNOTICED, damage, ending)) && !isIn(MIXED_UP, damage, ending)) {
    return wrong(isRight ? "nobody notices, and it is not listed why" : "the check finds nothing");
  }
  // What was told to be made anew has to be good now.
  if (
    isRight && seen.warnings.length > 0 && damage.file.includes("/") && !damage.file.endsWith(".metadata")
  ) {
    const left = findings(files);
    if (left.length > 0) return wrong(`still there after a start: ${left[0].file}: ${left[0].problem}`);
  }
  return null;
}
