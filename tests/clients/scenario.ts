/**
 * The one scenario that every client runs. A step fails alone where it can; steps that stand on a failed one are
 * failed as not run. Where a library lacks a verb (see clients.ts) the reference client does it in its place.
 */

import { Client as RawClient } from "../../src/client/client.ts";
import { apiVersions } from "../../src/codec/messages/api_versions.ts";
import { consumerGroupHeartbeat } from "../../src/codec/messages/consumer_group_heartbeat.ts";
import type { Api } from "../../src/codec/schema.ts";
import {
  type Adapters,
  type Client,
  codecs,
  type Feature,
  type Flags,
  type Line,
  NotSupported,
  type Verb,
} from "./adapter.ts";
import type { Broker } from "./broker.ts";
import { Group, type Member } from "./group.ts";
import type { Report } from "./report.ts";

const partitions = 4;
const batch = 60;
/** The partition that the step `partition` writes to by name. */
const namedPartition = 3;
const eventuallyMs = 20_000;
const pollMs = 200;

/** The steps in order; also the columns of the table. */
export const steps = [
  "create",
  "list",
  "describe",
  ...codecs,
  "idempotent",
  "partition",
  "read all",
  "from time",
  "share",
  "groups",
  "takeover",
  "restart",
  "kill -9",
  "static",
  "next gen",
  "delete",
] as const;
export type Step = typeof steps[number];

export interface Bench {
  adapters: Adapters;
  broker: Broker;
  report: Report;
  /** Does what a library cannot, so that the rest of its scenario can run. */
  reference: Client;
}

/** Runs the whole scenario for one client. Never throws: failures go to the report. */
export async function runScenario(bench: Bench, client: Client): Promise<void> {
  await new Scenario(bench, client).run();
}

/** Whether the broker says that it serves this API: clients go by that, and so does the scenario. */
async function serves(bootstrap: string, api: Pick<Api, "key">): Promise<boolean> {
  const [hostname, port] = bootstrap.split(":");
  const client = await RawClient.connect({ hostname, port: Number(port) });
  try {
    const { apiKeys } = await client.send(apiVersions, 0, {
      clientSoftwareName: "",
      clientSoftwareVersion: "",
    });
    return apiKeys.some(({ apiKey }) => apiKey === api.key);
  } finally {
    await client.close();
  }
}

class Scenario {
  readonly topic: string;
  readonly timeTopic: string;
  readonly groupTopic: string;
  readonly group: string;
  /** value → partition, or null where the client's partitioner chose. */
  readonly written = new Map<string, number | null>();
  #next = 0;
  #blockedBy: Step | null = null;
  /** What the library lacked in this step, and how many verbs it did itself. */
  #lacking = new Set<string>();
  #ownCalls = 0;

  constructor(private bench: Bench, private client: Client) {
    this.topic = `scenario-${client.id}`;
    this.timeTopic = `${this.topic}-time`;
    this.groupTopic = `${this.topic}-group`;
    this.group = `${this.topic}-members`;
  }

  async run(): Promise<void> {
    await this.step("create", async () => {
      for (const topic of [this.topic, this.timeTopic, this.groupTopic]) {
        await this.call("create", { topic, partitions });
      }
    }, { essential: true });
    await this.step("list", async () => {
      await eventually(async () => {
        const [{ topics }] = await this.call("list");
        for (const topic of [this.topic, this.timeTopic, this.groupTopic]) expectIncludes(topics, topic);
      });
    });
    await this.step("describe", async () => {
      expect([{ partitions }], await this.call("describe", { topic: this.topic }));
    });
    for (const codec of codecs) {
      await this.step(codec, async () => {
        const flags = { codec, idempotent: false };
        // What a library cannot write it cannot read either: nobody writes it in its place.
        await this.refused(`codec:${codec}`, "produce", { topic: this.topic, count: batch, ...flags });
        await this.write(flags);
      });
    }
    await this.step("idempotent", () => this.write({ codec: "gzip", idempotent: true }));
    await this.step("partition", async () => {
      await this.write({ codec: "none", idempotent: false, partition: namedPartition });
    });
    await this.step("read all", () => this.readAll());
    await this.step("from time", () => this.readFromTime());
    await this.groupSteps();
    if (await serves(this.bench.broker.bootstrap, consumerGroupHeartbeat)) {
      await this.step("next gen", () => this.nextGen());
    } else {
      this.bench.report.lacks(this.client.id, "next gen", "the broker does not serve KIP-848");
    }
    await this.step("delete", () => this.cleanUp());
  }

  /** Two members, the death of one, and two restarts of the broker; each step goes on from the one before. */
  private async groupSteps(): Promise<void> {
    const blockedBefore = this.#blockedBy;
    const commitsPerPoll = !this.client.unsupported["commit-per-poll"];
    const { adapters, broker } = this.bench;
    const names = { topic: this.groupTopic, group: this.group };
    const group = new Group(adapters, this.client, names, commitsPerPoll);
    let first!: Member;
    let second!: Member;
    let values: string[] = [];
    let next = 0;
    const produce = async () => {
      const flags = { topic: this.groupTopic, count: batch, start: next, codec: "none", idempotent: false };
      values = range(next, batch).map((i) => `v${i}`);
      next += batch;
      expect([{ acked: batch }], await this.call("produce", flags));
    };

    await this.step("share", async () => {
      first = group.join("A");
      await group.untilShared(partitions, new Map([[first, 4]]));
      second = group.join("B");
      await group.untilShared(partitions, new Map([[first, 2], [second, 2]]));
      await produce();
      await group.untilSeen(values);
    }, { essential: true });

    await this.step("groups", async () => {
      const [{ groups }] = await this.call("groups");
      expectIncludes(groups, this.group);
      expect([{ state: "Stable", members: 2 }], await this.call("describe-group", { group: this.group }));
    });

    await this.step("takeover", async () => {
      const producing = produce();
      const [killed] = await Promise.allSettled([group.kill(first), producing]);
      if (killed.status === "rejected") throw killed.reason;
      await producing;
      await group.untilShared(partitions, new Map([[second, 4]]));
      await group.untilSeen(values);
    }, { essential: true });

    await this.step("restart", async () => {
      await broker.stop("SIGTERM");
      await broker.start();
      await produce();
      await group.untilSeen(values);
    }, { essential: true });

    await this.step("kill -9", async () => {
      await group.leave(second);
      await this.expectCommitted(group);
      await broker.stop("SIGKILL");
      await broker.start();
      // a coordinator may answer that it is still loading
      await eventually(() => this.expectCommitted(group));
      await this.readAll();
      await produce();
      const seenBefore = group.seen.size;
      const third = group.join("C");
      await group.untilShared(partitions, new Map([[third, 4]]));
      await group.untilSeen(values);
      expect(seenBefore + batch, group.seen.size);
      await group.leave(third);
      await this.expectCommitted(group);
    });

    await this.step("static", () => this.staticMembers());
    for (const member of [first, second]) if (member) await group.kill(member);
    this.#blockedBy = blockedBefore;
  }

  /** A static member (KIP-345) that comes back takes its own place: no third member, nothing lost. */
  private async staticMembers(): Promise<void> {
    const names = { topic: this.groupTopic, group: `${this.topic}-static` };
    const group = new Group(this.bench.adapters, this.client, names, false);
    await this.refused("static-member", "member", { ...names, instanceId: "one" });
    const one = group.join("one", { instanceId: "one" });
    await group.untilShared(partitions, new Map([[one, 4]]));
    const two = group.join("two", { instanceId: "two" });
    await group.untilShared(partitions, new Map([[one, 2], [two, 2]]));
    await group.kill(one);
    const again = group.join("one again", { instanceId: "one" });
    await group.untilShared(partitions, new Map([[again, 2], [two, 2]]));
    await eventually(async () => {
      const lines = await this.asReference("describe-group", { group: names.group });
      expect([{ state: "Stable", members: 2 }], lines);
    });
    await group.leave(again);
    await group.leave(two);
  }

  /** The consumer group protocol of KIP-848: members share, one leaves, the other gets its partitions. */
  private async nextGen(): Promise<void> {
    const names = { topic: this.groupTopic, group: `${this.topic}-next-gen` };
    const group = new Group(this.bench.adapters, this.client, names, true);
    const protocol = { groupProtocol: "consumer" };
    await this.refused("next-gen", "member", { ...names, ...protocol });
    const first = group.join("A", protocol);
    await group.untilShared(partitions, new Map([[first, 4]]));
    const second = group.join("B", protocol);
    await group.untilShared(partitions, new Map([[first, 2], [second, 2]]));
    // some clients fall back to the classic protocol without a word
    const [{ groups }] = await this.asReference("groups", { groupType: "consumer" });
    expectIncludes(groups, names.group);
    await group.untilSeen(range(0, batch).map((i) => `v${i}`));
    await group.leave(first);
    await group.untilShared(partitions, new Map([[second, 4]]));
    await group.leave(second);
    await this.expectCommitted(group, names.group);
  }

  /** Where clients.ts says that the library cannot do this, holds that it refuses, and ends the step with that. */
  private async refused(feature: Feature, verb: Verb, flags: Flags): Promise<void> {
    if (this.client.unsupported[feature]) await this.bench.adapters.run(this.client, verb, flags);
  }

  private async cleanUp(): Promise<void> {
    await this.call("delete-group", { group: this.group });
    const [{ groups }] = await this.call("groups");
    if (groups.includes(this.group)) throw new Error(`${this.group} is still listed after its deletion`);
    const topics = [this.topic, this.timeTopic, this.groupTopic];
    for (const topic of topics) await this.call("delete", { topic });
    await eventually(async () => {
      const [{ topics: listed }] = await this.call("list");
      const left = topics.filter((topic) => listed.includes(topic));
      if (left.length > 0) throw new Error(`still listed after deletion: ${left}`);
    });
  }

  /** Produces a batch to the main topic and remembers it. */
  private async write(flags: Flags): Promise<void> {
    const start = this.#next;
    this.#next += batch;
    expect(
      [{ acked: batch }],
      await this.call("produce", { topic: this.topic, count: batch, start, ...flags }),
    );
    const partition = flags.partition === undefined ? null : Number(flags.partition);
    for (const i of range(start, batch)) this.written.set(`v${i}`, partition);
  }

  private async readAll(): Promise<void> {
    const lines = await this.call("consume", {
      topic: this.topic,
      count: this.written.size,
      from: "beginning",
    });
    expectRecords(lines, [...this.written.keys()]);
    for (const { value, partition } of lines.slice(0, -1)) {
      const wanted = this.written.get(value)!;
      if (wanted !== null && wanted !== partition) {
        throw new Error(`${value} is in partition ${partition}, not in ${wanted}`);
      }
    }
  }

  private async readFromTime(): Promise<void> {
    const base = Date.now() - 3_600_000;
    const flags = { topic: this.timeTopic, count: 200, start: 0, codec: "gzip", idempotent: false };
    expect([{ acked: 200 }], await this.call("produce", { ...flags, timestampBase: base }));
    const lines = await this.call("consume", {
      topic: this.timeTopic,
      count: 50,
      from: `timestamp:${base + 150}`,
    });
    expectRecords(lines, range(150, 50).map((i) => `v${i}`), { fromStart: false });
  }

  private async expectCommitted(group: Group, name = this.group): Promise<void> {
    const lines = await this.call("committed", { topic: this.groupTopic, group: name });
    const found = new Map(lines.map((line) => [line.partition, line.offset] as [number, number]));
    expect(
      [...group.committedOffsets()],
      [...found].sort(([a], [b]) => a - b),
    );
  }

  /** Runs a verb with the client, or with the reference client where the library lacks it. */
  private async call(verb: Verb, flags: Flags = {}): Promise<Line[]> {
    try {
      const lines = await this.bench.adapters.run(this.client, verb, flags);
      this.#ownCalls++;
      return lines;
    } catch (error) {
      if (!(error instanceof NotSupported)) throw error;
      this.#lacking.add(`${verb}: ${error.message}`);
      return await this.asReference(verb, flags);
    }
  }

  private asReference(verb: Verb, flags: Flags): Promise<Line[]> {
    return this.bench.adapters.run(this.bench.reference, verb, flags);
  }

  /** Runs one step and reports it. After a failed essential step the ones up to the next mend are not run. */
  private async step(name: Step, work: () => Promise<void>, { essential = false } = {}): Promise<void> {
    const { report, broker } = this.bench;
    if (this.#blockedBy) {
      report.failed(this.client.id, name, `not run: "${this.#blockedBy}" failed`);
      return;
    }
    this.#lacking.clear();
    this.#ownCalls = 0;
    const startedAt = performance.now();
    try {
      await work();
      if (broker.fault()) throw new Error(broker.fault()!);
    } catch (error) {
      if (error instanceof NotSupported) {
        report.lacks(this.client.id, name, error.message);
      } else {
        const fault = broker.fault();
        report.failed(this.client.id, name, `${(error as Error).message}${fault ? `\n${fault}` : ""}`);
        if (essential) this.#blockedBy = name;
      }
      return;
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const lacking = [...this.#lacking].join("; ");
    if (!lacking) report.passed(this.client.id, name, seconds);
    else if (this.#ownCalls > 0) report.helped(this.client.id, name, lacking, seconds);
    else report.lacks(this.client.id, name, lacking);
  }
}

function range(start: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start + i);
}

/** Tries again until `check` does not throw: metadata is told to clients a little after the fact. */
async function eventually(check: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + eventuallyMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) {
        throw new Error(`for ${eventuallyMs} ms: ${(error as Error).message}`);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** Holds that both are equal as JSON, whatever the order of an object's keys. */
function expect(wanted: unknown, found: unknown): void {
  const [a, b] = [wanted, found].map((value) => JSON.stringify(value, sortedKeys));
  if (a !== b) throw new Error(`expected ${a}, got ${b}`);
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}

function expectIncludes(list: string[], item: string): void {
  if (!list.includes(item)) throw new Error(`${item} is not in [${list.join(", ")}]`);
}

/**
 * Holds that `consume` printed every value exactly once, with its own key, each partition in offset order without
 * a hole (from offset 0 unless `fromStart` is false), and `done` last.
 */
export function expectRecords(lines: Line[], values: string[], { fromStart = true } = {}): void {
  expect({ done: values.length }, lines.at(-1));
  const records = lines.slice(0, -1);
  const left = new Set(values);
  const nextOffset = new Map<number, number>();
  for (const { partition, offset, key, value } of records) {
    if (!left.delete(value)) {
      throw new Error(`${partition}@${offset} ${key}=${value} came twice or was never written`);
    }
    if (key !== value.replace("v", "k")) {
      throw new Error(`${partition}@${offset} has key ${key} and value ${value}`);
    }
    const wanted = nextOffset.get(partition) ?? (fromStart ? 0 : offset);
    if (offset !== wanted) {
      throw new Error(`partition ${partition} went on at offset ${offset}, not ${wanted}`);
    }
    nextOffset.set(partition, offset + 1);
  }
  if (left.size > 0) throw new Error(`${left.size} values are missing, among them ${[...left].slice(0, 5)}`);
}
