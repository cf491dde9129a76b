/**
 * What is sent: a case is a few frames for one connection, and all of it follows from its seed. Kinds: requests with
 * faults at fields, frames with faults at bytes, produced batches with faults inside, several requests glued together,
 * and conversations in which a client joins, produces or fetches on, with ids that the broker gave it.
 */
import { Prng } from "../../src/base/prng.ts";
import { apis } from "../../src/codec/apis.ts";
import { alterConfigs } from "../../src/codec/messages/alter_configs.ts";
import { createPartitions } from "../../src/codec/messages/create_partitions.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../src/codec/messages/delete_topics.ts";
import { incrementalAlterConfigs } from "../../src/codec/messages/incremental_alter_configs.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import type { Api } from "../../src/codec/schema.ts";
import { registry } from "../../src/handlers/all.ts";
import { frameOf, goldenRequests } from "../protocol/golden_requests.ts";
import { messageSet, wrongBatch } from "./batches.ts";
import { mutatedFrame } from "./bytes.ts";
import { conversations, Talk } from "./conversations.ts";
import { writeFrame } from "./structure.ts";
import { askedBy, type Link, type Manner } from "./wire.ts";
import { type TopicIds, valuesOf } from "./world.ts";

/** Sends what the case `prng` stands for. */
export type Case = (link: Link, prng: Prng, topicIds: TopicIds) => Promise<void>;

/** Every API that is declared, and those that are served far more often: the others end at their key. */
const declared = apis as unknown as Api[];
const served = declared.filter((api) => registry.byKey(api.key) !== undefined);
/** Changes of topics take a disk some milliseconds each; they come less often. */
const slow: ReadonlySet<number> = new Set([
  createTopics.key,
  createPartitions.key,
  deleteTopics.key,
  alterConfigs.key,
  incrementalAlterConfigs.key,
]);

export const golden: readonly Uint8Array[] = declared.flatMap((api) =>
  goldenRequests(api).map(({ version, body }) => frameOf(api, version, body))
).filter((frame) => !slow.has(askedBy(frame)!.key));

function someApi(prng: Prng): Api {
  if (prng.chance(0.03)) return prng.pick(declared);
  const api = prng.pick(served);
  return slow.has(api.key) && prng.chance(0.8) ? prng.pick(served) : api;
}

function someVersion(api: Api, prng: Prng): number {
  return prng.between(...api.versions);
}

function someManner(prng: Prng): Manner {
  const roll = prng.int(100);
  if (roll < 84) return "whole";
  if (roll < 89) return "pieces";
  if (roll < 93) return "cut";
  return roll < 97 ? "lying size" : "gone";
}

/** The case of a number under a seed. */
export function caseOf(seed: number, number: number): { run: Case; prng: Prng; kind: string } {
  const prng = new Prng(Math.imul(seed, 0x9e3779b1) + number);
  const kind = prng.pick(mixture);
  return { run: kinds[kind], prng, kind };
}

const structured: Case = async (link, prng, topicIds) => {
  await link.send([structuredFrame(prng, topicIds, prng.pick([1, 1, 1, 2, 3]))], someManner(prng));
};

function structuredFrame(prng: Prng, topicIds: TopicIds, faultCount: number): Uint8Array {
  const api = someApi(prng);
  const correlationId = prng.chance(0.9) ? prng.int(2 ** 30) : prng.pick([0, -1, 2 ** 31 - 1, -(2 ** 31)]);
  return writeFrame(api, someVersion(api, prng), valuesOf(topicIds), prng, { faultCount, correlationId })
    .frame;
}

/** Faults in bytes, of golden requests and of such as fit this broker. */
const bytewise: Case = async (link, prng, topicIds) => {
  const some = () => prng.chance() ? prng.pick(golden) : structuredFrame(prng, topicIds, 0);
  await link.send([mutatedFrame(some(), some(), prng)], someManner(prng));
};

const batches: Case = async (link, prng, topicIds) => {
  const version = someVersion(produce, prng);
  const records = version < 3 && prng.chance(0.8) ? messageSet(prng) : wrongBatch(prng);
  const frame = writeFrame(produce, version, valuesOf(topicIds, { records }), prng, {
    faultCount: 0,
    correlationId: prng.int(2 ** 30),
  }).frame;
  await link.send([frame], prng.chance(0.95) ? "whole" : "pieces");
};

/** Several requests in one go, right and wrong ones. */
const glued: Case = async (link, prng, topicIds) => {
  const frames = Array.from(
    { length: prng.between(2, 12) },
    () => structuredFrame(prng, topicIds, prng.chance(0.8) ? 0 : 1),
  );
  await link.send(frames, someManner(prng));
};

const garbage: Case = async (link, prng) => {
  const bytes = prng.bytes(prng.pick([4, 5, 11, 12, 13, 40, 400]));
  new DataView(bytes.buffer).setInt32(0, bytes.length - 4);
  await link.send([bytes], prng.chance() ? "lying size" : "whole");
};

const conversation: Case = async (link, prng, topicIds) => {
  await prng.pick(conversations)(new Talk(link, prng, topicIds), prng);
};

const kinds: Readonly<Record<string, Case>> = { structured, bytewise, batches, glued, garbage, conversation };
const mixture: readonly string[] = [
  ...new Array(38).fill("structured"),
  ...new Array(18).fill("bytewise"),
  ...new Array(16).fill("batches"),
  ...new Array(6).fill("glued"),
  ...new Array(2).fill("garbage"),
  ...new Array(20).fill("conversation"),
];
