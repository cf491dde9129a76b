/**
 * Where scenarios are played: against the group service, or against a real Kafka to record what it answers. Each step
 * becomes a line of a transcript, in which member ids are replaced by names, so that both give the same text.
 */
import { errorName } from "../../src/codec/errors.ts";
import type { GroupService } from "../../src/coordinators/groups/service.ts";
import type { JoinReply, JoinRequest, SyncReply } from "../../src/coordinators/groups/requests.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";

/** What a scenario asks; the service has these calls, and kafka.ts makes them of a connection to a broker. */
export type Coordinator = Pick<
  GroupService,
  | "join"
  | "sync"
  | "heartbeat"
  | "leave"
  | "commitOffsets"
  | "fetchOffsets"
  | "deleteOffsets"
  | "list"
  | "describe"
  | "delete"
>;

export interface JoinOptions {
  version?: number;
  /** Protocol names, each with its metadata as text after a colon: `range:x`. */
  protocols?: string;
  type?: string;
  instance?: string;
  sessionMs?: number;
  rebalanceMs?: number;
  /** A member id to claim instead of the client's own. */
  id?: string;
}

export interface MemberOptions {
  generation?: number;
  instance?: string;
  id?: string;
  version?: number;
  type?: string;
  protocol?: string;
  /** Assignments as text by client name. */
  assign?: Record<string, string>;
}

const encode = (text: string) => new TextEncoder().encode(text);
/** As text that an editor shows. */
const decode = (bytes: Uint8Array) =>
  // deno-lint-ignore no-control-regex -- control characters are what it is about
  new TextDecoder().decode(bytes).replace(/[\0-\x1f]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);

/** One client of the group: what it knows after each answer is what a real client would know. */
class Client {
  memberId = "";
  generation = -1;
  protocol: string | null = null;
  type = "consumer";
  ids = 0;
  constructor(readonly name: string) {}
}

/** A request that may be held. */
export interface Held {
  readonly what: string;
  line: string | null;
  readonly done: Promise<void>;
}

export class Stage {
  readonly lines: string[] = [];
  private readonly clients = new Map<string, Client>();
  private readonly names = new Map<string, string>();

  constructor(
    private readonly coordinator: Coordinator,
    /** Lets `ms` pass, and what has to happen happen; ends early when `done` resolves. */
    private readonly pass: (ms: number, done?: Promise<void>) => Promise<void>,
    readonly group: string,
  ) {}

  private client(name: string): Client {
    let client = this.clients.get(name);
    if (client === undefined) this.clients.set(name, client = new Client(name));
    return client;
  }

  /** Gives a member id a name after who got it: a.1 is the first id of client a. */
  private nameOf(memberId: string): string {
    if (memberId === "") return "-";
    const name = this.names.get(memberId);
    if (name !== undefined) return name;
    // An id that its owner has not been told yet: all that is known is how it begins.
    const owner = /^(\w+)-/.exec(memberId);
    return owner === null ? `(${memberId})` : `(new id of ${owner[1]})`;
  }

  private learn(client: Client, memberId: string): void {
    client.memberId = memberId;
    if (memberId !== "" && !this.names.has(memberId)) {
      this.names.set(memberId, `${client.name}.${++client.ids}`);
    }
  }

  /** The member id by its name in the transcript. */
  private idOf(name: string): string {
    for (const [memberId, known] of this.names) if (known === name) return memberId;
    return name;
  }

  note(text: string): void {
    this.lines.push(`# ${text}`);
  }

  async wait(ms: number): Promise<void> {
    this.lines.push(`(${ms} ms pass)`);
    await this.pass(ms);
  }

  /** Starts a request and gives it a moment; writes the answer, or that there is none yet. */
  private async say(what: string, answer: Promise<string>): Promise<Held> {
    const held: Held = { what, line: null, done: answer.then((line) => void (held.line = line)) };
    await this.pass(HOLD_MS, held.done);
    this.lines.push(`${what} -> ${held.line?.trimEnd() ?? "(held)"}`);
    return held;
  }

  /** Writes the answer of a request that was held. */
  async answer(held: Held): Promise<void> {
    if (held.line === null) await this.pass(HOLD_MS, held.done);
    this.lines.push(`${held.what} => ${held.line ?? "(still held)"}`);
  }

  join(name: string, options: JoinOptions = {}): Promise<Held> {
    const client = this.client(name);
    const version = options.version ?? 9;
    const type = client.type = options.type ?? "consumer";
    const request: JoinRequest = {
      groupId: this.group,
      memberId: options.id === undefined ? client.memberId : this.idOf(options.id),
      groupInstanceId: options.instance ?? null,
      sessionTimeoutMs: options.sessionMs ?? 10_000,
      rebalanceTimeoutMs: options.rebalanceMs ?? 60_000,
      protocolType: type,
      protocols: (options.protocols ?? "range:x").split(" ").filter((one) => one !== "").map((one) => {
        const [protocol, metadata = ""] = one.split(":");
        return { name: protocol, metadata: encode(metadata) };
      }),
      clientId: name,
      clientHost: "/127.0.0.1",
      apiVersion: version,
    };
    const told = this.coordinator.join(request).then((reply) => this.tellJoin(client, reply, version));
    return this.say(`${name}: join ${JSON.stringify(options)}`, told);
  }

  private tellJoin(client: Client, reply: JoinReply, version: number): string {
    if (reply.errorCode === 0 || reply.errorCode === 79) this.learn(client, reply.memberId);
    if (reply.errorCode !== 0) {
      return `${errorName(reply.errorCode)} member=${
        this.nameOf(reply.memberId)
      } gen=${reply.generationId} ` +
        `leader=${this.nameOf(reply.leader)}`;
    }
    client.generation = reply.generationId;
    client.protocol = reply.protocolName;
    const members = reply.members.map((m) =>
      // A static member's new id is not known by name before its own answer, which may come after this one.
      `${m.groupInstanceId === null ? this.nameOf(m.memberId) : `@${m.groupInstanceId}`}:${
        decode(m.metadata)
      }`
    ).sort();
    return `NONE member=${this.nameOf(reply.memberId)} gen=${reply.generationId} ` +
      `protocol=${version >= 7 ? reply.protocolType : "?"}/${reply.protocolName} ` +
      `leader=${this.nameOf(reply.leader)}${reply.skipAssignment ? " skip" : ""} members=[${
        members.join(" ")
      }]`;
  }

  sync(name: string, options: MemberOptions = {}): Promise<Held> {
    const client = this.client(name);
    const version = options.version ?? 5;
    const told = this.coordinator.sync({
      groupId: this.group,
      generationId: options.generation ?? client.generation,
      memberId: options.id === undefined ? client.memberId : this.idOf(options.id),
      groupInstanceId: options.instance ?? null,
      protocolType: version < 5 ? null : options.type ?? client.type,
      protocolName: version < 5 ? null : options.protocol ?? client.protocol ?? "range",
      assignments: Object.entries(options.assign ?? {}).map(([to, text]) => ({
        memberId: this.client(to).memberId,
        assignment: encode(text),
      })),
      apiVersion: version,
    }).then((reply) => this.tellSync(reply, version));
    return this.say(`${name}: sync ${JSON.stringify(options)}`, told);
  }

  private tellSync(reply: SyncReply, version: number): string {
    const protocol = version >= 5 ? `${reply.protocolType}/${reply.protocolName}` : "?";
    return `${errorName(reply.errorCode)} protocol=${protocol} assignment="${decode(reply.assignment)}"`;
  }

  heartbeat(name: string, options: MemberOptions = {}): Promise<Held> {
    const client = this.client(name);
    const told = this.coordinator.heartbeat({
      groupId: this.group,
      generationId: options.generation ?? client.generation,
      memberId: options.id === undefined ? client.memberId : this.idOf(options.id),
      groupInstanceId: options.instance ?? null,
    }).then(({ errorCode }) => errorName(errorCode));
    return this.say(`${name}: heartbeat ${JSON.stringify(options)}`, told);
  }

  /** Members as `name`, `name@instance` or `@instance`. */
  leave(...members: string[]): Promise<Held> {
    const told = this.coordinator.leave({
      groupId: this.group,
      members: members.map((one) => {
        const [name, instance = null] = one.split("@");
        return {
          memberId: name === "" ? "" : this.clients.get(name)?.memberId ?? name,
          groupInstanceId: instance,
        };
      }),
    }).then((reply) =>
      `${errorName(reply.errorCode)} [${
        reply.members.map((m) =>
          `${this.nameOf(m.memberId)}${m.groupInstanceId === null ? "" : `@${m.groupInstanceId}`}:${
            errorName(m.errorCode)
          }`
        ).join(" ")
      }]`
    );
    return this.say(`leave ${members.join(" ")}`, told);
  }

  /** Offsets as `topic:partition=offset`. */
  commit(name: string, offsets: string, options: MemberOptions & { metadata?: string } = {}): Promise<Held> {
    const client = this.client(name);
    const told = this.coordinator.commitOffsets({
      groupId: this.group,
      generationIdOrMemberEpoch: options.generation ?? client.generation,
      memberId: options.id === undefined ? client.memberId : this.idOf(options.id),
      groupInstanceId: options.instance ?? null,
      retentionTimeMs: -1,
      topics: offsets.split(" ").map((one) => {
        const [, topic, partition, offset] = /^(\w+):(\d+)=(-?\d+)$/.exec(one)!;
        return {
          name: topic,
          topicId: ZERO_UUID,
          partitions: [{
            partitionIndex: Number(partition),
            committedOffset: Number(offset),
            committedLeaderEpoch: 3,
            commitTimestamp: -1,
            committedMetadata: options.metadata ?? null,
          }],
        };
      }),
      apiVersion: options.version ?? 9,
    }).then((reply) =>
      reply.topics.flatMap((topic) =>
        topic.partitions.map((p) => `${topic.name}:${p.partitionIndex}=${errorName(p.errorCode)}`)
      ).join(" ")
    );
    const { metadata, ...rest } = options;
    const how = metadata === undefined ? "" : ` metadata of ${metadata.length}`;
    return this.say(`${name}: commit ${offsets} ${JSON.stringify(rest)}${how}`, told);
  }

  /** Null: all. Else as `topic:partition`. */
  offsets(wanted: string | null): Promise<Held> {
    const topics = wanted === null ? null : wanted.split(" ").map((one) => {
      const [name, partition] = one.split(":");
      return { name, partitionIndexes: [Number(partition)] };
    });
    const told = this.coordinator.fetchOffsets({ groupId: this.group, topics }).then((reply) =>
      `${errorName(reply.errorCode)} ${
        reply.topics.flatMap((topic) =>
          topic.partitions.map((p) =>
            `${topic.name}:${p.partitionIndex}=${p.committedOffset}/${p.committedLeaderEpoch}/"${p.metadata}"/${
              errorName(p.errorCode)
            }`
          )
        ).sort().join(" ")
      }`
    );
    return this.say(`offsets ${wanted ?? "of all topics"}`, told);
  }

  deleteOffsets(wanted: string): Promise<Held> {
    const told = this.coordinator.deleteOffsets({
      groupId: this.group,
      topics: wanted.split(" ").map((one) => {
        const [name, partition] = one.split(":");
        return { name, partitions: [{ partitionIndex: Number(partition) }] };
      }),
    }).then((reply) =>
      `${errorName(reply.errorCode)} ${
        reply.topics.flatMap((topic) =>
          topic.partitions.map((p) => `${topic.name}:${p.partitionIndex}=${errorName(p.errorCode)}`)
        ).join(" ")
      }`
    );
    return this.say(`delete offsets ${wanted}`, told);
  }

  describe(version = 6): Promise<Held> {
    const told = this.coordinator.describe([this.group], version).then(([group]) =>
      `${errorName(group.errorCode)}${
        group.errorMessage === null ? "" : ` "${group.errorMessage.replace(this.group, "<group>")}"`
      } ${group.groupState} protocol="${group.protocolType}"/"${group.protocolData}" [${
        group.members.map((m) =>
          `${this.nameOf(m.memberId)}${
            m.groupInstanceId === null ? "" : `(${m.groupInstanceId})`
          } ${m.clientId} ` +
          `${m.clientHost} "${decode(m.memberMetadata)}" "${decode(m.memberAssignment)}"`
        ).sort().join(", ")
      }]`
    );
    return this.say(`describe v${version}`, told);
  }

  list(states: string[] = [], types: string[] = []): Promise<Held> {
    const told = this.coordinator.list({ statesFilter: states, typesFilter: types }).then((reply) => {
      const mine = reply.groups.find((group) => group.groupId === this.group);
      return `${errorName(reply.errorCode)} ${
        mine === undefined ? "not listed" : `"${mine.protocolType}" ${mine.groupState} ${mine.groupType}`
      }`;
    });
    return this.say(`list [${states}] [${types}]`, told);
  }

  delete(): Promise<Held> {
    const told = this.coordinator.delete([this.group]).then(([result]) =>
      `${errorName(result.errorCode)}${
        result.errorMessage === null ? "" : ` "${result.errorMessage.replace(this.group, "<group>")}"`
      }`
    );
    return this.say("delete group", told);
  }
}

/** How long a request may take before it counts as held. Deadlines in scenarios are well above it. */
export const HOLD_MS = 250;
