/**
 * A conversation about telemetry as Kafka 4.4 held it with a receiver plugged in (telemetry.max.bytes=2000), question by
 * question: when a client may ask, when it may push, and which error goes before which.
 */
import { assertEquals } from "@std/assert/equals";
import { gzipSync } from "node:zlib";
import { ManualClock } from "../../src/base/clock.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { gauge, metricsData } from "./otlp_writer.ts";

const { NONE, INVALID_REQUEST, INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE } = ErrorCode;
const { THROTTLING_QUOTA_EXCEEDED, UNKNOWN_SUBSCRIPTION_ID, TELEMETRY_TOO_LARGE } = ErrorCode;

const app = {
  clientId: "app-1",
  softwareName: "soft",
  softwareVersion: "1.0",
  address: "127.0.0.1",
  port: "5000",
};
const s1 = new Map([
  ["metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer."],
  ["interval.ms", "1000"],
  ["match", "client_id=app-.*,client_software_name=soft"],
]);
const s2 = new Map([["metrics", "*"], ["interval.ms", "2000"]]);

/** A client over a connection of its own. */
class Talk {
  readonly clock = new ManualClock();
  readonly telemetry: Telemetry;
  readonly connection = { isOver: false };
  id = ZERO_UUID;
  subscriptionId = 0;
  private ids = 0;

  constructor(...subscriptions: ReadonlyMap<string, string>[]) {
    this.telemetry = new Telemetry(
      () => 2000,
      () => `AAAAAAAAAAAAAAAAAAAA${String(++this.ids).padStart(2, "x")}`,
    );
    this.telemetry.setSubscriptions(subscriptions);
  }

  /** Asks; the answer's error, and its metrics and interval where there is none. */
  ask(id = this.id, client = app, connection = this.connection): unknown {
    const told = this.telemetry.ask(id, client, connection, this.clock.monotonic());
    if (!("wanted" in told)) return told.errorCode;
    this.id = told.clientInstanceId;
    this.subscriptionId = told.wanted.subscriptionId;
    return [...told.wanted.metrics, told.wanted.pushIntervalMs];
  }

  push(
    more: Partial<
      { subscriptionId: number; terminating: boolean; compressionType: number; metrics: Uint8Array }
    > = {},
    id = this.id,
    connection = this.connection,
  ): number {
    const push = {
      clientInstanceId: id,
      subscriptionId: this.subscriptionId,
      terminating: false,
      compressionType: 0,
      metrics: new Uint8Array(0),
      ...more,
    };
    return this.telemetry.push(push, app, connection, this.clock.monotonic());
  }

  /** Lets an interval pass, and a little more. */
  wait(): void {
    this.clock.advance(1050);
  }
}

const wanted = ["org.apache.kafka.consumer.", "org.apache.kafka.producer.", 1000];

Deno.test("who is asked for nothing asks again after five minutes, and may push nothing at once", () => {
  const talk = new Talk();
  assertEquals(talk.ask(), [300_000]);
  assertEquals(talk.ask(), THROTTLING_QUOTA_EXCEEDED);
  assertEquals(talk.ask(ZERO_UUID), [300_000]);
  assertEquals([talk.push(), talk.push()], [NONE, THROTTLING_QUOTA_EXCEEDED]);
  talk.clock.advance(300_000);
  assertEquals(talk.ask(), [300_000]);
});

Deno.test("no client instance has the id 0 or 1", () => {
  const talk = new Talk();
  assertEquals(talk.push({}, ZERO_UUID), INVALID_REQUEST);
  assertEquals(talk.push({}, "AAAAAAAAAAAAAAAAAAAAAQ"), INVALID_REQUEST);
  assertEquals(talk.push({}, "AAAAAAAAAAAAAAAAAAAAAg"), UNKNOWN_SUBSCRIPTION_ID);
});

Deno.test("a subscription is for the clients that all of its patterns match", () => {
  const talk = new Talk(s1);
  assertEquals(talk.ask(), wanted);
  assertEquals(talk.ask(ZERO_UUID, { ...app, clientId: "other" }), [300_000]);
  assertEquals(talk.ask(ZERO_UUID, { ...app, clientId: "my-app-1" }), [300_000]);
  assertEquals(talk.ask(ZERO_UUID, { ...app, softwareName: "unknown" }), [300_000]);
});

Deno.test("a wrong subscription id lets a client ask again at once, but not push", () => {
  const talk = new Talk(s1);
  talk.ask();
  assertEquals(talk.push({ subscriptionId: talk.subscriptionId + 1 }), UNKNOWN_SUBSCRIPTION_ID);
  assertEquals([talk.ask(), talk.ask()], [wanted, THROTTLING_QUOTA_EXCEEDED]);
  assertEquals([talk.push(), talk.push()], [THROTTLING_QUOTA_EXCEEDED, THROTTLING_QUOTA_EXCEEDED]);
});

Deno.test("an unknown compression lets a client ask again at once", () => {
  const talk = new Talk(s1);
  talk.ask();
  assertEquals(talk.push({ compressionType: 9 }), UNSUPPORTED_COMPRESSION_TYPE);
  assertEquals(talk.ask(), wanted);
  assertEquals(talk.push({ compressionType: -1 }), THROTTLING_QUOTA_EXCEEDED);
});

Deno.test("a push that is too large, or cannot be read, lets a client ask again in time only", () => {
  const talk = new Talk(s1);
  talk.ask();
  assertEquals([talk.push({ metrics: new Uint8Array(2001) }), talk.ask()], [
    TELEMETRY_TOO_LARGE,
    THROTTLING_QUOTA_EXCEEDED,
  ]);
  talk.wait();
  assertEquals([talk.push({ metrics: new Uint8Array(3) }), talk.ask()], [
    INVALID_RECORD,
    THROTTLING_QUOTA_EXCEEDED,
  ]);
  talk.wait();
  assertEquals(talk.push({ compressionType: 1, metrics: new Uint8Array(30) }), INVALID_RECORD);
});

Deno.test("a push has its bound before and after it is decompressed", () => {
  const talk = new Talk(s1);
  talk.ask();
  const small = metricsData(gauge("a", 1)), large = metricsData(gauge("a".repeat(2500), 1));
  const zipped = (bytes: Uint8Array) => ({ compressionType: 1, metrics: new Uint8Array(gzipSync(bytes)) });
  assertEquals(talk.push(zipped(small)), NONE);
  talk.wait();
  assertEquals(talk.push(zipped(large)), INVALID_RECORD);
});

Deno.test("errors come in Kafka's order: time, subscription, compression, size", () => {
  const talk = new Talk(s1);
  talk.ask();
  const wrong = {
    subscriptionId: talk.subscriptionId + 5,
    compressionType: 9,
    metrics: new Uint8Array(2001),
  };
  assertEquals([talk.push(wrong), talk.push(wrong)], [UNKNOWN_SUBSCRIPTION_ID, THROTTLING_QUOTA_EXCEEDED]);
  talk.wait();
  assertEquals(talk.push({ ...wrong, subscriptionId: talk.subscriptionId }), UNSUPPORTED_COMPRESSION_TYPE);
  talk.wait();
  assertEquals(talk.push({ metrics: wrong.metrics }), TELEMETRY_TOO_LARGE);
});

Deno.test("subscriptions that change are told at the next question, which need not be in time", () => {
  const talk = new Talk(s1);
  talk.ask();
  const before = talk.subscriptionId;
  talk.telemetry.setSubscriptions([s1, s2]);
  assertEquals(talk.push(), UNKNOWN_SUBSCRIPTION_ID);
  // All metrics of one subscription, and the shorter interval of the other.
  assertEquals(talk.ask(), ["*", 1000]);
  assertEquals(talk.subscriptionId === before, false);
  assertEquals(talk.push(), THROTTLING_QUOTA_EXCEEDED);
});

Deno.test("subscriptions that come back to what they were have the same id again", () => {
  const talk = new Talk(s1);
  talk.ask();
  const before = talk.subscriptionId;
  talk.telemetry.setSubscriptions([s1, s2]);
  talk.telemetry.setSubscriptions([s1]);
  assertEquals(talk.push(), NONE);
  assertEquals(talk.subscriptionId, before);
});

Deno.test("the last push need not be in time, and nothing may come after it but a question", () => {
  const talk = new Talk(s1);
  talk.ask();
  assertEquals([talk.push(), talk.push({ terminating: true })], [NONE, NONE]);
  assertEquals([talk.push({ terminating: true }), talk.push()], [INVALID_REQUEST, INVALID_REQUEST]);
  assertEquals(talk.ask(), THROTTLING_QUOTA_EXCEEDED);
  talk.wait();
  assertEquals([talk.ask(), talk.push()], [wanted, NONE]);
});

Deno.test("a last push that is refused was the last all the same", () => {
  const talk = new Talk(s1);
  talk.ask();
  assertEquals(talk.push({ terminating: true, subscriptionId: 1 }), UNKNOWN_SUBSCRIPTION_ID);
  assertEquals(talk.push(), INVALID_REQUEST);
});

Deno.test("a client is known for as long as the connection that brought it", () => {
  const talk = new Talk(s1);
  talk.ask();
  const other = { isOver: false };
  assertEquals(talk.ask(talk.id, app, other), THROTTLING_QUOTA_EXCEEDED);
  other.isOver = true;
  assertEquals([talk.push(), talk.push()], [NONE, THROTTLING_QUOTA_EXCEEDED]);
  talk.connection.isOver = true;
  const next = { isOver: false };
  assertEquals([talk.ask(talk.id, app, next), talk.push({}, talk.id, next)], [wanted, NONE]);
});

Deno.test("a client that nobody knows may push at once what it is asked for: it asked another broker", () => {
  const talk = new Talk(s1);
  talk.ask();
  talk.connection.isOver = true;
  assertEquals(talk.push({}, talk.id, { isOver: false }), NONE);
});
