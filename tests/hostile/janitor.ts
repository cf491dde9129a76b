/**
 * Keeps what a run leaves behind from growing: makes the victims' topics anew when a request has deleted or changed
 * them, and deletes the topics and groups that requests have made.
 */
import { Client } from "../../src/client/client.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { deleteGroups } from "../../src/codec/messages/delete_groups.ts";
import { deleteTopics } from "../../src/codec/messages/delete_topics.ts";
import { alterConfigs } from "../../src/codec/messages/alter_configs.ts";
import { listGroups } from "../../src/codec/messages/list_groups.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { allTopics } from "../protocol/requests.ts";
import { groups, type TopicIds, victims } from "./world.ts";

/** Beyond these numbers what requests have made is deleted. */
const MADE_TOPICS = 200, MADE_GROUPS = 500;

const TIMEOUT_MS = 30_000;

export class Janitor {
  readonly topicIds: TopicIds = new Map();
  private timer: ReturnType<typeof setInterval> | undefined;
  private sweeping: Promise<void> | null = null;

  private constructor(private readonly client: Client, private readonly onFailed: (error: unknown) => void) {}

  /** One that has made the topics and looks after them every `everyMs`. */
  static async start(port: number, onFailed: (error: unknown) => void, everyMs = 1000): Promise<Janitor> {
    const client = await Client.connect({ hostname: "127.0.0.1", port }, "janitor");
    const janitor = new Janitor(client, onFailed);
    await janitor.sweep();
    janitor.timer = setInterval(() => {
      janitor.sweeping ??= janitor.sweep().catch(onFailed).finally(() => janitor.sweeping = null);
    }, everyMs);
    return janitor;
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.sweeping;
    await this.client.close();
  }

  private async sweep(): Promise<void> {
    const { topics } = await this.client.send(metadata, 12, allTopics);
    const ours = new Set(victims.map(({ name }) => name));
    const there = new Set(topics.map(({ name }) => name));
    const made = topics.filter(({ name, isInternal }) =>
      !isInternal && !ours.has(name!) && !name!.startsWith("the-n")
    );
    if (made.length > MADE_TOPICS) await this.delete(made.map(({ name }) => name!));
    const missing = victims.filter(({ name }) => !there.has(name));
    if (missing.length > 0) await this.create(missing);
    else for (const { name, topicId } of topics) if (ours.has(name!)) this.topicIds.set(name!, topicId);
    await this.restoreSettings();
    await this.deleteGroups();
  }

  private async create(topics: typeof victims): Promise<void> {
    const { topics: made } = await this.client.send(createTopics, 7, {
      timeoutMs: TIMEOUT_MS,
      topics: topics.map(({ name, partitions, configs }) => ({
        name,
        numPartitions: partitions,
        replicationFactor: 1,
        assignments: [],
        configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
      })),
    });
    for (const { name, topicId } of made) this.topicIds.set(name, topicId);
  }

  private async delete(topicNames: string[]): Promise<void> {
    await this.client.send(deleteTopics, 5, { topics: [], topicNames, timeoutMs: TIMEOUT_MS });
  }

  /** The old form of AlterConfigs resets what it does not name; for the broker and the cluster that is everything. */
  private async restoreSettings(): Promise<void> {
    await this.client.send(alterConfigs, 2, {
      validateOnly: false,
      resources: [
        ...["", "1"].map((resourceName) => ({ resourceType: 4, resourceName, configs: [] })),
        ...victims.map(({ name, configs }) => ({
          resourceType: 2,
          resourceName: name,
          configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
        })),
      ],
    });
  }

  private async deleteGroups(): Promise<void> {
    const { groups: listed } = await this.client.send(listGroups, 4, {
      statesFilter: ["Empty"],
      typesFilter: [],
    });
    const made = listed.map(({ groupId }) => groupId).filter((id) =>
      !groups.includes(id) && !id.startsWith("the-n")
    );
    if (made.length > MADE_GROUPS) await this.client.send(deleteGroups, 2, { groupsNames: made });
  }
}
