/**
 * Bit flips, truncation, additions, loss and mix-ups at every structural place of a data directory's files, one at a time.
 * `FLIPS=all` tries every byte; without it, bytes inside of records and of snapshots are sampled. `FLIPS_SEED` chooses bits.
 */
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { BATCH_OVERHEAD, batchesIn } from "../../src/codec/batch.ts";
import {
  contentOf,
  cuts,
  type Damage,
  deletion,
  DIRECTORY,
  type Ending,
  extensions,
  findings,
  flips,
  look,
  partnerOf,
  sampleDirectory,
  swap,
  TOPIC,
} from "./flips.ts";
import { type Sample, tried } from "./flips_rules.ts";

const all = Deno.env.get("FLIPS") === "all";
const seed = Number(Deno.env.get("FLIPS_SEED") ?? 20261129);
/** Of the bytes that mean the same to everybody, every so many-th is tried. */
const SAMPLED = all ? 1 : 23;

async function sampleOf(ending: Ending): Promise<Sample> {
  const files = await sampleDirectory(ending);
  return { ending, files, right: await look(files.crashed("killed"), 1) };
}

/** The files of the directory and of the first partition, but for the lock, which is empty. */
function filesOf({ files }: Sample): string[] {
  const own = files.list(DIRECTORY).filter(({ name, isDirectory }) => !isDirectory && name !== ".lock");
  const partition = files.list(`${DIRECTORY}/${TOPIC}-0`).map(({ name }) => `${TOPIC}-0/${name}`);
  return [...own.map(({ name }) => name), ...partition].sort();
}

/** Bytes to flip, and sizes to cut to. */
function places(content: Uint8Array, file: string): { bytes: number[]; sizes: number[] } {
  const { length } = content;
  const sampled = (at: number, first: number) => (at - first) % SAMPLED === 0;
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
  const around = (at: number[]) => at.flatMap((at) => [at - 1, at, at + 1]);
  const kind = file.slice(file.lastIndexOf("."));
  switch (kind) {
    case ".log": {
      const starts = [...batchesIn(content)].map(({ start }) => start);
      const looked = all ? starts : [starts[starts.length >> 1], starts[starts.length - 1]];
      const headers = looked.flatMap((start) => range(start, start + BATCH_OVERHEAD));
      const records = range(0, length).filter((at) => sampled(at, 3));
      return {
        bytes: [...new Set([...headers, ...records])],
        sizes: around([0, ...starts.flatMap((start) => [start, start + 12, start + BATCH_OVERHEAD]), length]),
      };
    }
    case ".index":
    case ".timeindex": {
      const entryBytes = kind === ".index" ? 8 : 12;
      return {
        bytes: range(0, length),
        sizes: around(range(0, length / entryBytes + 1).map((n) => n * entryBytes)),
      };
    }
    case ".snapshot": {
      const bytes = range(0, length).filter((at) => at < 56 ? all || at % 2 === 0 : sampled(at, 1));
      return { bytes, sizes: around([0, 10, 56, 102, length]) };
    }
    default:
      return { bytes: range(0, length), sizes: range(0, length) };
  }
}

function damagesTo(sample: Sample, file: string, random: Prng): Damage[] {
  const { files } = sample;
  const { bytes, sizes } = places(contentOf(files, file), file);
  return [
    ...flips(files, file, random, bytes),
    ...cuts(files, file, sizes),
    ...extensions(file, random),
    deletion(file),
    ...(file.includes("/") ? [swap(file, partnerOf(files, file))] : []),
  ];
}

for (const ending of ["closed", "killed"] as const) {
  const sample = await sampleOf(ending);

  Deno.test(`a directory that was ${ending} is in order, before and after a start`, () => {
    assertEquals([findings(sample.files), sample.right.warnings, sample.right.refused], [[], [], null]);
  });

  const kinds = Map.groupBy(filesOf(sample), (file) => file.replace(/\d{20}/, "N"));
  for (const [kind, names] of kinds) {
    Deno.test(`${ending}: damage to ${kind} is found, told and does not spread, seed ${seed}`, async () => {
      const random = new Prng(seed);
      const failures: string[] = [];
      for (const file of names) {
        for (const damage of damagesTo(sample, file, random)) {
          const failure = await tried(sample, damage, random);
          if (failure !== null) failures.push(failure);
        }
      }
      assertEquals(failures.slice(0, 5), []);
    });
  }
}
