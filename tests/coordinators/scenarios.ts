/**
 * Scenarios of classic groups, played by stage.ts. Their transcripts in transcripts/ were recorded from Kafka, so a
 * scenario states no expectation itself: the recorded answers are the expectation. Times are short enough to record
 * and far enough apart that a slow machine does not change what happens.
 */
import type { Stage } from "./stage.ts";

/** What the recording broker is configured with, and the service in the test too; but for the initial delay. */
export const scenarioConfig = { groupMinSessionTimeoutMs: 200, groupMaxSize: 3 };

/** Topics that the scenarios commit offsets for. */
export const scenarioTopics = ["t", "u"];

/** A subscription of version 0 to topics t, as consumers write it. */
export const SUBSCRIBED_TO_T = "\0\0\0\0\0\x01\0\x01t\0\0\0\0";

export interface Scenario {
  readonly name: string;
  readonly play: (s: Stage) => Promise<void>;
}

/** A member that has joined with a known id; its rebalance may still run. */
async function admitted(s: Stage, name: string, options: Parameters<Stage["join"]>[1] = {}) {
  await s.join(name, options);
  return s.join(name, options);
}

async function stable(s: Stage, options: Parameters<Stage["join"]>[1] = {}): Promise<void> {
  await admitted(s, "a", options);
  await s.sync("a", { assign: { a: "part of a" }, type: options.type });
}

/** Two members, b joined after a, both stable. */
async function stablePair(s: Stage, options: Parameters<Stage["join"]>[1] = {}): Promise<void> {
  await stable(s, options);
  const b = await admitted(s, "b", options);
  await s.join("a", options);
  await s.answer(b);
  await s.sync("a", { assign: { a: "A", b: "B" } });
  await s.sync("b");
}

/** Ways to bring a group into each state. */
const states: Record<string, (s: Stage) => Promise<void>> = {
  missing: async () => {},
  simple: async (s) => {
    await s.commit("z", "t:0=1", { version: 8 });
  },
  empty: async (s) => {
    await stable(s);
    await s.leave("a");
  },
  preparing: async (s) => {
    await stable(s);
    await admitted(s, "b");
  },
  completing: async (s) => {
    await admitted(s, "a");
  },
  stable: (s) => stable(s),
  "stable static": async (s) => {
    await s.join("a", { instance: "i" });
    await s.sync("a", { assign: { a: "A" } });
  },
};

/** Requests that are wrong in some way, or right; each meets each state. */
const probes: Record<string, (s: Stage) => Promise<unknown>> = {
  "join with an unknown id": (s) => s.join("x", { id: "nobody" }),
  "join with an unknown id and no common protocol": (s) =>
    s.join("x", { id: "nobody", protocols: "other:x" }),
  "join without a common protocol": (s) => s.join("x", { protocols: "other:x" }),
  "join with another protocol type": (s) => s.join("x", { type: "connect" }),
  "join without protocols": (s) => s.join("x", { protocols: "" }),
  "join without a protocol type": (s) => s.join("x", { type: "" }),
  "join with an unknown instance and id": (s) => s.join("x", { id: "nobody", instance: "j" }),
  "join with a known instance and a wrong id": (s) => s.join("x", { id: "nobody", instance: "i" }),
  "join with a short session": (s) => s.join("x", { sessionMs: 199 }),
  "join with a long session": (s) => s.join("x", { sessionMs: 1_800_001 }),
  "join as a member again, nothing changed": (s) => s.join("a"),
  "join as a member again, other metadata": (s) => s.join("a", { protocols: "range:y" }),
  "join in version 3": (s) => s.join("x", { version: 3 }),
  "sync of an unknown member": (s) => s.sync("x", { id: "nobody", generation: 1 }),
  "sync of an unknown member with a wrong generation": (s) => s.sync("x", { id: "nobody", generation: 9 }),
  "sync with a wrong generation": (s) => s.sync("a", { generation: 9 }),
  "sync with a wrong generation and protocol": (s) => s.sync("a", { generation: 9, protocol: "other" }),
  "sync with a wrong protocol type": (s) => s.sync("a", { type: "connect" }),
  "sync with a wrong protocol": (s) => s.sync("a", { protocol: "other" }),
  "sync with an unknown instance": (s) => s.sync("a", { instance: "j" }),
  "sync with a known instance and a wrong id": (s) =>
    s.sync("x", { id: "nobody", instance: "i", generation: 9 }),
  "sync of the leader without assignments": (s) => s.sync("a"),
  "heartbeat of an unknown member": (s) => s.heartbeat("x", { id: "nobody", generation: 1 }),
  "heartbeat of an unknown member with a wrong generation": (s) =>
    s.heartbeat("x", { id: "nobody", generation: 9 }),
  "heartbeat with a wrong generation": (s) => s.heartbeat("a", { generation: 9 }),
  "heartbeat with an unknown instance": (s) => s.heartbeat("a", { instance: "j" }),
  "heartbeat with a known instance and a wrong id": (s) =>
    s.heartbeat("x", { id: "nobody", instance: "i", generation: 9 }),
  heartbeat: (s) => s.heartbeat("a"),
  "leave of an unknown member": (s) => s.leave("nobody"),
  "leave of an unknown instance": (s) => s.leave("@j"),
  "leave of a known instance": (s) => s.leave("@i"),
  "leave of a known instance with a wrong id": (s) => s.leave("nobody@i"),
  "leave of nobody at all": (s) => s.leave(""),
  "leave of a member": (s) => s.leave("a"),
  "leave of two, one unknown": (s) => s.leave("nobody", "a"),
  "commit of an unknown member": (s) => s.commit("x", "t:0=5", { id: "nobody", generation: 1 }),
  "commit of an unknown member in version 8": (s) =>
    s.commit("x", "t:0=5", { id: "nobody", generation: 1, version: 8 }),
  "commit with a wrong generation": (s) => s.commit("a", "t:0=5", { generation: 9 }),
  "commit with a generation but no member": (s) => s.commit("x", "t:0=5", { id: "", generation: 1 }),
  "commit with a member but no generation": (s) => s.commit("a", "t:0=5", { generation: -1 }),
  "commit with an unknown member and no generation": (s) =>
    s.commit("x", "t:0=5", { id: "nobody", generation: -1 }),
  "commit without member and generation": (s) => s.commit("x", "t:0=5", { id: "", generation: -1 }),
  "commit with an unknown instance": (s) => s.commit("a", "t:0=5", { instance: "j" }),
  "commit with a known instance and a wrong id": (s) =>
    s.commit("x", "t:0=5", { id: "nobody", instance: "i", generation: 9 }),
  "commit with only an instance": (s) => s.commit("x", "t:0=5", { id: "", instance: "i", generation: -1 }),
  "commit of a member": (s) => s.commit("a", "t:0=5"),
  "commit with long metadata": (s) =>
    s.commit("x", "t:0=5", { id: "", generation: -1, metadata: "x".repeat(4097) }),
  "offsets of a topic": (s) => s.offsets("t:0 u:1"),
  "delete offsets": (s) => s.deleteOffsets("t:0 u:1"),
  "describe in version 5": (s) => s.describe(5),
  "list in another case": (s) => s.list(["sTABLE", "eMPTY"], ["cLASSIC"]),
  "list of no such type": (s) => s.list([], ["consumer"]),
  "list of an unknown type": (s) => s.list([], ["nonsense"]),
  delete: (s) => s.delete(),
};

const precedence: Scenario[] = Object.entries(states).flatMap(([state, reach]) =>
  Object.entries(probes).map(([probe, ask]) => ({
    name: `${state}: ${probe}`,
    async play(s: Stage) {
      await reach(s);
      s.lines.length = 0;
      await ask(s);
      await s.describe();
    },
  }))
);

const stories: Record<string, (s: Stage) => Promise<void>> = {
  "a member joins, works and leaves": async (s) => {
    await s.describe();
    await s.list();
    await s.join("a");
    await s.describe();
    await s.list();
    await s.join("a");
    await s.describe();
    await s.heartbeat("a");
    await s.sync("a", { assign: { a: "A" } });
    await s.describe();
    await s.list(["Stable"]);
    await s.list(["Empty"]);
    await s.heartbeat("a");
    await s.commit("a", "t:0=5 t:1=6");
    await s.commit("a", "u:0=7", { metadata: "note" });
    await s.offsets("t:0 t:1 u:0 u:1 nowhere:0");
    await s.offsets(null);
    await s.leave("a");
    await s.describe();
    await s.heartbeat("a");
    await s.delete();
    await s.describe(5);
    await s.describe(6);
    await s.offsets("t:0");
    await s.delete();
  },
  "two members, the second starts a rebalance": async (s) => {
    await stable(s);
    const b = await admitted(s, "b");
    await s.heartbeat("a");
    await s.commit("a", "t:0=5");
    await s.sync("a");
    await s.join("a");
    await s.answer(b);
    const waiting = await s.sync("b");
    await s.heartbeat("b");
    await s.commit("b", "t:1=5");
    await s.sync("a", { assign: { a: "A", b: "B" } });
    await s.answer(waiting);
    await s.heartbeat("b");
    await s.describe();
    await s.join("b");
    await s.sync("b");
    await s.note("the leader joins a stable group: everybody has to");
    const again = await s.join("a");
    await s.heartbeat("b");
    await s.join("b");
    await s.answer(again);
  },
  "a follower changes its metadata while the group completes": async (s) => {
    await stablePair(s);
    const a = await s.join("a");
    await s.join("b");
    await s.answer(a);
    const waiting = await s.sync("b");
    await s.note("b joins with other metadata: its own held sync is over");
    const b = await s.join("b", { protocols: "range:new" });
    await s.answer(waiting);
    await s.heartbeat("a");
    await s.join("a");
    await s.answer(b);
  },
  "a member repeats its join while the group completes": async (s) => {
    await stablePair(s);
    const a = await s.join("a");
    await s.join("b");
    await s.answer(a);
    await s.join("a");
    await s.join("b");
    await s.describe();
  },
  "an old client joins without an id": async (s) => {
    await s.join("a", { version: 3 });
    await s.describe();
    await s.sync("a", { assign: { a: "A" }, version: 2 });
    await s.join("a", { version: 0 });
  },
  "the protocol that most prefer wins": async (s) => {
    await stable(s, { protocols: "range:1 rr:2" });
    const b = await admitted(s, "b", { protocols: "rr:3 range:4" });
    const c = await admitted(s, "c", { protocols: "rr:5 other:6 range:7" });
    await s.join("a", { protocols: "range:1 rr:2" });
    await s.answer(b);
    await s.answer(c);
    await s.sync("a", { assign: { a: "A" } });
    await s.sync("b");
    await s.describe();
  },
  "only a common protocol can win": async (s) => {
    await stable(s, { protocols: "range:1 rr:2" });
    const b = await admitted(s, "b", { protocols: "other:3 rr:4" });
    await s.join("a", { protocols: "range:1 rr:2" });
    await s.answer(b);
    await s.join("c", { protocols: "range:1" });
  },
  "a tie between two protocols": async (s) => {
    await stable(s, { protocols: "range:1 roundrobin:2" });
    const b = await admitted(s, "b", { protocols: "roundrobin:3 range:4" });
    await s.join("a", { protocols: "range:1 roundrobin:2" });
    await s.answer(b);
  },
  "the same tie the other way round": async (s) => {
    await stable(s, { protocols: "roundrobin:1 range:2" });
    const b = await admitted(s, "b", { protocols: "range:3 roundrobin:4" });
    await s.join("a", { protocols: "roundrobin:1 range:2" });
    await s.answer(b);
  },
  "a tie between two other protocols": async (s) => {
    await stable(s, { protocols: "sticky:1 cooperative-sticky:2" });
    const b = await admitted(s, "b", { protocols: "cooperative-sticky:3 sticky:4" });
    await s.join("a", { protocols: "sticky:1 cooperative-sticky:2" });
    await s.answer(b);
  },
  "the group is full": async (s) => {
    await stable(s);
    const b = await admitted(s, "b");
    const c = await admitted(s, "c");
    await s.join("d");
    const a = await s.join("a");
    await s.answer(b);
    await s.answer(c);
    await s.answer(a);
    await s.join("d");
    await s.note("d has an id from before");
    await s.join("e");
  },
  "a pending member holds up the join": async (s) => {
    await stable(s);
    await s.join("b", { sessionMs: 1500 });
    await s.note("b has an id and has not come back");
    const a = await s.join("a");
    await s.describe();
    await s.wait(2100);
    await s.answer(a);
    await s.note("b comes too late");
    await s.join("b", { sessionMs: 1500 });
  },
  "a pending member leaves": async (s) => {
    await stable(s);
    await s.join("b");
    await s.heartbeat("a");
    await s.leave("b");
    await s.heartbeat("a");
    await s.join("b");
  },
  "a pending member comes back with an instance id": async (s) => {
    await s.join("a");
    await s.join("a", { instance: "i" });
  },
  "a member's session expires": async (s) => {
    await stable(s, { sessionMs: 1500 });
    await s.wait(750);
    await s.heartbeat("a");
    await s.wait(1050);
    await s.describe();
    await s.wait(1200);
    await s.describe();
    await s.heartbeat("a");
    await s.join("a");
  },
  "a commit keeps the session alive": async (s) => {
    await stable(s, { sessionMs: 1800 });
    await s.wait(1050);
    await s.commit("a", "t:0=1");
    await s.wait(1200);
    await s.describe();
  },
  "an expired member starts a rebalance": async (s) => {
    await stablePair(s, { sessionMs: 2400 });
    await s.wait(1500);
    await s.heartbeat("a");
    await s.wait(1500);
    await s.heartbeat("a");
    await s.describe();
    await s.join("a");
  },
  "members that do not join again are out after the rebalance timeout": async (s) => {
    await stable(s, { rebalanceMs: 1800 });
    const b = await admitted(s, "b", { rebalanceMs: 1800 });
    await s.wait(900);
    await s.heartbeat("a");
    await s.describe();
    await s.wait(1500);
    await s.answer(b);
    await s.heartbeat("a");
    await s.describe();
  },
  "the leader is taken over by a member that joins": async (s) => {
    await stablePair(s, { rebalanceMs: 1800 });
    const b = await s.join("b", { rebalanceMs: 1800, protocols: "range:new" });
    await s.wait(2400);
    await s.answer(b);
    await s.heartbeat("a");
  },
  "a member that never syncs is out": async (s) => {
    await stablePair(s, { rebalanceMs: 1800 });
    const a = await s.join("a", { rebalanceMs: 1800 });
    await s.join("b", { rebalanceMs: 1800 });
    await s.answer(a);
    await s.sync("a", { assign: { a: "A", b: "B" } });
    await s.describe();
    await s.wait(2400);
    await s.describe();
    await s.heartbeat("a");
    await s.heartbeat("b");
  },
  "a leader that never syncs is out": async (s) => {
    await stablePair(s, { rebalanceMs: 1800 });
    const a = await s.join("a", { rebalanceMs: 1800 });
    await s.join("b", { rebalanceMs: 1800 });
    await s.answer(a);
    const b = await s.sync("b");
    await s.wait(2400);
    await s.answer(b);
    await s.describe();
    await s.join("b", { rebalanceMs: 1800 });
  },
  "a member leaves while the join runs": async (s) => {
    await stable(s);
    const b = await admitted(s, "b");
    await s.leave("a");
    await s.answer(b);
    await s.describe();
  },
  "a member leaves while its own join is held": async (s) => {
    await stable(s);
    const b = await admitted(s, "b");
    await s.leave("b");
    await s.answer(b);
    await s.describe();
  },
  "a member leaves while the group completes": async (s) => {
    await stablePair(s);
    const a = await s.join("a");
    await s.join("b");
    await s.answer(a);
    const b = await s.sync("b");
    await s.leave("a");
    await s.answer(b);
    await s.describe();
    await s.join("b");
  },
  "all leave at once": async (s) => {
    await stablePair(s);
    await s.leave("a", "b");
    await s.describe();
    await s.join("c", { type: "connect", protocols: "p:x" });
    await s.join("c", { type: "connect", protocols: "p:x" });
    await s.describe();
  },
  "a static member comes back": async (s) => {
    await s.join("a", { instance: "i" });
    await s.sync("a", { assign: { a: "A" }, instance: "i" });
    await s.describe();
    await s.join("a", { instance: "i", id: "" });
    await s.note("the old id is fenced");
    await s.heartbeat("a", { id: "a.1", instance: "i" });
    await s.heartbeat("a", { id: "a.1" });
    await s.heartbeat("a", { instance: "i" });
    await s.sync("a", { instance: "i" });
    await s.sync("a", { id: "a.1", instance: "i" });
    await s.commit("a", "t:0=1", { id: "a.1", instance: "i" });
    await s.join("a", { id: "a.1", instance: "i" });
    await s.leave("a.1@i");
    await s.describe();
  },
  "a static member comes back with an old client": async (s) => {
    await s.join("a", { instance: "i", version: 8 });
    await s.sync("a", { assign: { a: "A" }, instance: "i" });
    await s.join("a", { instance: "i", id: "", version: 8 });
    await s.sync("a", { instance: "i" });
  },
  "a static follower comes back": async (s) => {
    await stable(s);
    const b = await s.join("b", { instance: "i" });
    await s.join("a");
    await s.answer(b);
    await s.sync("a", { assign: { a: "A", b: "B" } });
    await s.sync("b", { instance: "i" });
    await s.join("b", { instance: "i", id: "" });
    await s.sync("b", { instance: "i" });
    await s.note("another subscription, the same protocol: no rebalance");
    await s.join("b", { instance: "i", id: "", protocols: "range:new" });
    await s.heartbeat("a");
    await s.note("another protocol beside it: no rebalance");
    await s.join("b", { instance: "i", id: "", protocols: "rr:0 range:new" });
    await s.heartbeat("a");
    await s.describe();
  },
  "a static member comes back with another protocol": async (s) => {
    await s.join("a", { instance: "i", protocols: "range:1 rr:2" });
    await s.sync("a", { assign: { a: "A" } });
    await s.join("a", { instance: "i", id: "", protocols: "rr:2 range:1" });
    await s.describe();
  },
  "a static member comes back without a common protocol": async (s) => {
    await s.join("a", { instance: "i", protocols: "range:1" });
    await s.sync("a", { assign: { a: "A" } });
    await s.join("a", { instance: "i", id: "", protocols: "rr:2" });
  },
  "a static member comes back while its join is held": async (s) => {
    await stable(s);
    const b = await s.join("b", { instance: "i" });
    const again = await s.join("b", { instance: "i", id: "" });
    await s.answer(b);
    await s.join("a");
    await s.answer(again);
  },
  "a static member comes back while its sync is held": async (s) => {
    await stable(s);
    const b = await s.join("b", { instance: "i" });
    await s.join("a");
    await s.answer(b);
    const sync = await s.sync("b", { instance: "i" });
    const again = await s.join("b", { instance: "i", id: "" });
    await s.answer(sync);
    await s.heartbeat("a");
    await s.join("a");
    await s.answer(again);
  },
  "a static member is away during a rebalance": async (s) => {
    await s.join("a", { instance: "i", rebalanceMs: 1500 });
    await s.sync("a", { assign: { a: "A" } });
    const b = await admitted(s, "b", { rebalanceMs: 1500 });
    await s.wait(2100);
    await s.answer(b);
    await s.describe();
    await s.sync("b", { assign: { a: "A", b: "B" } });
    await s.describe();
    await s.note("it never asks for its assignment");
    await s.wait(2100);
    await s.describe();
    await s.heartbeat("b");
  },
  "only a static member that is away is left": async (s) => {
    await s.join("a", { instance: "i", rebalanceMs: 1200, sessionMs: 4500 });
    await s.sync("a", { assign: { a: "A" } });
    await admitted(s, "b", { rebalanceMs: 1200, sessionMs: 4500 });
    await s.leave("b");
    await s.describe();
    await s.wait(1800);
    await s.describe();
    await s.wait(3900);
    await s.describe();
  },
  "an administrator removes a static member": async (s) => {
    await s.join("a", { instance: "i" });
    await s.sync("a", { assign: { a: "A" } });
    await s.leave("@i");
    await s.describe();
  },
  "a group of consumers protects the offsets of its topics": async (s) => {
    await stable(s, { protocols: `range:${SUBSCRIBED_TO_T}` });
    await s.commit("a", "t:0=1 u:0=2");
    await s.deleteOffsets("t:0 u:0 u:1");
    await s.offsets("t:0 u:0");
    await s.leave("a");
    await s.deleteOffsets("t:0");
    await s.offsets(null);
  },
  "a group that is no consumer has no topics": async (s) => {
    await admitted(s, "a", { type: "connect" });
    await s.sync("a", { type: "connect", assign: { a: "A" } });
    await s.deleteOffsets("t:0");
    await s.describe();
  },
  "a simple group becomes a real one": async (s) => {
    await s.commit("z", "t:0=1");
    await s.describe();
    await s.list();
    await stable(s);
    await s.commit("z", "t:0=2");
    await s.commit("a", "t:0=3");
    await s.offsets(null);
    await s.leave("a");
    await s.commit("z", "t:0=4");
    await s.describe();
    await s.list();
    await s.delete();
    await s.offsets(null);
  },
  "a simple group joins after its offsets were deleted": async (s) => {
    await s.commit("z", "t:0=1");
    await s.deleteOffsets("t:0");
    await s.describe();
    await s.offsets(null);
  },
};

/** With a delay of 1500 ms before the first rebalance of an empty group. */
const delayed: Record<string, (s: Stage) => Promise<void>> = {
  "the first rebalance waits one delay": async (s) => {
    const a = await admitted(s, "a");
    await s.wait(900);
    await s.describe();
    await s.answer(a);
    await s.wait(400);
    await s.answer(a);
    await s.note("only the first one waits");
    await s.join("a");
  },
  "members that come prolong the delay, up to the rebalance timeout": async (s) => {
    const a = await admitted(s, "a", { rebalanceMs: 4000 });
    await s.wait(650);
    const b = await admitted(s, "b", { rebalanceMs: 4000 });
    await s.wait(850);
    const c = await admitted(s, "c", { rebalanceMs: 4000 });
    await s.wait(1150);
    await s.answer(a);
    await s.wait(650);
    await s.answer(a);
    await s.answer(b);
    await s.answer(c);
  },
  "a rebalance timeout shorter than the delay does not shorten it": async (s) => {
    const a = await admitted(s, "a", { rebalanceMs: 500 });
    await s.wait(700);
    await s.answer(a);
    await s.wait(600);
    await s.answer(a);
  },
  "a member leaves during the delay": async (s) => {
    const a = await admitted(s, "a");
    await s.leave("a");
    await s.answer(a);
    await s.describe();
    await s.wait(2000);
    await s.describe();
  },
  "an expired pending member ends the delay": async (s) => {
    const a = await admitted(s, "a");
    await s.join("b", { sessionMs: 300 });
    await s.wait(500);
    await s.answer(a);
  },
  "a pending member that leaves does not end the delay": async (s) => {
    const a = await admitted(s, "a");
    await s.join("b");
    await s.leave("b");
    await s.answer(a);
    await s.wait(1200);
    await s.answer(a);
  },
};

/** Transcript files: the initial delay that they were recorded with, and their scenarios. */
export const scenarios: readonly {
  readonly file: string;
  readonly initialDelayMs: number;
  readonly scenarios: readonly Scenario[];
}[] = [
  { file: "precedence", initialDelayMs: 0, scenarios: precedence },
  { file: "stories", initialDelayMs: 0, scenarios: named(stories) },
  { file: "initial_delay", initialDelayMs: 1500, scenarios: named(delayed) },
];

function named(plays: Record<string, (s: Stage) => Promise<void>>): Scenario[] {
  return Object.entries(plays).map(([name, play]) => ({ name, play }));
}

/** The text of a transcript file. */
export function transcript(plays: readonly { name: string; lines: readonly string[] }[]): string {
  return plays.map(({ name, lines }) => `== ${name}\n${lines.join("\n")}\n`).join("\n");
}
