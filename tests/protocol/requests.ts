/** Requests as tests of the broker write them: what matters is named, the rest is as clients send it. */
import { Client } from "../../src/client/client.ts";
import { type BatchOptions, buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../src/codec/messages/delete_topics.ts";
import type { fetch } from "../../src/codec/messages/fetch.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import type { EncodableRequestOf } from "../../src/codec/schema.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";

const utf8 = new TextEncoder();

/** A client of a broker in this process; closes itself. */
export class TestClient implements AsyncDisposable {
  private constructor(readonly client: Client) {}

  static async to(broker: { readonly port: number }): Promise<TestClient> {
    return new TestClient(await Client.connect({ hostname: "127.0.0.1", port: broker.port }, "test"));
  }

  get send() {
    return this.client.send.bind(this.client);
  }

  /** Creates a topic and gives its id. */
  async createTopic(name: string, numPartitions = 1, configs: Record<string, string> = {}): Promise<string> {
    const answer = await this.send(createTopics, 7, {
      timeoutMs: 5000,
      topics: [{
        name,
        numPartitions,
        replicationFactor: 1,
        assignments: [],
        configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
      }],
    });
    const [{ errorCode, errorMessage, topicId }] = answer.topics;
    if (errorCode !== ErrorCode.NONE) throw new Error(`cannot create ${name}: ${errorCode} ${errorMessage}`);
    return topicId;
  }

  async deleteTopic(name: string): Promise<void> {
    const answer = await this.send(deleteTopics, 5, { topics: [], topicNames: [name], timeoutMs: 5000 });
    const [{ errorCode }] = answer.responses;
    if (errorCode !== ErrorCode.NONE) throw new Error(`cannot delete ${name}: ${errorCode}`);
  }

  /** Appends a batch and gives its offset. */
  async append(topic: string, batch: Uint8Array, partition = 0): Promise<number> {
    const answer = await this.send(produce, 9, produceTo(topic, batch, { partition }));
    const [{ errorCode, errorMessage, baseOffset }] = answer.responses[0].partitionResponses;
    if (errorCode !== ErrorCode.NONE) {
      throw new Error(`cannot append to ${topic}: ${errorCode} ${errorMessage}`);
    }
    return Number(baseOffset);
  }

  /** The names of all topics. */
  async topics(): Promise<string[]> {
    return (await this.send(metadata, 12, allTopics)).topics.map(({ name }) => name!).sort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.client.close();
  }
}

/** A Metadata request for everything. */
export const allTopics: EncodableRequestOf<typeof metadata> = {
  topics: null,
  allowAutoTopicCreation: false,
  includeClusterAuthorizedOperations: false,
  includeTopicAuthorizedOperations: false,
};

/** A batch with these values, a millisecond apart. */
export function batchOf(
  values: readonly string[],
  options: BatchOptions & { timestamp?: number } = {},
): Uint8Array {
  const { timestamp = 1_700_000_000_000, ...batch } = options;
  return buildBatch(
    values.map((value, i) => ({
      timestamp: timestamp + i,
      key: utf8.encode(`k${i}`),
      value: utf8.encode(value),
    })),
    batch,
  );
}

/** Produce for one partition. */
export function produceTo(
  topic: string,
  records: Uint8Array | null,
  { acks = -1, partition = 0, topicId = ZERO_UUID }: { acks?: number; partition?: number; topicId?: string } =
    {},
): EncodableRequestOf<typeof produce> {
  return {
    acks,
    timeoutMs: 5000,
    topicData: [{ name: topic, topicId, partitionData: [{ index: partition, records }] }],
  };
}

/** What is fetched of one partition: its index, from where, how much. */
export type Wanted = readonly [partition: number, fetchOffset: number, partitionMaxBytes?: number];

type FetchFields = Partial<EncodableRequestOf<typeof fetch>>;

/** Fetch of partitions of one topic, without waiting unless told otherwise. */
export function fetchFrom(
  topic: string,
  wanted: readonly Wanted[],
  more: FetchFields & { topicId?: string } = {},
): EncodableRequestOf<typeof fetch> {
  const { topicId = ZERO_UUID, ...fields } = more;
  return {
    maxWaitMs: 0,
    minBytes: 1,
    topics: wanted.length === 0 ? [] : [{
      topic,
      topicId,
      partitions: wanted.map(([partition, fetchOffset, partitionMaxBytes = 1 << 20]) => ({
        partition,
        fetchOffset,
        partitionMaxBytes,
      })),
    }],
    forgottenTopicsData: [],
    ...fields,
  };
}
