/**
 * Makes topics, writes to them and deletes them, while the broker is ended again and again. A topic whose making was
 * acknowledged is there with its records, one whose deletion was is not, and a name can be used again at once.
 */
import { assert } from "../../src/base/assert.ts";
import type { Prng } from "../../src/base/prng.ts";
import type { Client } from "../../src/client/client.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { labelled } from "./producers.ts";
import { readWhole } from "./ledger.ts";
import { createTopic, deleteTopic, produceTo, Refused, topicIds } from "./requests.ts";
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
}

const NAMES = ["churn-a", "churn-b", "churn-c", "churn-d"];
const PARTITION = 1;

export class TopicChurn {
  private readonly topics = new Map<string, ChurnedTopic>(
    NAMES.map((name) => [name, { known: "absent", topicId: null, acknowledged: 0, sent: 0 }]),
  );

  constructor(
    private readonly o: { readonly random: Prng; readonly target: Target; readonly progress: Progress },
  ) {}

  run(): Promise<void> {
    const { target, random, progress } = this.o;
    return target.keepConnected("topic churn", async (client) => {
      await this.check(client);
      while (!target.isStopping) {
        const [name, topic] = random.pick([...this.topics]);
        if (topic.known === "absent") await this.make(client, name, topic);
        else if (random.chance(0.3)) await this.delete(client, name, topic);
        else await this.write(client, name, topic);
        progress.step();
      }
      await this.check(client);
    });
  }

  private async make(client: Client, name: string, topic: ChurnedTopic): Promise<void> {
    Object.assign(topic, { known: "making", topicId: null, acknowledged: 0, sent: 0 });
    topic.topicId = await createTopic(client, name, 2, { "file.delete.delay.ms": "0" });
    topic.known = "present";
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
      const other = await readWhole(client, name, 0);
      assert(other.labels.length === 0, `${name}-0 has ${other.labels.length} records, though none was sent`);
    }
  }

  /** Names of the directories that must be there at the end. */
  get directories(): string[] {
    return [...this.topics].filter(([, { known }]) => known === "present").flatMap(([name]) => [
      `${name}-0`,
      `${name}-1`,
    ]);
  }
}
