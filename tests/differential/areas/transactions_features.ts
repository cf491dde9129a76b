/** transaction.version: what is told of it, how it is changed, and what the lower levels take away. */
import { apiVersions } from "../../../src/codec/messages/api_versions.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { txnOffsetCommit } from "../../../src/codec/messages/txn_offset_commit.ts";
import { updateFeatures } from "../../../src/codec/messages/update_features.ts";
import type { Oracle } from "../areas.ts";
import { type Broker, eventually, scenario } from "../scenario.ts";
import { newGroup } from "../setup/groups.ts";
import { createTopic } from "../setup/topics.ts";
import {
  add,
  appended,
  askEnd,
  askInit,
  committingOffset,
  end,
  initializing,
  producing,
  settled,
  tellLog,
  tellState,
  told,
  transactional,
  write,
} from "../setup/transactions.ts";

/** A broker of its own: features belong to all. */
export const oracle: Oracle = { settings: { "background.threads": "12" } };

const NAME = "transaction.version";

/** What ApiVersions says of the feature. */
async function tellFeature(broker: Broker, label = ""): Promise<void> {
  const client = { clientSoftwareName: "differential", clientSoftwareVersion: "1" };
  await broker.ask(apiVersions, 4, client, (r) => ({
    supported: r.supportedFeatures.filter(({ name }) => name === NAME),
    finalized: r.finalizedFeatures.filter(({ name }) => name === NAME),
  }), label);
}

/** Sets the level and waits until the broker shows it. */
async function setLevel(broker: Broker, level: number, upgradeType: number): Promise<void> {
  const featureUpdates = [{ feature: NAME, maxVersionLevel: level, allowDowngrade: false, upgradeType }];
  await broker.ask(updateFeatures, 2, { featureUpdates }, undefined, `level ${level}, type ${upgradeType}`);
}

async function levelIs(broker: Broker, level: number): Promise<void> {
  const client = { clientSoftwareName: "differential", clientSoftwareVersion: "1" };
  await eventually(`${NAME} does not become ${level}`, async () => {
    const { finalizedFeatures } = (await broker.send(apiVersions, 4, client))!;
    const now = finalizedFeatures.find(({ name }) => name === NAME)?.maxVersionLevel ?? 0;
    return now === level ? true : null;
  });
}

const UPGRADE = 1, SAFE_DOWNGRADE = 2, UNSAFE_DOWNGRADE = 3;

/** A transaction of version 1 from end to end, and what InitProducerId then gives. */
async function versionOne(broker: Broker, topic: string, text: string): Promise<void> {
  const one = await transactional(broker, text);
  await add(broker, one, [topic, 0]);
  await write(broker, one, topic, ["b"], 0, { version: 11 });
  await askEnd(broker, 4, one, true, "version 1");
  await tellState(broker, one);
  await add(broker, one, [topic, 0]);
  await broker.ask(initProducerId, 4, initializing(one.transactionalId), told(broker), "version 1, ongoing");
  await settled(broker, one);
  await tellState(broker, one);
  await askInit(broker, 4, one.transactionalId, {}, "version 1");
}

export const scenarios = [
  scenario("transaction.version goes down and up, and what transactions do with it", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    await transactional(broker);
    await tellFeature(broker, "at first");
    for (const [level, type] of [[3, UPGRADE], [-1, UPGRADE], [1, UPGRADE], [2, UPGRADE]] as const) {
      await setLevel(broker, level, type);
    }
    await tellFeature(broker, "still");
    await setLevel(broker, 1, SAFE_DOWNGRADE);
    await levelIs(broker, 1);
    await tellFeature(broker, "1");
    const first = await transactional(broker, "first");
    await broker.ask(produce, 12, producing(first, topic, ["a"]), appended, "adds itself");
    await broker.ask(txnOffsetCommit, 5, committingOffset(first, group, topic), undefined, "adds itself");
    await tellState(broker, first);
    const second = await askEnd(broker, 5, first, false, "aborts");
    await askEnd(broker, 5, second, false, "aborts nothing");
    await tellState(broker, second);
    await versionOne(broker, topic, "y");
    await setLevel(broker, 0, UNSAFE_DOWNGRADE);
    await levelIs(broker, 0);
    await tellFeature(broker, "0");
    // In a topic of its own, since Trackway takes it.
    const alone = await createTopic(broker, "alone");
    const late = await transactional(broker, "late");
    await broker.ask(produce, 12, producing(late, alone, ["a"]), appended, "level 0");
    await versionOne(broker, topic, "w");
    await tellLog(broker, topic);
    const open = await transactional(broker, "open");
    await add(broker, open, [topic, 0]);
    await write(broker, open, topic, ["c"], 0, { version: 11 });
    await setLevel(broker, 2, UPGRADE);
    await levelIs(broker, 2);
    await tellFeature(broker, "raised");
    await write(broker, open, topic, ["d"], 1);
    const next = await askEnd(broker, 5, open, true, "begun before");
    await broker.ask(produce, 12, producing(next, topic, ["e"]), appended);
    await end(broker, next, false);
    await tellLog(broker, topic);
  }),
];
