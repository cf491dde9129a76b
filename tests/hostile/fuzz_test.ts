/**
 * The fuzzer as part of every test run: a fixed seed, some thousand frames, a broker process. TRACKWAY_FUZZ_SEED and
 * TRACKWAY_FUZZ_FRAMES make it another run; `deno task fuzz` makes it as long as one likes.
 */
import { join } from "node:path";
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { apis } from "../../src/codec/apis.ts";
import { heartbeat } from "../../src/codec/messages/heartbeat.ts";
import { listGroups } from "../../src/codec/messages/list_groups.ts";
import type { Api } from "../../src/codec/schema.ts";
import { BrokerProcess } from "../lib/broker_process.ts";
import { frameOf } from "../protocol/golden_requests.ts";
import { caseOf } from "./cases.ts";
import { fuzzedBrokerSettings, FuzzRun } from "./fuzz.ts";
import { MAX_NEIGHBOUR_MS, MAX_RSS_MIB } from "./promises.ts";
import { writeFrame } from "./structure.ts";
import { type Link, problemOf } from "./wire.ts";
import { valuesOf } from "./world.ts";

const SEED = Number(Deno.env.get("TRACKWAY_FUZZ_SEED") ?? 440391);
const FRAMES = Number(Deno.env.get("TRACKWAY_FUZZ_FRAMES") ?? 4000);

Deno.test("a broker process among clients that send mutated frames lives on, bounded, and serves others as ever", async () => {
  const parent = await Deno.makeTempDir({ prefix: "trackway-fuzz-" });
  const args = fuzzedBrokerSettings.flatMap((setting) => ["--set", setting]);
  const broker = await BrokerProcess.start(join(parent, "data"), 0, { args });
  try {
    const said: string[] = [];
    const report = await new FuzzRun(broker, {
      seed: SEED,
      frames: FRAMES,
      connections: 16,
      maxRssBytes: MAX_RSS_MIB * 1024 * 1024,
      maxNeighbourMs: MAX_NEIGHBOUR_MS,
      say: (line) => said.push(line),
    }).run();
    assertEquals(report.findings.map(({ what }) => what), [], said.join("\n"));
    // The run is worth something only if it gets past the header, and only if it does not always.
    assert(report.frames >= FRAMES && report.neighbour.rounds > 0, JSON.stringify(report));
    assert(report.ends.answered > report.frames / 10, JSON.stringify(report.ends));
    assert(report.ends.closed > report.frames / 10, JSON.stringify(report.ends));
    assertEquals((await broker.end("SIGTERM")).code, 0, broker.described("It did not stop in order"));
  } finally {
    await broker.end("SIGKILL");
    await Deno.remove(parent, { recursive: true });
  }
});

/** What a case sends when nobody answers. */
async function sentBy(seed: number, number: number): Promise<string[]> {
  const { run, prng } = caseOf(seed, number);
  const sent: string[] = [];
  const link: Link = {
    send: (frames) => {
      sent.push(...frames.map((frame) => frame.toString()));
      return Promise.resolve({ end: "closed", answers: [], problem: null, ms: 0 });
    },
  };
  await run(link, prng, new Map());
  return sent;
}

Deno.test("a case of the fuzzer sends the same again under the same seed, and something else under another", async () => {
  let different = 0;
  const { now } = Date;
  // Records have the time of day in them.
  Date.now = () => 1_700_000_000_000;
  try {
    for (let number = 0; number < 200; number++) {
      const [first, again, other] = [
        await sentBy(7, number),
        await sentBy(7, number),
        await sentBy(8, number),
      ];
      assertEquals(first, again, `case ${number}`);
      if (other.join() !== first.join()) different++;
    }
  } finally {
    Date.now = now;
  }
  assert(different > 190, `${different} of 200 differ`);
});

Deno.test("writeFrame() without faults writes what the codec reads, in every version of every API", () => {
  for (const api of apis as unknown as Api[]) {
    for (let version = api.versions[0]; version <= api.versions[1]; version++) {
      const { frame, faults } = writeFrame(api, version, valuesOf(new Map()), new Prng(version), {
        faultCount: 0,
        correlationId: 1,
      });
      assertEquals(faults, []);
      // Key, version, correlation id, the client id of four letters or null, and the header's tags.
      const clientIdBytes = Math.max(0, new DataView(frame.buffer).getInt16(12));
      const headerBytes = 14 + clientIdBytes + (api.request.isFlexible(version) ? 1 : 0);
      api.request.decode(frame.subarray(headerBytes), version);
    }
  }
});

Deno.test("writeFrame() puts a fault at the field that it names, and leaves what comes before as it was", () => {
  const api = (apis as unknown as Api[]).find(({ name }) => name === "JoinGroup")!;
  for (let seed = 0; seed < 200; seed++) {
    const right = writeFrame(api, 9, valuesOf(new Map()), new Prng(seed), {
      faultCount: 0,
      correlationId: 1,
    });
    const wrong = writeFrame(api, 9, valuesOf(new Map()), new Prng(seed), {
      faultCount: 1,
      correlationId: 1,
    });
    assertEquals(wrong.faults.length, 1, `seed ${seed}`);
    if (!wrong.faults[0].startsWith("header")) {
      assertEquals(
        wrong.frame.subarray(4, 14),
        right.frame.subarray(4, 14),
        `seed ${seed}: ${wrong.faults[0]}`,
      );
    }
  }
});

Deno.test("answers are held against the requests in order, some of which have none or the same correlation id", () => {
  const heartbeatFrame = frameOf(heartbeat, 0, new Uint8Array(0), 7);
  const listFrame = frameOf(listGroups, 0, new Uint8Array(0), 7);
  const otherFrame = frameOf(heartbeat, 0, new Uint8Array(0), 8);
  const answer = (correlationId: number, ...rest: number[]) => Uint8Array.of(0, 0, 0, correlationId, ...rest);
  const toHeartbeat = answer(7, 0, 0), toList = answer(7, 0, 0, 0, 0, 0, 0), toOther = answer(8, 0, 0);
  const right = [[], [toHeartbeat], [toList], [toOther], [toHeartbeat, toList, toOther]];
  for (const answers of right) {
    assertEquals(problemOf([heartbeatFrame, listFrame, otherFrame], answers), null);
  }
  const wrong = [[answer(9, 0, 0)], [toOther, toHeartbeat], [toHeartbeat, toHeartbeat], [answer(7, 0)]];
  for (const answers of wrong) {
    assert(problemOf([heartbeatFrame, listFrame, otherFrame], answers) !== null, answers.join(" "));
  }
});
