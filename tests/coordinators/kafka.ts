/**
 * A broker on the network as a {@link Coordinator}: for recording what Kafka answers, and for playing the same
 * scenarios against Trackway as a whole. A held request blocks its connection, so each gets one of its own.
 */
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { deleteGroups } from "../../src/codec/messages/delete_groups.ts";
import { describeGroups } from "../../src/codec/messages/describe_groups.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { heartbeat } from "../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../src/codec/messages/leave_group.ts";
import { listGroups } from "../../src/codec/messages/list_groups.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { offsetDelete } from "../../src/codec/messages/offset_delete.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import { syncGroup } from "../../src/codec/messages/sync_group.ts";
import { requestHeader, responseHeader } from "../../src/codec/headers.ts";
import { Reader } from "../../src/codec/reader.ts";
import type { Api, DecodedResponseOf, EncodableRequestOf, Shape } from "../../src/codec/schema.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { concatChunks, Writer } from "../../src/codec/writer.ts";
import type { Coordinator } from "./stage.ts";

export class KafkaCoordinator implements Coordinator {
  private readonly idle: Deno.TcpConn[] = [];
  private readonly open = new Set<Deno.TcpConn>();
  private correlationId = 0;

  constructor(private readonly port: number) {}

  close(): void {
    for (const connection of this.open) connection.close();
  }

  private async call<Q extends Shape, R extends Shape>(
    api: Api<Q, R>,
    version: number,
    request: EncodableRequestOf<Api<Q, R>>,
    clientId = "test",
  ): Promise<DecodedResponseOf<Api<Q, R>>> {
    const connection = this.idle.pop() ?? await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    this.open.add(connection);
    const flexible = api.flexible !== null && version >= api.flexible;
    const writer = new Writer();
    writer.int32(0);
    requestHeader.write(writer, flexible ? 2 : 1, {
      requestApiKey: api.key,
      requestApiVersion: version,
      correlationId: ++this.correlationId,
      clientId,
    });
    // deno-lint-ignore no-explicit-any -- the shape is generic here; callers are checked
    api.request.write(writer, version, request as any);
    let frame = concatChunks(writer.finishFrame());
    while (frame.length > 0) frame = frame.subarray(await connection.write(frame));
    const size = new DataView((await readExactly(connection, 4)).buffer).getInt32(0);
    const reader = new Reader(await readExactly(connection, size));
    responseHeader.read(reader, flexible ? 1 : 0);
    const response = api.response.read(reader, version);
    this.idle.push(connection);
    return response as DecodedResponseOf<Api<Q, R>>;
  }

  /** Makes topics and waits until the coordinator of `group` serves. */
  async prepare(group: string, topics: readonly string[]): Promise<void> {
    await this.call(createTopics, 5, {
      topics: topics.map((name) => ({
        name,
        numPartitions: 2,
        replicationFactor: 1,
        assignments: [],
        configs: [],
      })),
      timeoutMs: 10_000,
      validateOnly: false,
    });
    for (;;) {
      const found = await this.call(findCoordinator, 3, { key: group, keyType: 0, coordinatorKeys: [] });
      const [described] = found.errorCode === 0 ? await this.describe([group], 5) : [];
      if (described?.errorCode === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  join: Coordinator["join"] = (request) =>
    this.call(joinGroup, request.apiVersion, request, request.clientId).then((reply) => reply);

  sync: Coordinator["sync"] = (request) => this.call(syncGroup, request.apiVersion, request);

  heartbeat: Coordinator["heartbeat"] = (request) => this.call(heartbeat, 4, request);

  leave: Coordinator["leave"] = (request) => this.call(leaveGroup, 5, { ...request, memberId: "" });

  commitOffsets: Coordinator["commitOffsets"] = (request) =>
    this.call(offsetCommit, request.apiVersion, request);

  fetchOffsets: Coordinator["fetchOffsets"] = async ({ groupId, topics }) => {
    const response = await this.call(offsetFetch, 9, {
      groupId: "",
      topics: null,
      groups: [{ groupId, topics: topics?.map((topic) => ({ ...topic, topicId: ZERO_UUID })) ?? null }],
    });
    const [group] = response.groups;
    return {
      groupId,
      errorCode: group.errorCode,
      topics: group.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map((p) => ({
          ...p,
          committedOffset: Number(p.committedOffset),
          metadata: p.metadata ?? "null",
        })),
      })),
    };
  };

  deleteOffsets: Coordinator["deleteOffsets"] = (request) => this.call(offsetDelete, 0, request);

  list: Coordinator["list"] = (request) =>
    this.call(listGroups, 5, {
      statesFilter: [...request.statesFilter],
      typesFilter: [...request.typesFilter],
    });

  describe: Coordinator["describe"] = async (groupIds, apiVersion) =>
    (await this.call(describeGroups, apiVersion, {
      groups: [...groupIds],
      includeAuthorizedOperations: false,
    })).groups;

  delete: Coordinator["delete"] = async (groupIds) =>
    (await this.call(deleteGroups, 3, { groupsNames: [...groupIds] })).results;
}

async function readExactly(connection: Deno.TcpConn, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size;) {
    const read = await connection.read(bytes.subarray(at));
    if (read === null) throw new Error(`the broker closed the connection ${size - at} bytes before the end`);
    at += read;
  }
  return bytes;
}
