import { assertEquals } from "@std/assert/equals";
import { encodeHex } from "../../src/base/hex.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { decodeFact, encodeFact, type GroupsFact } from "../../src/coordinators/groups/facts.ts";

const key = { group: "g", topic: "t", partition: 1 };
const value = {
  offset: 42,
  leaderEpoch: 3,
  metadata: "m",
  commitTimestamp: 1_700_000_000_000,
  expireTimestamp: -1,
  topicId: ZERO_UUID,
};
const metadata = {
  protocolType: "consumer",
  generation: 7,
  protocol: "range",
  leader: "a",
  currentStateTimestamp: 1_700_000_000_000,
  members: [{
    memberId: "a",
    groupInstanceId: "i",
    clientId: "c",
    clientHost: "/127.0.0.1",
    rebalanceTimeout: 60_000,
    sessionTimeout: 10_000,
    subscription: new Uint8Array([1, 2]),
    assignment: new Uint8Array([3]),
  }],
};

const facts: Record<string, { fact: GroupsFact; type: number; version: number | null }> = {
  "an offset": { fact: { type: "offsetCommit", key, value }, type: 1, version: 3 },
  "an offset of a topic with an id": {
    fact: { type: "offsetCommit", key, value: { ...value, topicId: "tcFOXxaqS9qulAHpvLg5uQ" } },
    type: 1,
    version: 4,
  },
  "an offset with an expiry": {
    fact: { type: "offsetCommit", key, value: { ...value, leaderEpoch: -1, expireTimestamp: 9 } },
    type: 1,
    version: 1,
  },
  "a deleted offset": { fact: { type: "offsetCommit", key, value: null }, type: 1, version: null },
  "a group": { fact: { type: "groupMetadata", key: { group: "g" }, value: metadata }, type: 2, version: 3 },
  "a group nobody joined": {
    fact: {
      type: "groupMetadata",
      key: { group: "g" },
      value: { ...metadata, protocolType: "", generation: 0, protocol: null, leader: null, members: [] },
    },
    type: 2,
    version: 3,
  },
  "a deleted group": {
    fact: { type: "groupMetadata", key: { group: "g" }, value: null },
    type: 2,
    version: null,
  },
};

for (const [name, { fact, type, version }] of Object.entries(facts)) {
  Deno.test(`facts survive their bytes, in the version that Kafka writes: ${name}`, () => {
    const record = encodeFact(fact);
    assertEquals(decodeFact(record), fact);
    assertEquals(record.key[1], type);
    assertEquals(record.value?.[1] ?? null, version);
  });
}

Deno.test("encodeFact() gives the bytes that Kafka 4.4 wrote for the same facts", () => {
  // From the __consumer_offsets of a broker that got this one commit.
  const commit: GroupsFact = {
    type: "offsetCommit",
    key: { group: "v10", topic: "t", partition: 0 },
    value: {
      ...value,
      offset: 5,
      leaderEpoch: -1,
      metadata: "",
      commitTimestamp: 1_795_981_702_301,
      topicId: "tcFOXxaqS9qulAHpvLg5uQ",
    },
  };
  const { key, value: bytes } = encodeFact(commit);
  assertEquals(encodeHex(key), "0001" + "0003763130" + "000174" + "00000000");
  assertEquals(
    encodeHex(bytes!),
    "0004" + "0000000000000005" + "ffffffff" + "01" + "000001a228d9f49d" + "0100" +
      "10b5c14e5f16aa4bdaae9401e9bcb839b9",
  );
});

Deno.test("decodeFact() reads older versions of a group's record", () => {
  const text = (s: string) => [0, s.length, ...new TextEncoder().encode(s)];
  const bytes = (...b: number[]) => [0, 0, 0, b.length, ...b];
  const version0 = new Uint8Array([
    ...[0, 0],
    ...text("consumer"),
    ...[0, 0, 0, 7],
    ...text("range"),
    ...text("a"),
    ...[0, 0, 0, 1],
    ...text("a"),
    ...text("c"),
    ...text("/h"),
    ...[0, 0, 0x27, 0x10],
    ...bytes(1, 2),
    ...bytes(3),
  ]);
  const fact = decodeFact({ key: encodeFact(facts["a group"].fact).key, value: version0 });
  assertEquals(fact, {
    type: "groupMetadata",
    key: { group: "g" },
    value: {
      ...metadata,
      currentStateTimestamp: -1,
      members: [{
        ...metadata.members[0],
        groupInstanceId: null,
        clientHost: "/h",
        // The session's timeout stands in for the one that is not there.
        rebalanceTimeout: 10_000,
      }],
    },
  });
});

Deno.test("decodeFact() knows nothing of records of other kinds of groups", () => {
  assertEquals(decodeFact({ key: new Uint8Array([0, 3, 0, 1, 65]), value: null }), null);
  assertEquals(decodeFact({ key: null, value: null }), null);
});
