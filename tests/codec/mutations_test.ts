import { assert } from "@std/assert/assert";
import { Prng } from "../../src/base/prng.ts";
import { decodeHex } from "../../src/base/hex.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { checkVector, messages, type Vector } from "./vectors.ts";

const folder = new URL("../vectors/", import.meta.url);
const vectors: Vector[] = [...Deno.readDirSync(folder)]
  .map((f) => f.name).filter((f) => f !== "RecordBatch.jsonl").sort()
  .flatMap((f) =>
    Deno.readTextFileSync(new URL(f, folder)).trim().split("\n").map((l) => JSON.parse(l) as Vector)
  );

/** Changes `bytes` the way line noise, version mix-ups and attackers do. */
function mutate(bytes: Uint8Array, prng: Prng): Uint8Array {
  const copy = bytes.slice();
  switch (prng.int(4)) {
    case 0:
      return copy.subarray(0, prng.int(copy.length + 1));
    case 1:
      if (copy.length > 0) copy[prng.int(copy.length)] = prng.int(256);
      return copy;
    case 2: {
      // Lengths are what hurts: the largest and the negative ones, somewhere.
      const at = prng.int(Math.max(1, copy.length - 4));
      copy.set(
        [[0x7f, 0xff, 0xff, 0xff], [0xff, 0xff, 0xff, 0x0f], [0x80, 0, 0, 0]][prng.int(3)].slice(
          0,
          copy.length - at,
        ),
        at,
      );
      return copy;
    }
    default: {
      const longer = new Uint8Array(copy.length + 1 + prng.int(8));
      longer.set(copy);
      return longer;
    }
  }
}

/** How many objects and array slots a decoded value has: what it costs in memory, roughly. */
function weight(value: unknown): number {
  if (value instanceof Uint8Array || typeof value !== "object" || value === null) return 1;
  let sum = 1;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) sum += weight(inner);
  return sum;
}

Deno.test("mutated frames give a value or MalformedFrame, and no value outweighs its frame", () => {
  const prng = new Prng(440391);
  let refused = 0, read = 0;
  for (let round = 0; round < 10; round++) {
    for (const vector of vectors) {
      const message = messages.get(vector.message)!;
      const bytes = mutate(decodeHex(vector.hex), prng);
      try {
        const value = message.decode(bytes, vector.version);
        read++;
        assert(
          weight(value) <= 100 + 16 * bytes.length,
          `${vector.message} v${vector.version} weighs ${weight(value)}`,
        );
      } catch (error) {
        if (!(error instanceof MalformedFrame)) throw error;
        refused++;
      }
    }
  }
  assert(
    refused > 1000 && read > 1000,
    `${refused} refused, ${read} read: the mutations are too wild or too tame`,
  );
});

Deno.test("an array length beyond the frame is refused before anything is allocated for it", () => {
  for (const vector of vectors.filter((v) => v.message === "MetadataRequest" && v.sample === "full")) {
    const bytes = decodeHex(vector.hex);
    bytes.set(vector.flexible ? [0xff, 0xff, 0xff, 0xff, 0x0f] : [0x7f, 0xff, 0xff, 0xff], 0);
    const before = Deno.memoryUsage().heapUsed;
    let problem = "";
    try {
      messages.get("MetadataRequest")!.decode(bytes, vector.version);
    } catch (error) {
      problem = (error as Error).message;
    }
    assert(/elements/.test(problem), `version ${vector.version}: ${problem}`);
    assert(Deno.memoryUsage().heapUsed - before < 4 * 1024 * 1024, `version ${vector.version} allocated`);
  }
});

Deno.test("checkVector() fails on a wrong byte, a wrong value and a missing declaration", () => {
  const good = vectors.find((v) => v.message === "HeartbeatRequest" && v.version === 4)!;
  assert(checkVector(good) === null);
  assert(checkVector({ ...good, hex: good.hex.replace(/..$/, "01") }) !== null);
  assert(checkVector({ ...good, json: { ...good.json, generationId: 99 } }) !== null);
  assert(checkVector({ ...good, message: "NoSuchRequest" }) !== null);
});
