/** Metadata where versions differ; what it says of topics is compared with Kafka's answers in tests/differential. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { freePortBroker } from "../lib/broker.ts";
import { allTopics, TestClient } from "../protocol/requests.ts";

Deno.test("Metadata 10 and 11 refuse topic ids, which their answers cannot name, and 12 takes them", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  const topicId = await client.createTopic("t");
  const unknown = "AAAAAAAAAAAAAAAAAAAABA";
  const ask = async (version: number, topics: { topicId: string; name: string | null }[]) => {
    const answer = await client.send(metadata, version, { ...allTopics, topics });
    return answer.topics.map((t) => [t.errorCode, t.name, t.topicId]);
  };
  for (const version of [10, 11]) {
    for (const id of [topicId, unknown]) {
      assertEquals(await ask(version, [{ topicId: id, name: null }]), [[ErrorCode.INVALID_REQUEST, "", id]]);
    }
    // One of them is enough to refuse the others with it.
    const mixed = await ask(version, [{ topicId: ZERO_UUID, name: "t" }, { topicId: unknown, name: "x" }]);
    assertEquals(mixed.map(([error]) => error), [ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST]);
    assertEquals(await ask(version, [{ topicId: ZERO_UUID, name: "t" }]), [[ErrorCode.NONE, "t", topicId]]);
  }
  assertEquals(await ask(12, [{ topicId, name: null }]), [[ErrorCode.NONE, "t", topicId]]);
  assertEquals(await ask(12, [{ topicId: unknown, name: null }]), [[
    ErrorCode.UNKNOWN_TOPIC_ID,
    null,
    unknown,
  ]]);
});

Deno.test("Metadata 0 asks for all topics with an empty list, later versions with null", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  for (const name of ["a", "b"]) await client.createTopic(name);
  const ask = async (version: number, topics: [] | null) => {
    const answer = await client.send(metadata, version, { ...allTopics, topics });
    return answer.topics.map((t) => t.name).sort();
  };
  assertEquals(await ask(0, []), ["a", "b"]);
  for (const version of [1, 8, 13]) {
    assertEquals([await ask(version, []), await ask(version, null)], [[], ["a", "b"]]);
  }
});

Deno.test("Metadata of all topics tells of each change at once, though it is written once for all who ask", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await using other = await TestClient.to(broker);
  const ask = async (who: TestClient, fields: Partial<typeof allTopics> = {}) => {
    const answer = await who.send(metadata, 8, { ...allTopics, topics: null, ...fields });
    return answer.topics.map((t) => `${t.name} ${t.topicAuthorizedOperations}`).sort();
  };
  const omitted = -(2 ** 31);
  assertEquals(await ask(client), []);
  await client.createTopic("a");
  assertEquals([await ask(client), await ask(other)], [[`a ${omitted}`], [`a ${omitted}`]]);
  await client.createTopic("b");
  assertEquals([await ask(client), await ask(other)], Array(2).fill([`a ${omitted}`, `b ${omitted}`]));
  const [withOperations] = await ask(client, { includeTopicAuthorizedOperations: true });
  assertEquals(withOperations === `a ${omitted}`, false);
  await client.deleteTopic("a");
  assertEquals([await ask(other), await ask(client)], [[`b ${omitted}`], [`b ${omitted}`]]);
});
