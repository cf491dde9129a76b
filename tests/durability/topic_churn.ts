/**
 * Makes topics, writes to them, changes their settings, gives them more partitions and deletes them, while the broker is
 * ended again and again. A topic whose making was acknowledged is there with its records, one whose deletion was is not,
 * and a name can be used again at once; a change that was acknowledged holds, and one that was not did or did not happen.
 */
import { assert } from "../../src/base/assert.ts";
import type { Prng } from "../../src/base/prng.ts";
import type { Client } from "../../src/client/client.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { labelled } from "./producers.ts";
import { readWhole } from "./ledger.ts";
import {
  alterTopic,
  createTopic,
  deleteTopic,
  growTopic,
  partitionCounts,
  produceTo,
  Refused,
  topicIds,
  topicSetting,
} from "./requests.ts";
import type { Progress, Target } from "./target.ts";

/** What is known of a name. In doubt is what was sent and not answered: it may have happened or not. */
type Known = "absent" | "making" | "present" | "deleting";

interface ChurnedTopic {
  known: Known;
  /** As it was told when the topic was made; null while that is in doubt. */
  topicId: string | null;
  /** Records that were acknowledged, and those that may be there after them. */
  acknowledged: number;
  sent: number;
  /** The setting SETTING, and how many partitions there are: what was acknowledged, and what may be instead. */
  setting: Doubted;
  partitions: Doubted;
}

interface Doubted {
  known: number;
  sent: number;
}

const LETTERS = ["a", "b", "c", "d"];
const PARTITION = 1;
const PARTITIONS = 2;
const MOST_PARTITIONS = 5;
const SETTING = "max.message.bytes";
const SETTING_AT_FIRST = 500_000;

export class TopicChurn {
  private readonly topics: Map<string, ChurnedTopic>;

  constructor(
    private readonly o: {
      readonly random: Prng;
      readonly target: Target;
      readonly progress: Progress;
      /** What its topics' names begin with; several may be at work beside each other. */
      readonly prefix?: string;
    },
  ) {
    const { prefix = "churn" } = o;
    this.topics = new Map(LETTERS.map((letter) => [`${prefix}-${letter}`, {
      ...{ known: "absent", topicId: null, acknowledged: 0, sent: 0 },
      ...{ setting: { known: 0, sent: 0 }, partitions: { known: 0, sent: 0 } },
    }]));
  }

  run(): Promise<void> {
    const { target, random, progress } = this.o;
    return target.keepConnected("topic churn", async (client) => {
      await this.check(client);
      while (!target.isStopping) {
        const [name, topic] = random.pick([...this.topics]);
        if (topic.known === "absent") await this.make(client, name, topic);
        else {
          const change = random.pick(["delete", "write", "write", "alter", "grow"] as const);
          await this[change](client, name, topic);
        }
        progress.step();
      }
      await this.check(client);
    });
  }

  private async make(client: Client, name: string, topic: ChurnedTopic): Promise<void> {
    Object.assign(topic, {
      ...{ known: "making", topicId: null, acknowledged: 0, sent: 0 },
      setting: { known: SETTING_AT_FIRST, sent: SETTING_AT_FIRST },
      partitions: { known: PARTITIONS, sent: PARTITIONS },
    });
    const configs = { "file.delete.delay.ms": "0", [SETTING]: String(SETTING_AT_FIRST) };
    topic.topicId = await createTopic(client, name, PARTITIONS, configs);
    topic.known = "present";
  }

  private async alter(client: Client, name: string, { setting }: ChurnedTopic): Promise<void> {
    setting.sent++;
    await alterTopic(client, name, { [SETTING]: String(setting.sent) });
    setting.known = setting.sent;
  }

  private async grow(client: Client, name: string, { partitions }: ChurnedTopic): Promise<void> {
    if (partitions.known === MOST_PARTITIONS) return;
    partitions.sent = partitions.known + 1;
    await growTopic(client, name, partitions.sent);
    partitions.known = partitions.sent;
  }

  private async delete(client: Client, name: string, topic: ChurnedTopic): Promise<void> {
    topic.known = "deleting";
    await deleteTopic(client, name);
    topic.known = "absent";
  }

  private async write(client: Client, name: string, topic: ChurnedTopic): Promise<void> {
    const record = { timestamp: Date.now(), key: null, value: labelled(name, topic.sent++, 50) };
    const [{ errorCode, baseOffset }] = await produceTo(client, name, [
      { partition: PARTITION, batch: buildBatch([record]) },
    ]);
    if (errorCode !== ErrorCode.NONE) throw new Refused(`Produce to ${name}`, errorCode);
    assert(baseOffset === topic.sent - 1, `${name}: record ${topic.sent - 1} is at ${baseOffset}`);
    topic.acknowledged = topic.sent;
  }

  /** Holds the broker's topics against what is known, and clears up what is in doubt. */
  private async check(client: Client): Promise<void> {
    const ids = await topicIds(client);
    for (const [name, topic] of this.topics) {
      const isThere = ids.has(name);
      const { known } = topic;
      assert(
        known === "making" || known === "deleting" || isThere === (known === "present"),
        `${name} is ${isThere ? "there" : "not there"}, but was known to be ${known}`,
      );
      topic.known = isThere ? "present" : "absent";
      if (!isThere) continue;
      assert(
        topic.topicId === null || topic.topicId === ids.get(name),
        `${name} has id ${ids.get(name)}, but was made with ${topic.topicId}`,
      );
      const { labels } = await readWhole(client, name, PARTITION);
      assert(
        labels.length >= topic.acknowledged && labels.length <= topic.sent,
        `${name} has ${labels.length} records, of ${topic.acknowledged} acknowledged and ${topic.sent} sent`,
      );
      labels.forEach((label, i) => assert(label === `${name} ${i}`, `${name}: at ${i} is "${label}"`));
      // An answer that never came, to a record that is there: the next one has the number after it.
      topic.acknowledged = topic.sent = labels.length;
      settle(name, SETTING, topic.setting, Number(await topicSetting(client, name, SETTING)));
      settle(name, "partitions", topic.partitions, (await partitionCounts(client)).get(name)!);
      for (let partition = 0; partition < topic.partitions.known; partition++) {
        if (partition === PARTITION) continue;
        const { labels } = await readWhole(client, name, partition);
        assert(
          labels.length === 0,
          `${name}-${partition} has ${labels.length} records, though none was sent`,
        );
      }
    }
  }

  /** Names of the directories that must be there at the end. */
  get directories(): string[] {
    return [...this.topics].filter(([, { known }]) => known === "present").flatMap(([name, { partitions }]) =>
      Array.from({ length: partitions.known }, (_, partition) => `${name}-${partition}`)
    );
  }
}

/** What was found is what was acknowledged, or what was sent last and not answered; and that is known now. */
function settle(name: string, what: string, doubted: Doubted, found: number): void {
  assert(
    found === doubted.known || found === doubted.sent,
    `${what} of ${name} is ${found}, was acknowledged as ${doubted.known}, and sent last as ${doubted.sent}`,
  );
  doubted.known = doubted.sent = found;
}
