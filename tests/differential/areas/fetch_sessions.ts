/** Fetch sessions (KIP-227): what a broker keeps between fetches, and tells only when it is new. */
import { createPartitions } from "../../../src/codec/messages/create_partitions.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { eventually, scenario } from "../scenario.ts";
import { brief, filled, from, several } from "../setup/fetches.ts";
import { batchOf, fetching, fill, told, type Wanted } from "../setup/records.ts";
import { createTopic, NO_SUCH_ID, ready } from "../setup/topics.ts";

const BASE = 1_700_000_000_000;

export const scenarios = [
  scenario(
    "Fetch sessions: version 13 cannot go on with what version 12 began, nor the other way round",
    async (broker) => {
      const topic = await filled(broker);
      const topicId = await ready(broker, topic);
      const byName = await broker.send(fetch, 12, fetching(topic, [from(0n)], { sessionEpoch: 0 }));
      await broker.ask(fetch, 13, fetching("", [], { sessionId: byName!.sessionId, sessionEpoch: 1 }), brief);
      const byId = await broker.send(fetch, 13, fetching("", [from(0n)], { topicId, sessionEpoch: 0 }));
      await broker.ask(fetch, 12, fetching("", [], { sessionId: byId!.sessionId, sessionEpoch: 1 }), brief);
      await broker.ask(
        fetch,
        13,
        fetching("", [], { sessionId: byId!.sessionId, sessionEpoch: 1 }),
        brief,
        "still there",
      );
    },
  ),
  scenario("Fetch sessions: epochs must go up by one, and ids must be known", async (broker) => {
    const topic = await filled(broker);
    const open = async () =>
      (await broker.send(fetch, 11, fetching(topic, [from(3n)], { sessionEpoch: 0 })))!.sessionId;
    const next = (sessionId: number, sessionEpoch: number) =>
      fetching(topic, [], { sessionId, sessionEpoch, maxWaitMs: 0 });
    const sessionId = await open();
    await broker.askEach(fetch, 11, {
      "epoch 2 before 1": next(sessionId, 2),
      "epoch 1": next(sessionId, 1),
      "epoch 1 again": next(sessionId, 1),
      "epoch 2": next(sessionId, 2),
      "epoch -2": next(sessionId, -2),
      "unknown id": next(sessionId === 7 ? 8 : 7, 1),
      "id 0, epoch 5": next(0, 5),
      "epoch 3": next(sessionId, 3),
    }, told);
  }),
  scenario("Fetch sessions: a session is closed by epoch -1 and replaced by epoch 0", async (broker) => {
    const topic = await filled(broker);
    const one = [from(0n)];
    const first = await broker.ask(fetch, 11, fetching(topic, one, { sessionEpoch: 0 }), told);
    const sessionId = first!.sessionId;
    await broker.ask(fetch, 11, fetching(topic, one, { sessionId, sessionEpoch: -1 }), told, "closed");
    await broker.ask(fetch, 11, fetching(topic, [], { sessionId, sessionEpoch: 1 }), told, "after that");
    await broker.ask(fetch, 11, fetching(topic, one, { sessionId, sessionEpoch: -1 }), told, "closed again");
    const second = await broker.ask(fetch, 11, fetching(topic, one, { sessionEpoch: 0 }), told);
    const third = await broker.ask(
      fetch,
      11,
      fetching(topic, one, { sessionId: second!.sessionId, sessionEpoch: 0 }),
      told,
      "replaced",
    );
    broker.note("another id", third!.sessionId !== second!.sessionId);
    const old = fetching(topic, [], { sessionId: second!.sessionId, sessionEpoch: 1 });
    await broker.ask(fetch, 11, old, told, "the replaced one");
  }),
  scenario("Fetch sessions: one without partitions is none", async (broker) => {
    await broker.ask(fetch, 11, fetching("", [], { sessionEpoch: 0, maxWaitMs: 0 }), told);
    await broker.ask(fetch, 11, fetching("", [], { sessionEpoch: -1, maxWaitMs: 0 }), told);
  }),
  scenario("Fetch sessions tell only what is new: records, a moved end, errors", async (broker) => {
    const topic = await filled(broker, "t", 3);
    const missing = broker.name("missing");
    const request = several([topic, [from(3n), from(3n, 1), from(0n, 7)]], [missing, [from(0n)]]);
    const first = await broker.ask(fetch, 11, { ...request, sessionEpoch: 0 }, brief);
    const sessionId = first!.sessionId;
    let sessionEpoch = 1;
    const go = (label: string, wanted: Wanted[] = [], forgotten: number[] = []) => {
      const next = fetching(topic, wanted, {
        sessionId,
        sessionEpoch: sessionEpoch++,
        maxWaitMs: 0,
        forgotten,
      });
      return broker.ask(fetch, 11, next, brief, label);
    };
    await go("nothing new but the errors");
    await fill(broker, topic, [batchOf(["d"])], 1);
    await go("records in 1");
    await go("they are not taken: again");
    await go("they are taken", [from(4n, 1)]);
    await go("2 comes to it", [from(3n, 2)]);
    await go("0 is read from its start", [from(0n)]);
    await go("7 and 2 are forgotten", [], [7, 2]);
    await go("what is not there is forgotten", [], [9]);
    await go("0 is forgotten and asked for at once", [from(0n)], [0]);
  }),
  scenario(
    "Fetch sessions by id: an unknown topic is told each time until it is forgotten",
    async (broker) => {
      const topicId = await ready(broker, await filled(broker));
      const known = fetching("", [from(3n)], { topicId }).topics,
        unknown = fetching("", [from(0n)], { topicId: NO_SUCH_ID });
      const opened = { ...unknown, topics: [...known, ...unknown.topics], sessionEpoch: 0 };
      const first = await broker.ask(fetch, 13, opened, told);
      const next = { ...fetching("", []), sessionId: first!.sessionId, maxWaitMs: 0 };
      await broker.ask(fetch, 13, { ...next, sessionEpoch: 1 }, told);
      const forgotten = fetching("", [], { topicId: NO_SUCH_ID, forgotten: [0] }).forgottenTopicsData;
      await broker.ask(fetch, 13, { ...next, sessionEpoch: 2, forgottenTopicsData: forgotten }, told);
      await broker.ask(fetch, 13, { ...next, sessionEpoch: 3 }, told);
    },
  ),
  scenario("Fetch sessions see partitions that come later", async (broker) => {
    const topic = await filled(broker);
    const first = await broker.ask(fetch, 11, fetching(topic, [from(0n, 1)], { sessionEpoch: 0 }), brief);
    const sessionId = first!.sessionId;
    const growing = [{ name: topic, count: 2, assignments: null }];
    await broker.send(createPartitions, 3, { topics: growing, timeoutMs: 5000, validateOnly: false });
    await ready(broker, topic);
    await eventually("no second partition", async () => {
      const looked = await broker.send(fetch, 11, fetching(topic, [from(0n, 1)], { maxWaitMs: 0 }));
      return looked!.responses[0].partitions[0].errorCode === 0 ? true : null;
    });
    await broker.ask(
      fetch,
      11,
      fetching(topic, [], { sessionId, sessionEpoch: 1, maxWaitMs: 0 }),
      brief,
      "it is there",
    );
    await fill(broker, topic, [batchOf(["a"])], 1);
    await broker.ask(
      fetch,
      11,
      fetching(topic, [], { sessionId, sessionEpoch: 2, maxWaitMs: 0 }),
      brief,
      "records",
    );
  }),
  scenario(
    "Fetch sessions keep what a partition was asked with until it is asked with something else",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const batch = batchOf(["x".repeat(1000)], { timestamp: BASE });
      await fill(broker, topic, [batch, batch]);
      const small: Wanted[] = [{ ...from(0n), partitionMaxBytes: 100 }];
      const first = await broker.ask(fetch, 11, fetching(topic, small, { sessionEpoch: 0 }), brief);
      const sessionId = first!.sessionId;
      await broker.ask(fetch, 11, fetching(topic, [], { sessionId, sessionEpoch: 1 }), brief, "still small");
      await broker.ask(
        fetch,
        11,
        fetching(topic, [from(0n)], { sessionId, sessionEpoch: 2 }),
        brief,
        "large",
      );
      const ahead = [{ ...from(0n), currentLeaderEpoch: 5 }];
      await broker.ask(
        fetch,
        11,
        fetching(topic, ahead, { sessionId, sessionEpoch: 3 }),
        brief,
        "leader epoch ahead",
      );
      await broker.ask(fetch, 11, fetching(topic, [], { sessionId, sessionEpoch: 4 }), brief, "still ahead");
    },
  ),
];
