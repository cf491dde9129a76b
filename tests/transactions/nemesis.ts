/** What befalls the broker and its clients in a course, drawn by its seed. */
import type { Prng } from "../../src/base/prng.ts";
import type { Broker } from "../clients/broker.ts";
import { TRANSACTION_TIMEOUT_MS } from "./slots.ts";
import type { Worker, Workers } from "./workers.ts";

export interface Nemesis {
  readonly broker: Broker;
  readonly workers: Workers;
  readonly random: Prng;
  /** Puts down what was done. */
  readonly note: (did: string) => void;
  /** Waits, as nothing tells when it would be worst. */
  readonly pause: (ms: number) => Promise<void>;
}

/** So long it is waited for somebody to be in the middle of a commit. */
const MIDDLE_MS = 2000;

/** How often each has to do with a course. */
const WEIGHTS = {
  "kill the broker": 4,
  "stop and start the broker": 1,
  "pause the broker": 2,
  "kill a client": 4,
  "pause a client": 2,
  "replace a client that is paused": 3,
  "pause a transformer in its commit": 2,
};
export type Deed = keyof typeof WEIGHTS;
export const deeds = Object.keys(WEIGHTS) as Deed[];

const drawn = deeds.flatMap((deed) => Array<Deed>(WEIGHTS[deed]).fill(deed));

/** The order in which a course does all of them once, and then what it draws. */
export function* deedsOf(random: Prng): Generator<Deed> {
  yield* random.shuffle([...deeds]);
  for (;;) yield random.pick(drawn);
}

const actions: Record<Deed, (nemesis: Nemesis) => Promise<void>> = {
  "kill the broker": (nemesis) => restart(nemesis, "SIGKILL"),
  "stop and start the broker": (nemesis) => restart(nemesis, "SIGTERM"),
  "pause the broker": async ({ broker, random, pause, note }) => {
    const ms = random.pick([500, 3000, 7000]);
    broker.signal("SIGSTOP");
    note(`SIGSTOP of the broker for ${ms} ms`);
    await pause(ms);
    broker.signal("SIGCONT");
  },
  "kill a client": async (nemesis) => {
    const { workers, random, pause, note } = nemesis;
    const worker = victim(nemesis);
    if (random.chance(0.5)) await workers.commits(worker, MIDDLE_MS);
    note(`SIGKILL of ${worker.process}`);
    await workers.kill(worker);
    if (random.chance(0.5)) await pause(random.between(0, 1500));
    workers.start(worker.slot);
  },
  "pause a client": async (nemesis) => {
    const { workers, random, pause, note } = nemesis;
    const worker = victim(nemesis);
    // Shorter than its session and its transaction may take, or longer.
    const ms = random.pick([2000, TRANSACTION_TIMEOUT_MS + 1500]);
    if (random.chance(0.5)) await workers.commits(worker, MIDDLE_MS);
    note(`SIGSTOP of ${worker.process} for ${ms} ms`);
    workers.stop(worker);
    await pause(ms);
    workers.goOn(worker);
  },
  // Longer than its session and shorter than its transaction: the group goes on without it, and it may commit yet.
  "pause a transformer in its commit": async ({ workers, random, pause, note }) => {
    const worker = random.pick(workers.working("transformer"));
    await workers.commits(worker, MIDDLE_MS);
    const ms = TRANSACTION_TIMEOUT_MS - 1500;
    note(`SIGSTOP of ${worker.process}, which commits, for ${ms} ms`);
    workers.stop(worker);
    await pause(ms);
    workers.goOn(worker);
  },
  "replace a client that is paused": async (nemesis) => {
    const { workers, random, pause, note } = nemesis;
    const worker = victim(nemesis);
    if (random.chance(0.7)) await workers.commits(worker, MIDDLE_MS);
    note(`SIGSTOP of ${worker.process}, and another in its place`);
    workers.stop(worker);
    const heir = workers.start(worker.slot);
    await pause(random.between(1000, 5000));
    note(`SIGCONT of ${worker.process}, which ${heir.process} has replaced`);
    workers.goOn(worker);
  },
};

export function act(deed: Deed, nemesis: Nemesis): Promise<void> {
  return actions[deed](nemesis);
}

async function restart(nemesis: Nemesis, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const { broker, workers, random, pause, note } = nemesis;
  if (random.chance(0.5)) await workers.commits(null, MIDDLE_MS);
  note(`${signal} of the broker`);
  await broker.stop(signal);
  // At once, a little later, or when all that was open has timed out.
  await pause(random.pick([0, 0, 500, 1500, TRANSACTION_TIMEOUT_MS + 1500]));
  await broker.start();
  note("the broker is there again");
}

/** One of those that write, or now and then a member of the group of readers: the others hold the history together. */
function victim({ workers, random }: Nemesis): Worker {
  const isMember = random.chance(0.1);
  return random.pick(
    workers.working().filter(({ slot }) =>
      isMember ? slot.role === "reader" && slot.group !== undefined : slot.role !== "reader"
    ),
  );
}
