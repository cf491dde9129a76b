/** The settings tables against Kafka 4.4's own, and the few places where they differ on purpose. */
import { assertEquals } from "@std/assert/equals";
import { brokerRows } from "../../src/config/broker.ts";
import { groupRows } from "../../src/config/group.ts";
import type { Setting, SettingTable } from "../../src/config/setting.ts";
import { topicRows } from "../../src/config/topic.ts";
import { type KafkaSetting, kafkaSettings } from "./kafka.ts";

/** Defaults that Trackway has chosen differently; the rows say why. */
const otherDefaults: Readonly<Record<string, string>> = {
  "listeners": "PLAINTEXT://localhost:9092",
  "node.id": "1",
  "log.dir": "./data",
  "group.initial.rebalance.delay.ms": "0",
  "queued.max.request.bytes": "268435456",
};

/** Settings that Kafka can change while it runs and Trackway only reads at start. */
const readAtStart = ["listeners", "listener.security.protocol.map"];

/** Internal ones that are taken all the same, as in Kafka. */
const settable =
  /^internal\.segment\.bytes$|\.assignor\.offload\.enable$|^streams\.(task\.offset|num\.warmup|acceptable)\./;

function listed(kind: KafkaSetting["kind"]): KafkaSetting[] {
  return kafkaSettings(kind).filter(({ name, internal }) => !internal || settable.test(name));
}

Deno.test("topic settings have Kafka's names in Kafka's order", () => {
  assertEquals(Object.keys(topicRows), listed("topic").map(({ name }) => name));
});

Deno.test("group settings have Kafka's names in Kafka's order", () => {
  assertEquals(Object.keys(groupRows), listed("group").map(({ name }) => name));
});

/** Kafka has these beside its table, since they are only ever set while the broker runs. */
const dynamicOnly = [
  "leader.replication.throttled.rate",
  "follower.replication.throttled.rate",
  "replica.alter.log.dirs.io.max.bytes.per.second",
];

Deno.test("every broker setting is Kafka's or begins with trackway.", () => {
  const known = new Set([...kafkaSettings("broker").map(({ name }) => name), ...dynamicOnly]);
  const made = Object.keys(brokerRows).filter((name) => !known.has(name) && !name.startsWith("trackway."));
  assertEquals(made, []);
});

for (
  const [kind, table] of [["topic", topicRows], ["group", groupRows], ["broker", brokerRows]] as [
    KafkaSetting["kind"],
    SettingTable,
  ][]
) {
  const pairs = kafkaSettings(kind).filter(({ name }) => Object.hasOwn(table, name)).map((kafka) =>
    [kafka, table[kafka.name]] as const
  );

  Deno.test(`${kind} settings have Kafka's types and defaults`, () => {
    const mine = pairs.map(([{ name }, row]) => [name, row.type, row.defaultText]);
    const theirs = pairs.map((
      [{ name, type, default: value }],
    ) => [name, type, otherDefaults[name] ?? value]);
    assertEquals(mine, theirs);
  });

  Deno.test(`${kind} settings allow what Kafka allows, to the last number`, () => {
    for (const [kafka, row] of pairs) {
      for (const [text, allowed] of probes(kafka)) {
        assertEquals([kafka.name, text, !("error" in row.parse(text))], [kafka.name, text, allowed]);
      }
    }
  });

  Deno.test(`${kind} settings explain themselves in one sentence`, () => {
    const bad = Object.entries(table).filter(([, row]) => !/^[a-zA-Z].{8,200}\.$/.test(row.doc));
    assertEquals(bad.map(([name, row]) => [name, row.doc]), []);
  });
}

Deno.test("topic settings fall back on the broker settings that Kafka falls back on", () => {
  for (const { name, standIns, internal } of listed("topic")) {
    if (internal) continue;
    const row = topicRows[name as keyof typeof topicRows] as Setting<unknown>;
    const [first] = row.synonyms;
    const chain = first
      ? [first.name, ...(brokerRows as SettingTable)[first.name].synonyms.map((synonym) => synonym.name)]
      : [];
    assertEquals([name, chain], [name, [...standIns]]);
  }
});

Deno.test("every synonym is a broker setting", () => {
  for (const table of [topicRows, groupRows, brokerRows] as SettingTable[]) {
    for (const row of Object.values(table)) {
      for (const { name } of row.synonyms) {
        assertEquals([name, Object.hasOwn(brokerRows, name)], [name, true]);
      }
    }
  }
});

Deno.test("broker settings may change when Kafka's may", () => {
  for (const { name, update } of kafkaSettings("broker")) {
    const row = (brokerRows as SettingTable)[name];
    if (row) assertEquals([name, row.update], [name, readAtStart.includes(name) ? "read-only" : update]);
  }
});

/** Dynamic settings of what is not served yet. */
const awaited = [
  "errors.deadletterqueue.auto.create.topics.enable",
  "errors.deadletterqueue.topic.name.prefix",
];

Deno.test("a setting that may change while the broker runs is asked for somewhere, or said to be without effect", () => {
  const inherited = new Set(
    [topicRows, groupRows].flatMap((table) =>
      Object.values(table as SettingTable).flatMap((row) => row.synonyms.map(({ name }) => name))
    ),
  );
  const source = [...sourceFiles(new URL("../../src/", import.meta.url))].join("\n");
  const idle = Object.entries(brokerRows as SettingTable).filter(([name, row]) =>
    row.update !== "read-only" && !row.unused && !inherited.has(name) && !source.includes(`get("${name}")`)
  );
  assertEquals(idle.map(([name]) => name), awaited);
});

/** The text of every source file outside of the tables. */
function* sourceFiles(directory: URL): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    if (isDirectory && name !== "config") yield* sourceFiles(new URL(`${name}/`, directory));
    else if (name.endsWith(".ts")) yield Deno.readTextFileSync(new URL(name, directory));
  }
}

/** Texts at the edges of what Kafka allows, each with whether it is inside. */
function probes({ type, allowed }: KafkaSetting): [string, boolean][] {
  const range = /^\[(-?\d+),\.\.\.(?:,(-?\d+))?\](?: or (-?\d+))?$/.exec(allowed);
  const bits = { short: 16n, int: 32n, long: 64n }[type];
  const result: [string, boolean][] = [];
  if (range && type !== "double") {
    const [min, max] = [BigInt(range[1]), range[2] === undefined ? undefined : BigInt(range[2])];
    result.push([`${min}`, true], [`${min - 1n}`, range[3] === `${min - 1n}`]);
    if (max !== undefined) result.push([`${max}`, true], [`${max + 1n}`, false]);
    if (range[3] !== undefined) result.push([range[3], true]);
  }
  if (range && type === "double") {
    result.push([range[1], true], ["-0.001", false], [`${range[2]}.001`, false]);
  }
  if (bits !== undefined) {
    const highest = 2n ** (bits - 1n) - 1n;
    if (!range?.[2]) result.push([`${highest}`, true]);
    result.push([`${highest + 1n}`, false], ["1.5", false], ["x", false], ["", false]);
  }
  if (type === "boolean") result.push(["true", true], ["FALSE", true], ["1", false], ["", false]);
  const choices = /^(?:\(case insensitive\) )?\[([a-zA-Z_]+(?:, [a-zA-Z_]+)*)\]$/.exec(allowed)?.[1].split(
    ", ",
  );
  for (const choice of choices ?? []) result.push([choice, true], [`${choice}x`, false]);
  return result;
}
