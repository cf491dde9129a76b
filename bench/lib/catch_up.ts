/** The program of a thread that reads a topic over and over as fast as it comes, from the disk: for what goes on beside it. */
import { parentPort, workerData } from "node:worker_threads";
import { consumeLoad, type Target } from "./load.ts";
import { forgetTopic } from "./page_cache.ts";

const { target, directory } = workerData as { target: Target; directory: string };
const batchBytes = target.recordsPerBatch * target.valueBytes;
/** A pass reads this much of it. */
const PASS_BYTES = 500e6;
let bytes = 0;

parentPort!.on("message", () => parentPort!.postMessage(bytes));
for (let pass = 0;; pass++) {
  if (pass > 0) await forgetTopic(directory, target.topic);
  const read = consumeLoad(target, PASS_BYTES / batchBytes, (batches) => bytes += batches * batchBytes);
  if (pass === 0) parentPort!.postMessage("reading");
  await read;
}
