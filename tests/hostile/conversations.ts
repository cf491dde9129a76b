/**
 * Clients that get somewhere: each step uses what the broker answered to the one before (member ids, generations,
 * producer ids, fetch sessions, offsets), and some steps have a fault. What comes after a fault goes on all the same.
 */
import type { Prng } from "../../src/base/prng.ts";
import { compress } from "../../src/codec/compression/index.ts";
import { responseHeaderVersion } from "../../src/codec/framing.ts";
import { responseHeader } from "../../src/codec/headers.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { alterClientQuotas } from "../../src/codec/messages/alter_client_quotas.ts";
import { createPartitions } from "../../src/codec/messages/create_partitions.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../src/codec/messages/delete_topics.ts";
import { describeClientQuotas } from "../../src/codec/messages/describe_client_quotas.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { getTelemetrySubscriptions } from "../../src/codec/messages/get_telemetry_subscriptions.ts";
import { heartbeat } from "../../src/codec/messages/heartbeat.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { joinGroup } from "../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../src/codec/messages/leave_group.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { pushTelemetry } from "../../src/codec/messages/push_telemetry.ts";
import { syncGroup } from "../../src/codec/messages/sync_group.ts";
import { Reader } from "../../src/codec/reader.ts";
import type { Api, DecodedResponseOf } from "../../src/codec/schema.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { gauge, metricsData, sum } from "../telemetry/otlp_writer.ts";
import { plainBatch, wrongBatch } from "./batches.ts";
import { writeFrame } from "./structure.ts";
import { askedBy, type Link } from "./wire.ts";
import { groups, type TopicIds, valuesOf, victims } from "./world.ts";

/** How often a step has a fault. */
const FAULTY = 0.3;

/** One side of a conversation: requests that are mostly right, answers that are read. */
export class Talk {
  private correlationId = 1;

  constructor(
    private readonly link: Link,
    private readonly prng: Prng,
    private readonly topicIds: TopicIds,
  ) {}

  /** Sends one request in a version from `first` on; null when no answer comes that can be read. */
  async ask<A extends Api>(
    api: A,
    own: Readonly<Record<string, unknown>>,
    [first, last] = api.versions,
  ): Promise<DecodedResponseOf<A> | null> {
    const { prng } = this;
    const version = prng.between(first, last);
    const { frame } = writeFrame(api, version, valuesOf(this.topicIds, own), prng, {
      faultCount: prng.chance(FAULTY) ? 1 : 0,
      correlationId: this.correlationId++,
    });
    const { answers, problem } = await this.link.send([frame], "whole");
    const asked = askedBy(frame)!;
    // A fault may have made another API or version of it; what cannot be read was reported where it came.
    if (answers.length === 0 || problem !== null || asked.key !== api.key || asked.version !== version) {
      return null;
    }
    try {
      const reader = new Reader(answers[0]);
      responseHeader.read(reader, responseHeaderVersion(api, version));
      return api.response.read(reader, version) as DecodedResponseOf<A>;
    } catch (error) {
      // ApiVersions is answered in another version than was asked.
      if (error instanceof MalformedFrame) return null;
      throw error;
    }
  }
}

type Conversation = (talk: Talk, prng: Prng) => Promise<void>;

/** A consumer joins a group, maybe twice, commits and goes, maybe without a word. */
const consume: Conversation = async (talk, prng) => {
  const groupId = prng.pick(groups);
  const groupInstanceId = prng.chance(0.2) ? `instance-${prng.int(3)}` : null;
  const identity = { groupId, groupInstanceId };
  const first = await talk.ask(joinGroup, { ...identity, memberId: "" });
  let memberId = first?.memberId ?? "nobody";
  const joined = await talk.ask(joinGroup, { ...identity, memberId });
  memberId = joined?.memberId ?? memberId;
  const generationId = joined?.generationId ?? 0;
  const member = {
    ...identity,
    memberId,
    generationId,
    generationIdOrMemberEpoch: generationId,
    memberEpoch: generationId,
  };
  const assignments = joined?.leader === memberId ? 1 : 0;
  await talk.ask(syncGroup, {
    ...member,
    assignments,
    "assignments.memberId": memberId,
    assignment: prng.bytes(20),
  });
  for (let rounds = prng.int(4); rounds > 0; rounds--) {
    await talk.ask(heartbeat, member);
    await talk.ask(offsetCommit, { ...member, committedMetadata: "" });
    await talk.ask(offsetFetch, member);
  }
  if (prng.chance(0.7)) await talk.ask(leaveGroup, { ...member, members: 1 });
};

/** An idempotent producer: sequences that go on, that repeat, that jump. */
const produceOnce: Conversation = async (talk, prng) => {
  const identity = await talk.ask(initProducerId, {
    transactionalId: null,
    producerId: -1n,
    producerEpoch: -1,
  });
  let id = identity?.producerId ?? 1n, epoch = identity?.producerEpoch ?? 0, sequence = 0;
  const name = prng.pick(victims).name;
  for (let batches = prng.between(2, 6); batches > 0; batches--) {
    const records = prng.chance(0.8)
      ? plainBatch(prng, { id, epoch, sequence })
      : wrongBatch(prng, { id, epoch, sequence });
    await talk.ask(produce, { records, "topicData.name": name, topicData: 1, partitionData: 1, index: 0 }, [
      3,
      produce.versions[1],
    ]);
    const count = records.length >= 61 ? new DataView(records.buffer).getInt32(57) : 1;
    sequence = prng.pick([
      sequence + count,
      sequence + count,
      sequence + count,
      sequence,
      0,
      sequence + 7,
      0x7fffffff,
    ]);
    if (prng.chance(0.1)) epoch = prng.pick([epoch + 1, epoch - 1, 0x7fff, -1]);
    if (prng.chance(0.05)) id = prng.pick([id + 1n, 0n, 2n ** 53n]);
    if (prng.chance(0.1)) {
      const again = await talk.ask(initProducerId, {
        transactionalId: null,
        producerId: id,
        producerEpoch: epoch,
      });
      if (again?.errorCode === 0) [id, epoch, sequence] = [again.producerId, again.producerEpoch, 0];
    }
  }
};

/** A fetch session that is made, used, changed and left. */
const fetchOn: Conversation = async (talk, prng) => {
  const made = await talk.ask(fetch, { sessionId: 0, sessionEpoch: 0 }, [7, fetch.versions[1]]);
  const sessionId = made?.sessionId ?? prng.int(1000);
  for (let epoch = 1; epoch < prng.between(2, 6); epoch++) {
    const sessionEpoch = prng.pick([epoch, epoch, epoch, epoch, 0, -1, epoch + 1, 0x7fffffff]);
    const topics = prng.pick([0, 0, 1, 2]), forgottenTopicsData = prng.pick([0, 0, 0, 1]);
    await talk.ask(fetch, { sessionId, sessionEpoch, topics, forgottenTopicsData }, [7, fetch.versions[1]]);
  }
  await talk.ask(fetch, { sessionId, sessionEpoch: -1, topics: 0 }, [7, fetch.versions[1]]);
};

/** Something wrong is stored unopened, and then others make the broker open it. */
const storeAndOpen: Conversation = async (talk, prng) => {
  const { name } = prng.pick(victims);
  const records = wrongBatch(prng);
  const stored = await talk.ask(
    produce,
    { records, "topicData.name": name, topicData: 1, partitionData: 1, index: 0, acks: 1 },
    [3, 12],
  );
  const fetchOffset = stored?.responses[0]?.partitionResponses[0]?.baseOffset ?? 0n;
  const here = {
    "topics.name": name,
    topic: name,
    topics: 1,
    partitions: 1,
    partitionIndex: 0,
    partition: 0,
  };
  await talk.ask(listOffsets, {
    ...here,
    timestamp: BigInt(Date.now() - prng.int(5000)),
    isolationLevel: prng.int(2),
  });
  await talk.ask(listOffsets, { ...here, timestamp: -3n }, [7, listOffsets.versions[1]]);
  await talk.ask(fetch, { ...here, fetchOffset }, [0, 3]);
  await talk.ask(fetch, { ...here, fetchOffset, sessionId: 0, sessionEpoch: -1 }, [4, 12]);
};

/** Topics come, grow and go while others use them. */
const administer: Conversation = async (talk, prng) => {
  const name = `made-${prng.int(20)}`;
  const here = { "topics.name": name, "topicData.name": name, "topicNames[]": name, topics: 1 };
  await talk.ask(createTopics, { ...here, validateOnly: false, numPartitions: prng.pick([1, 3]) });
  await talk.ask(metadata, here);
  await talk.ask(produce, { "topicData.name": name, topicData: 1 }, [3, 12]);
  if (prng.chance()) {
    await talk.ask(createPartitions, { ...here, validateOnly: false, "topics.assignments": null });
  }
  await talk.ask(fetch, { topic: name, fetchOffset: 0n }, [4, 12]);
  if (prng.chance(0.9)) {
    await talk.ask(deleteTopics, { ...here, "topics.name": name, topicId: undefined }, [1, 5]);
  }
};

/** A client says what it measured, or what it takes for that, in a compression that may be another one. */
const pushMetrics: Conversation = async (talk, prng) => {
  const told = await talk.ask(getTelemetrySubscriptions, { clientInstanceId: ZERO_UUID });
  if (told === null) return;
  const { clientInstanceId, subscriptionId } = told;
  const sound = metricsData(gauge(`metric-${prng.int(50)}`, prng.int(100)), sum("sent", 1n, 1));
  for (let i = prng.between(1, 3); i > 0; i--) {
    const metrics = prng.chance(0.3) ? prng.bytes(prng.int(200)) : sound.slice(0, prng.int(sound.length + 1));
    const compressionType = prng.pick([0, 1, 2, 3, 4, 9]);
    const bytes = prng.chance() && compressionType < 5 ? compress(compressionType, metrics) : metrics;
    const terminating = prng.chance(0.3);
    await talk.ask(pushTelemetry, {
      clientInstanceId,
      subscriptionId,
      terminating,
      compressionType,
      metrics: bytes,
    });
  }
};

/** Quotas of clients that nobody is, with no fault that would make them everybody's and small at once. */
const limitNobody: Conversation = async (talk, prng) => {
  const [entityType, key] = prng.pick([
    ["user", "producer_byte_rate"],
    ["client-id", "request_percentage"],
    ["ip", "connection_creation_rate"],
  ]);
  const entityName = entityType === "ip" ? `198.51.100.${prng.int(20)}` : `nobody-${prng.int(20)}`;
  const own = { entityType, entityName, key, entries: 1, entity: 1, ops: 1, validateOnly: false };
  await talk.ask(alterClientQuotas, { ...own, value: 1e9, remove: false });
  await talk.ask(describeClientQuotas, {
    entityType,
    matchType: prng.int(4),
    match: prng.pick([entityName, null]),
  });
  await talk.ask(alterClientQuotas, { ...own, value: 0, remove: true });
};

/** The expensive ones come less often. */
export const conversations: readonly Conversation[] = [
  consume,
  consume,
  consume,
  consume,
  produceOnce,
  produceOnce,
  produceOnce,
  fetchOn,
  fetchOn,
  fetchOn,
  storeAndOpen,
  storeAndOpen,
  storeAndOpen,
  administer,
  pushMetrics,
  limitNobody,
];
