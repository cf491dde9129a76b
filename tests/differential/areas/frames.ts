/** Frames as they come: headers, sizes, unknown calls, what is cut off or left over, and ApiVersions, which comes first. */
import { apiVersions } from "../../../src/codec/messages/api_versions.ts";
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { findCoordinator } from "../../../src/codec/messages/find_coordinator.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { listGroups } from "../../../src/codec/messages/list_groups.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { type Broker, scenario } from "../scenario.ts";
import { newGroup } from "../setup/groups.ts";
import { fetching, joinedBytes } from "../setup/records.ts";
import { createTopic, creating, metadataOf } from "../setup/topics.ts";

/** The frame with its size set to what it has. */
function sized(...parts: (Uint8Array | number[])[]): Uint8Array {
  const bytes = new Uint8Array(parts.flatMap((part) => [...part]));
  new DataView(bytes.buffer).setInt32(0, bytes.length - 4);
  return bytes;
}

/** Bytes of text with a length of 16 bits before it, as old versions have it. */
const text = (value: string) => [value.length >> 8, value.length & 255, ...new TextEncoder().encode(value)];

const int32 = (value: number) => [value >> 24, value >> 16, value >> 8, value].map((byte) => byte & 255);

/** Size (to be set), key, version, correlation id, and the client id unless `clientId` has its bytes. */
function header(key: number, version: number, clientId: number[] = text("me")): number[] {
  return [0, 0, 0, 0, key >> 8, key & 255, version >> 8, version & 255, 0x7a, 0x7a, 0x7a, 0x7a, ...clientId];
}

/** Only whether there was an answer: what it says is another scenario's. */
const answered = () => "answered";

/** Whether the connection still serves, which a frame before it may have ended. */
async function stillServed(broker: Broker): Promise<void> {
  await broker.ask(apiVersions, 0, { clientSoftwareName: "", clientSoftwareVersion: "" }, answered);
}

const METADATA = 3, HEARTBEAT = 12, LIST_GROUPS = 16, API_VERSIONS = 18;

export const scenarios = [
  scenario("A frame of an API that there is not closes the connection", async (broker) => {
    for (const key of [-1, 4, 5, 6, 7, 999, 32767]) {
      await broker.askRaw(`key ${key}`, sized(header(key, 0)), answered);
    }
  }),
  scenario("Frames of calls among brokers and controllers close the connection", async (broker) => {
    for (const key of [52, 53, 54, 56, 58, 59, 62, 63, 64, 67, 70, 73, 82]) {
      await broker.askRaw(`key ${key}`, sized(header(key, 0), [0, 0, 0, 0, 0, 0, 0, 0]), answered);
    }
  }),
  scenario("A flexible version with the header of an old one, and the other way round", async (broker) => {
    const body = [2, 103, 0, 0, 0, 1, 2, 109, 0, 0];
    await broker.askRaw("Heartbeat v4, right", sized(header(HEARTBEAT, 4), [0], body), answered);
    await broker.askRaw("Heartbeat v4 without tags", sized(header(HEARTBEAT, 4), body), answered);
    const old = [...text("g"), 0, 0, 0, 1, ...text("m")];
    await broker.askRaw("Heartbeat v0, right", sized(header(HEARTBEAT, 0), old), answered);
    await broker.askRaw("Heartbeat v0 with tags", sized(header(HEARTBEAT, 0), [0], old), answered);
  }),
  scenario("A frame of a version that there is not closes the connection", async (broker) => {
    for (const [key, version] of [[METADATA, 14], [METADATA, -1], [HEARTBEAT, 5], [HEARTBEAT, 32767]]) {
      await broker.askRaw(
        `key ${key} v${version}`,
        sized(header(key, version), [0, 0, 0, 0, 0, 0]),
        answered,
      );
    }
  }),
  scenario("ApiVersions of any unknown version is answered in version 0 with error 35", async (broker) => {
    for (const version of [6, 99, 32767]) {
      await broker.askRaw(`v${version}`, sized(header(API_VERSIONS, version), [0, 0, 0, 0]));
    }
    await broker.askRaw("v-1", sized(header(API_VERSIONS, -1), [0, 0, 0, 0]));
    await broker.askRaw("v99 with the header of v0", sized(header(API_VERSIONS, 99)));
    await broker.askRaw("v99 with a body", sized(header(API_VERSIONS, 99), [0, 1, 2, 3, 4, 5, 6, 7, 8]));
  }),
  scenario("ApiVersions in every version", async (broker) => {
    const named = { clientSoftwareName: "apache-kafka-java", clientSoftwareVersion: "4.4.0" };
    for (const version of [0, 1, 2, 3, 4, 5]) {
      await broker.ask(apiVersions, version, named, ({ apiKeys: _, ...rest }) => ({
        ...rest,
        supportedFeatures: null,
        finalizedFeatures: null,
        finalizedFeaturesEpoch: null,
      }));
    }
  }),
  scenario("ApiVersions judges the name and the version of the client", async (broker) => {
    const names = ["a", "1", "a.b", "a-b", "a_b", "-a", "a-", ".a", "a.", "a b", "", "ä", "A".repeat(300)];
    const errorCode = (r: { errorCode: number }) => r.errorCode;
    for (const text of names) {
      const asName = { clientSoftwareName: text, clientSoftwareVersion: "1" };
      await broker.ask(apiVersions, 3, asName, errorCode, `name ${text}`);
      const asVersion = { clientSoftwareName: "a", clientSoftwareVersion: text };
      await broker.ask(apiVersions, 4, asVersion, errorCode, `version ${text}`);
    }
  }),
  scenario("ApiVersions 5 for another cluster or broker", async (broker) => {
    const named = { clientSoftwareName: "a", clientSoftwareVersion: "1" };
    const errorCode = (r: { errorCode: number }) => r.errorCode;
    for (const clusterId of [null, "", "another"]) {
      for (const nodeId of [-1, 1, 2]) {
        await broker.ask(
          apiVersions,
          5,
          { ...named, clusterId, nodeId },
          errorCode,
          `${clusterId} ${nodeId}`,
        );
      }
    }
  }),
  scenario("Bytes behind a request are let pass", async (broker) => {
    const group = broker.name("none");
    const beat = broker.frame(heartbeat, 0, { groupId: group, generationId: 1, memberId: "m" });
    await broker.askRaw("Heartbeat v0", sized(beat, [1, 2, 3]), answered);
    const flexible = broker.frame(heartbeat, 4, { groupId: group, generationId: 1, memberId: "m" });
    await broker.askRaw("Heartbeat v4", sized(flexible, [1, 2, 3]), answered);
    await broker.askRaw("ApiVersions v0", sized(header(API_VERSIONS, 0), [9, 9]), answered);
    await stillServed(broker);
  }),
  scenario("A request that is cut off closes the connection", async (broker) => {
    const group = broker.name("none");
    for (const version of [0, 4]) {
      const frame = broker.frame(heartbeat, version, { groupId: group, generationId: 1, memberId: "m" });
      for (const missing of [1, 2, 5]) {
        const label = `Heartbeat v${version} without its last ${missing}`;
        await broker.askRaw(label, sized(frame.subarray(0, frame.length - missing)), answered);
      }
    }
  }),
  scenario("Frames that are too short for a header close the connection", async (broker) => {
    await broker.askRaw("nothing", sized([0, 0, 0, 0]), answered);
    await broker.askRaw("a key", sized(header(METADATA, 1).slice(0, 6)), answered);
    await broker.askRaw("key and version", sized(header(METADATA, 1).slice(0, 8)), answered);
    await broker.askRaw("half an id", sized(header(METADATA, 1).slice(0, 10)), answered);
    await broker.askRaw("no client id", sized(header(LIST_GROUPS, 0, [])), answered);
  }),
  scenario("Frames with a negative or an enormous size close the connection", async (broker) => {
    for (const size of [-1, -(2 ** 31), 100 * 1024 * 1024 + 1, 2 ** 31 - 1]) {
      const frame = sized(header(API_VERSIONS, 0));
      new DataView(frame.buffer).setInt32(0, size);
      await broker.askRaw(`size ${size}`, frame, answered);
    }
  }),
  scenario("The client id may be null, empty and long, and must not be cut off", async (broker) => {
    await broker.askRaw("null", sized(header(API_VERSIONS, 0, [255, 255])), answered);
    await broker.askRaw("empty", sized(header(API_VERSIONS, 0, [0, 0])), answered);
    await broker.askRaw("long", sized(header(API_VERSIONS, 0, text("x".repeat(5000)))), answered);
    await broker.askRaw("not UTF-8", sized(header(API_VERSIONS, 0, [0, 2, 0xc3, 0x28])), answered);
    await broker.askRaw("longer than the frame", sized(header(API_VERSIONS, 0, [0, 9, 65])), answered);
    await broker.askRaw("length -2", sized(header(API_VERSIONS, 0, [255, 254])), answered);
  }),
  scenario("Tagged fields of headers and bodies that nobody knows are let pass", async (broker) => {
    const unknownTag = [1, 77, 3, 1, 2, 3];
    const body = [2, 97, 2, 49];
    await broker.askRaw("in the header", sized(header(API_VERSIONS, 3), unknownTag, body, [0]), answered);
    await broker.askRaw("in the body", sized(header(API_VERSIONS, 3), [0], body, unknownTag), answered);
    await broker.askRaw(
      "longer than the frame",
      sized(header(API_VERSIONS, 3), [0], body, [1, 77, 90, 1]),
      answered,
    );
    await broker.askRaw(
      "more than there are",
      sized(header(API_VERSIONS, 3), [0], body, [9, 77, 1, 1]),
      answered,
    );
  }),
  scenario("Tagged fields must come in order and once", async (broker) => {
    const body = [2, 97, 2, 49];
    await broker.askRaw(
      "twice",
      sized(header(API_VERSIONS, 3), [0], body, [2, 77, 1, 1, 77, 1, 1]),
      answered,
    );
    await broker.askRaw(
      "out of order",
      sized(header(API_VERSIONS, 3), [0], body, [2, 78, 1, 1, 77, 1, 1]),
      answered,
    );
  }),
  scenario("Text that is null where there must be one closes the connection", async (broker) => {
    await broker.askRaw("group", sized(header(HEARTBEAT, 0), [255, 255], [0, 0, 0, 1], text("m")), answered);
    await broker.askRaw(
      "length -2",
      sized(header(HEARTBEAT, 0), [255, 254], [0, 0, 0, 1], text("m")),
      answered,
    );
    await broker.askRaw(
      "compact",
      sized(header(HEARTBEAT, 4), [0], [0], [0, 0, 0, 1], [2, 109], [0], [0]),
      answered,
    );
  }),
  scenario(
    "Lists that are null where there must be one, or longer than the frame, close the connection",
    async (broker) => {
      const DESCRIBE_GROUPS = 15;
      for (const count of [-1, -2, 5, 2 ** 31 - 1]) {
        await broker.askRaw(`${count} groups`, sized(header(DESCRIBE_GROUPS, 0), int32(count)), answered);
      }
      await broker.askRaw("compact null", sized(header(DESCRIBE_GROUPS, 5), [0], [0], [0], [0]), answered);
      await broker.askRaw("compact, 9", sized(header(DESCRIBE_GROUPS, 5), [0], [10], [0], [0]), answered);
      await broker.askRaw("null topics, Metadata v0", sized(header(METADATA, 0), int32(-1)), answered);
    },
  ),
  scenario("Metadata 1 of a null list, as of an empty one", async (broker) => {
    await broker.askRaw("null", sized(header(METADATA, 1), int32(-1)), answered);
    await broker.askRaw("length -2", sized(header(METADATA, 1), int32(-2)), answered);
    await broker.askRaw("empty", sized(header(METADATA, 1), int32(0)), answered);
  }),
  scenario("Lengths of compact text that go on for ever close the connection", async (broker) => {
    const endless = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80];
    await broker.askRaw("six bytes", sized(header(HEARTBEAT, 4), [0], endless, [1]), answered);
    await broker.askRaw("2^31", sized(header(HEARTBEAT, 4), [0], [0x80, 0x80, 0x80, 0x80, 0x08]), answered);
  }),
  scenario("A boolean is anything but 0", async (broker) => {
    const topics = int32(0);
    for (const byte of [0, 1, 2, 255]) {
      await broker.askRaw(`${byte}`, sized(header(METADATA, 4), topics, [byte]), answered);
    }
  }),
  scenario("Text that is not UTF-8 is taken", async (broker) => {
    const group = [0, 4, 0xff, 0xfe, 0xc3, 0x28];
    await broker.askRaw("group", sized(header(HEARTBEAT, 0), group, [0, 0, 0, 1], text("m")), answered);
    await broker.askRaw("topic", sized(header(METADATA, 4), int32(1), group, [0]), answered);
  }),
  scenario("Requests are answered in their order, however many are sent at once", async (broker) => {
    const topic = await createTopic(broker, "t");
    const order: string[] = [];
    await broker.client();
    const asked = [
      broker.send(fetch, 11, fetching(topic, [{ fetchOffset: 0n }], { maxWaitMs: 50 })).then(() =>
        order.push("fetch")
      ),
      broker.send(metadata, 12, metadataOf([topic])).then(() => order.push("metadata")),
      broker.send(fetch, 11, fetching(topic, [{ fetchOffset: 9n }])).then(() => order.push("another fetch")),
      broker.send(findCoordinator, 4, { key: "", coordinatorKeys: [topic] }).then(() =>
        order.push("coordinator")
      ),
    ];
    await Promise.all(asked);
    broker.note("order", order);
  }),
  scenario("What may be null and is not has any byte from 0 on before it", async (broker) => {
    const DESCRIBE_TOPIC_PARTITIONS = 75;
    const topic = [2, 5, ...new TextEncoder().encode("none"), 0];
    const cursor = [5, ...new TextEncoder().encode("none"), 0, 0, 0, 0, 0];
    for (const mark of [255, 254, 128, 0, 1, 2, 127]) {
      const body = [...topic, ...int32(10), mark, ...(mark >= 128 ? [] : cursor), 0];
      await broker.askRaw(`${mark}`, sized(header(DESCRIBE_TOPIC_PARTITIONS, 0), [0], body));
    }
  }),
  scenario("Frames may come in pieces, and several in one", async (broker) => {
    const client = await broker.client();
    const frame = sized(header(API_VERSIONS, 0));
    const answer = client.roundTrip(0x7a7a7a7a, frame.subarray(0, 5));
    for (const byte of frame.subarray(5)) await client.write(new Uint8Array([byte]));
    broker.note("byte by byte", (await answer).length > 4);
    const second = frame.slice();
    second[11] = 0x7b;
    const both = [
      client.roundTrip(0x7a7a7a7a, joinedBytes(frame, second)),
      client.roundTrip(0x7a7a7a7b, frame.subarray(0, 0)),
    ];
    broker.note("two in one", (await Promise.all(both)).map((bytes) => bytes[3]));
  }),
  scenario("The oldest and the newest version of a call side by side on one connection", async (broker) => {
    const group = await newGroup(broker);
    await broker.ask(listGroups, 0, { statesFilter: [], typesFilter: [] }, (r) => r.errorCode);
    await broker.ask(listGroups, 5, { statesFilter: [], typesFilter: [] }, (r) => r.errorCode);
    await broker.ask(describeGroups, 0, { groups: [group], includeAuthorizedOperations: false });
    await broker.ask(describeGroups, 6, { groups: [group], includeAuthorizedOperations: false });
    await broker.ask(findCoordinator, 0, { key: group, coordinatorKeys: [] });
    await broker.ask(findCoordinator, 6, { key: "", coordinatorKeys: [group] });
    await broker.ask(createTopics, 2, { topics: [creating("a b")] });
    await broker.ask(createTopics, 7, { topics: [creating("a b")] });
    await broker.ask(joinGroup, 0, {
      groupId: "",
      sessionTimeoutMs: 1,
      memberId: "",
      protocolType: "",
      protocols: [],
    });
    await broker.ask(joinGroup, 9, {
      groupId: "",
      sessionTimeoutMs: 1,
      memberId: "",
      protocolType: "",
      protocols: [],
    });
  }),
];
