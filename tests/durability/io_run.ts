/**
 * Runs of a workload under a seed: one in which every call may be the last before a crash, and one in which the n-th
 * call fails. A failure names the seed, the call and what befell it: `deno task durability:replay` takes the three.
 */

import { ManualClock } from "../../src/base/clock.ts";
import { Prng } from "../../src/base/prng.ts";
import { describe, type Fault, FaultyFiles, type Operation } from "../../src/storage/files/faulty.ts";
import type { MemoryFiles } from "../../src/storage/files/memory.ts";
import { checkImage, type Image, openDirectory } from "./io_checker.ts";
import type { End } from "./io_ledger.ts";
import { World } from "./io_world.ts";

/** How the machine may end at a call: the process dies before it, or in it, or the power fails with it half done. */
export const CRASHES = ["killed", "killed-in-write", "power", "chance", "chance-2", "in-recovery"] as const;
export type CrashKind = typeof CRASHES[number];

/** How a call may fail, and how many calls in a row. */
export const FAULTS: Record<string, Fault & { times: number }> = {
  "eio": { code: "EIO", times: 1 },
  "eio-3": { code: "EIO", times: 3 },
  "eio-20": { code: "EIO", times: 20 },
  "eio-after": { code: "EIO", done: 1, times: 1 },
  "enospc": { code: "ENOSPC", times: 1 },
  "enospc-9": { code: "ENOSPC", times: 9 },
  "short-write": { code: "ENOSPC", done: 0.6, times: 1 },
  "short-writes": { code: "ENOSPC", done: 0.3, times: 4 },
};

const ALLOCATING = ["create", "write", "create directory", "rename"];

function fits(fault: Fault, { kind }: Operation): boolean {
  if (fault.done !== undefined && fault.done < 1) return kind === "write";
  // What was done and is reported as failed: only where it makes a difference.
  if (fault.done === 1) {
    return !["read", "size", "stat", "list", "open", "sync", "sync directory", "lock"].includes(kind);
  }
  return fault.code !== "ENOSPC" || ALLOCATING.includes(kind);
}

export class RunFailure extends Error {
  override name = "RunFailure";
}

function failed(seed: number, number: number, what: string, doing: string, cause: unknown): RunFailure {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  return new RunFailure(
    `${text}\n  after "${doing}"; replay with: deno task durability:replay ${seed} ${number} ${what}`,
    { cause },
  );
}

/** Who wants to see what a run does. */
export interface Watching {
  /** Each call of the workload, and which step it is in. */
  look(operation: Operation, step: string): void;
  /** What is done after the crash. */
  after(line: string): void;
}

export interface CrashRun {
  operations: number;
  images: number;
  /** The kind of each call. */
  kinds: string[];
}

/** Images held at once. Checking any of them while the workload runs would let its promises run ahead of it. */
const IMAGES_HELD = 1000;

/**
 * Runs the workload to its end, and checks what a crash at each call that `wanted` chooses would have left. Rejects with
 * {@link RunFailure}.
 */
export async function crashRun(
  seed: number,
  wanted: (operation: number, kind: CrashKind) => boolean,
  { look = () => {}, after = () => {} }: Partial<Watching> = {},
): Promise<CrashRun> {
  let images = 0;
  for (let from = 1;;) {
    const held: { number: number; kind: CrashKind; doing: string; image: Image; random: Prng }[] = [];
    const kinds: string[] = [];
    let upTo = Infinity;
    const world = new World(seed, (operation, world) => {
      const { number } = operation;
      kinds.push(operation.kind);
      if (from === 1) look(operation, world.doing);
      if (number < from || number >= upTo) return null;
      for (const kind of CRASHES) {
        if (!wanted(number, kind)) continue;
        const random = new Prng(seed * 1_000_003 + number * 31 + CRASHES.indexOf(kind));
        const image = imageAt(world, operation, kind, random);
        if (image !== null) held.push({ number, kind, doing: world.doing, image, random });
      }
      if (held.length >= IMAGES_HELD) upTo = number + 1;
      return null;
    });
    try {
      await world.run(() => world.operations < upTo);
      if (upTo === Infinity) await world.checkAlive();
    } catch (error) {
      throw failed(seed, world.operations, "none", world.doing, error);
    }
    for (const { number, kind, doing, image, random } of held) {
      try {
        const left = kind === "in-recovery" ? await crashedRecovery(image, random, after) : image;
        await checkImage(left, random, after);
      } catch (error) {
        throw failed(seed, number, kind, doing, error);
      }
    }
    images += held.length;
    if (upTo === Infinity) return { operations: world.operations, images, kinds };
    from = upTo;
  }
}

/** What is left when the world ends now. */
function imageOf(world: World, end: End, random: Prng): Image {
  const { memory, clock, bootId } = world;
  return {
    files: memory.crashed(end === "chance" ? () => random.float() : end),
    ledgers: world.ledgersAtEnd(),
    end,
    nowMs: clock.now(),
    bootId: end === "killed" ? bootId : bootId + "+",
  };
}

/** What is left when the machine ends at the operation; null where the kind says nothing of it. */
function imageAt(world: World, operation: Operation, kind: CrashKind, random: Prng): Image | null {
  const { memory, bootId, clock } = world;
  const image = (files: MemoryFiles, end: End): Image => ({
    files,
    end,
    ledgers: world.ledgersAtEnd(),
    nowMs: clock.now(),
    bootId: end === "killed" ? bootId : bootId + "+",
  });
  if (kind === "killed") return image(memory.crashed("killed"), "killed");
  if (kind === "power") return image(memory.crashed("power"), "power");
  if (kind === "killed-in-write") {
    if (operation.kind !== "write") return null;
    const files = memory.crashed("killed");
    perform(files, operation, random.float());
    return image(files, "killed");
  }
  const end = kind === "in-recovery" ? random.pick(["killed", "power", "chance"] as const) : "chance";
  const files = memory.crashed("killed");
  if (random.chance(0.7)) perform(files, operation, 1);
  return image(files.crashed(end === "chance" ? () => random.float() : end), end);
}

/** Does `share` of the operation. */
function perform(files: MemoryFiles, { kind, path, bytes, position, to }: Operation, share: number): void {
  if (kind === "rename") files.rename(path, to!);
  else if (kind === "remove" || kind === "remove directory") files.remove(path);
  else if (kind === "create directory") files.makeDirectory(path);
  else if (kind === "create") files.open(path, true).close();
  else if (kind === "write" || kind === "truncate") {
    // Whoever renamed or removed it since has it open.
    if (files.stat(path) === null) return;
    const handle = files.open(path, false);
    if (kind === "write") handle.writeAt(bytes!.subarray(0, Math.floor(bytes!.length * share)), position!);
    else handle.truncate(position!);
    handle.close();
  }
}

/** What is left when the machine ends while the next broker opens the image. */
async function crashedRecovery(image: Image, random: Prng, after: (line: string) => void): Promise<Image> {
  const open = async (files: FaultyFiles) => {
    try {
      await openDirectory(files, new ManualClock(image.nowMs), image.bootId);
    } catch (error) {
      if (!String(error).includes("ESRCH")) throw error;
    }
  };
  const counting = new FaultyFiles(image.files.crashed("killed"));
  await open(counting);
  const at = random.between(1, counting.operations);
  const end = random.pick(["killed", "power", "chance"] as const);
  const memory = image.files.crashed("killed");
  let left: MemoryFiles | null = null;
  await open(
    new FaultyFiles(memory, (operation) => {
      const { number } = operation;
      if (number <= at) after(`recovery ${number} ${describe(operation)}`);
      if (number === at) left = memory.crashed(end === "chance" ? () => random.float() : end);
      return number < at ? null : { code: "ESRCH" };
    }),
  );
  after(`recovery ends there: ${end}`);
  const worst = [image.end, end].includes("chance")
    ? "chance"
    : [image.end, end].includes("power")
    ? "power"
    : "killed";
  const bootId = end === "killed" ? image.bootId : image.bootId + "+";
  return { ...image, files: left ?? memory.crashed("killed"), end: worst, bootId };
}

/**
 * Runs the workload with the `nth` call failing, and as many after it as the fault says. False when there is no such call,
 * null when the fault does not fit it. Rejects with {@link RunFailure}.
 */
export async function faultRun(
  seed: number,
  nth: number,
  name: string,
  { look = () => {}, after = () => {} }: Partial<Watching> = {},
): Promise<boolean | null> {
  const fault = FAULTS[name];
  let fitting = false as boolean | null;
  const random = new Prng(seed * 1_000_003 + nth);
  const images: Image[] = [];
  // Some time after, while what the fault has done may not be mended.
  const crashesAt = nth + random.between(1, 150);
  const ends = ["killed", "power", "chance"] as const;
  const world = new World(seed, (operation, world) => {
    const { number } = operation;
    look(operation, world.doing);
    if (number === crashesAt && fitting === true) {
      images.push(...ends.map((end) => imageOf(world, end, random)));
    }
    if (number === nth) fitting = fits(fault, operation) ? true : null;
    const fails = fitting === true && number >= nth && number < nth + fault.times && fits(fault, operation);
    return fails ? { code: fault.code, done: fault.done } : null;
  });
  try {
    await world.run();
    if (fitting !== true) return fitting;
    await world.checkAlive();
    images.push(...ends.map((end) => imageOf(world, end, random)));
    for (const image of images) {
      after(`ended: ${image.end}`);
      await checkImage(image, random, after);
    }
  } catch (error) {
    throw failed(seed, nth, name, world.doing, error);
  }
  return true;
}

/** What was tried. */
export interface Tried {
  crashes: number;
  faults: number;
}

/** Workloads make between 2,000 and 4,000 calls. */
const CALLS_DRAWN_FROM = 2500;

/**
 * Crashes at, and fails, some calls of the seed's workload, which the seed draws: as many of each kind of crash and of
 * fault as `points` says, of half a point one or none. Rejects with {@link RunFailure}.
 */
export async function sampleRun(seed: number, points: number): Promise<Tried> {
  const random = new Prng(seed);
  const drawn = new Set<string>();
  const count = () => Math.floor(points + random.float());
  for (const kind of CRASHES) {
    for (let left = count(); left > 0; left--) drawn.add(`${kind} ${random.between(1, CALLS_DRAWN_FROM)}`);
  }
  const { images } = await crashRun(seed, (operation, kind) => drawn.has(`${kind} ${operation}`));
  let faults = 0;
  for (const name of Object.keys(FAULTS)) {
    const wanted = count();
    for (let done = 0, tries = 0; done < wanted && tries < 20 * wanted; tries++) {
      if (await faultRun(seed, random.between(1, CALLS_DRAWN_FROM), name)) done++, faults++;
    }
  }
  return { crashes: images, faults };
}

/** Crashes at every call of the seed's workload, and fails every one, in each way. Rejects with {@link RunFailure}. */
export async function wholeRun(seed: number): Promise<Tried> {
  const { operations, images } = await crashRun(seed, () => true);
  let faults = 0;
  for (const name of Object.keys(FAULTS)) {
    for (let nth = 1; nth <= operations; nth++) if (await faultRun(seed, nth, name)) faults++;
  }
  return { crashes: images, faults };
}
