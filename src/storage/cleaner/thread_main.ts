/** The module that the thread of compaction runs: it takes one job after the other, and has nothing else to do. */

import { realFiles } from "../files/real.ts";
import { clean } from "./clean.ts";
import { Throttle } from "./pace.ts";
import { INTERRUPTED, type Order, type Report } from "./thread.ts";

/** What a thread sees of its maker. */
interface Scope {
  onmessage: ((event: MessageEvent<Order>) => void) | null;
  postMessage(report: Report): void;
}

const scope = globalThis as unknown as Scope;
let answered: ((done: boolean) => void) | null = null;

scope.onmessage = ({ data }) => {
  if (data.kind === "replaced") answered?.(data.done);
  else void run(data);
};

async function run({ job, bytesPerSecond, flags }: Order & { kind: "clean" }): Promise<void> {
  const pace = new Throttle(bytesPerSecond, {
    now: () => performance.now(),
    isInterrupted: () => Atomics.load(flags, INTERRUPTED) !== 0,
    wait: (ms) => void Atomics.wait(flags, INTERRUPTED, 0, ms),
  });
  const outcome = await clean(job, {
    files: realFiles,
    pace,
    secret: crypto.getRandomValues(new Uint8Array(16)),
    replace: (group) => {
      scope.postMessage({ kind: "group", group });
      return new Promise((resolve) => answered = resolve);
    },
  });
  scope.postMessage({ kind: "outcome", outcome });
}
