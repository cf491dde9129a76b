/** Client quotas: what DescribeClientQuotas and AlterClientQuotas take, keep and refuse. */
import { alterClientQuotas } from "../../../src/codec/messages/alter_client_quotas.ts";
import {
  describeClientQuotas,
  type DescribeClientQuotasResponse,
} from "../../../src/codec/messages/describe_client_quotas.ts";
import { type Broker, eventually, scenario } from "../scenario.ts";

/** An entity as `type=name` parts; `type=` is the default, null in the protocol. */
type Entity = Record<string, string | null>;
/** Quotas to set; null removes. */
type Quotas = Record<string, number | null>;

const EXACT = 0, DEFAULT = 1, ANY = 2;

function entry(entity: Entity | [string, string | null][], quotas: Quotas | [string, number | null][]) {
  return {
    entity: (Array.isArray(entity) ? entity : Object.entries(entity))
      .map(([entityType, entityName]) => ({ entityType, entityName })),
    ops: (Array.isArray(quotas) ? quotas : Object.entries(quotas))
      .map(([key, value]) => ({ key, value: value ?? 0, remove: value === null })),
  };
}

function altering(entries: ReturnType<typeof entry>[], validateOnly = false) {
  return { entries, validateOnly };
}

let marks = 0;

/** Waits until Kafka's broker shows what its controller took: changes come to it in their order. */
async function settled(broker: Broker): Promise<void> {
  const user = broker.name("marker"), mark = ++marks;
  await set(broker, { user }, { request_percentage: 1e6 + mark });
  await eventually("quotas are not shown", async () => {
    const shown = await broker.send(describeClientQuotas, 1, filter([["user", EXACT, user]]));
    return shown!.entries?.[0]?.values[0].value === 1e6 + mark ? true : null;
  });
}

async function set(broker: Broker, entity: Entity, quotas: Quotas) {
  await broker.send(alterClientQuotas, 1, altering([entry(entity, quotas)]));
}

type Component = [entityType: string, matchType: number, match?: string | null];

function filter(components: Component[], strict = false) {
  return {
    components: components.map(([entityType, matchType, match = null]) => ({ entityType, matchType, match })),
    strict,
  };
}

/** The answer in an order of its own: Kafka's is that of a hash table. */
function sorted(response: DescribeClientQuotasResponse) {
  const entries = response.entries?.map(({ entity, values }) => ({
    entity: entity.map(({ entityType, entityName }) => `${entityType}=${entityName}`).sort().join(", "),
    values: values.map(({ key, value }) => `${key}=${value}`).sort().join(", "),
  })).sort((a, b) => a.entity < b.entity ? -1 : 1) ?? null;
  const { throttleTimeMs, errorCode, errorMessage } = response;
  return { throttleTimeMs, errorCode, errorMessage, entries };
}

/** What was answered of those entities that this scenario made. */
function own(broker: Broker) {
  return (response: DescribeClientQuotasResponse) => {
    const { entries, ...rest } = sorted(response);
    return {
      ...rest,
      entries:
        entries?.filter(({ entity }) =>
          entity.includes(broker.name("")) && !entity.includes(broker.name("marker"))
        ) ?? null,
    };
  };
}

/** Entities come back in the order of a hash table too. */
function alterSorted(
  { throttleTimeMs, entries }: {
    throttleTimeMs: number;
    entries: {
      errorCode: number;
      errorMessage: string | null;
      entity: { entityType: string; entityName: string | null }[];
    }[];
  },
) {
  const keyed = entries.map(({ errorCode, errorMessage, entity }) => ({
    errorCode,
    errorMessage,
    entity: entity.map(({ entityType, entityName }) => `${entityType}=${entityName}`).sort().join(", "),
  }));
  return { throttleTimeMs, entries: keyed.sort((a, b) => a.entity < b.entity ? -1 : 1) };
}

function ask(broker: Broker, version: number, request: ReturnType<typeof altering>) {
  return broker.ask(alterClientQuotas, version, request, alterSorted);
}

async function describe(broker: Broker, components: Component[], strict = false, version = 1) {
  await settled(broker);
  return await broker.ask(describeClientQuotas, version, filter(components, strict), own(broker));
}

export const scenarios = [
  scenario("AlterClientQuotas sets and removes quotas of every kind of entity", async (broker) => {
    const [user, client] = [broker.name("user"), broker.name("client")];
    const all = {
      producer_byte_rate: 1e9,
      consumer_byte_rate: 2e9,
      request_percentage: 1234.5,
      controller_mutation_rate: 99.5,
    };
    const entities: Entity[] = [
      { user },
      { "client-id": client },
      { user, "client-id": client },
      { user, "client-id": null },
      { user: null, "client-id": client },
    ];
    for (const version of [0, 1]) {
      for (const entity of entities) await ask(broker, version, altering([entry(entity, all)]));
      await describe(broker, [["user", EXACT, user]], false, version);
      await describe(broker, [["client-id", EXACT, client]], false, version);
      for (const entity of entities) {
        await ask(broker, version, altering([entry(entity, { consumer_byte_rate: null })]));
      }
      await describe(broker, [["user", EXACT, user]], true, version);
      const none = Object.fromEntries(Object.keys(all).map((key) => [key, null]));
      for (const entity of entities) await ask(broker, version, altering([entry(entity, none)]));
      await describe(broker, [["user", EXACT, user]], false, version);
    }
  }),
  scenario("AlterClientQuotas answers an entry for each entity", async (broker) => {
    const [a, b] = [broker.name("a"), broker.name("b")];
    await ask(
      broker,
      1,
      altering([
        entry({ user: a }, { producer_byte_rate: 1e9 }),
        entry({ user: b }, { producer_byte_rate: 2e9 }),
      ]),
    );
    await ask(broker, 1, altering([]));
    await ask(broker, 1, altering([entry({ user: a }, {})]));
    await describe(broker, [["user", ANY]]);
    await ask(
      broker,
      1,
      altering([
        entry({ user: a }, { producer_byte_rate: null }),
        entry({ user: b }, { producer_byte_rate: null }),
      ]),
    );
    await describe(broker, [["user", ANY]]);
  }),
  scenario("AlterClientQuotas with validateOnly changes nothing", async (broker) => {
    const user = broker.name("u");
    await ask(broker, 1, altering([entry({ user }, { producer_byte_rate: 1e9 })], true));
    await describe(broker, [["user", EXACT, user]]);
    await ask(broker, 1, altering([entry({ user }, { nonsense: 1 })], true));
    await set(broker, { user }, { producer_byte_rate: 1e9 });
    await ask(broker, 1, altering([entry({ user }, { producer_byte_rate: null })], true));
    await describe(broker, [["user", EXACT, user]]);
    await set(broker, { user }, { producer_byte_rate: null });
  }),
  scenario("AlterClientQuotas refuses entities that cannot be", async (broker) => {
    const user = broker.name("u");
    const entities: [string, string | null][][] = [
      [],
      [["user", ""]],
      [["client-id", ""]],
      [["ip", ""]],
      [["group", user]],
      [["", user]],
      [["User", user]],
      [["ip", "127.0.0.1"], ["user", user]],
      [["ip", "127.0.0.1"], ["client-id", user]],
      [["ip", null], ["user", null], ["client-id", null]],
      [["user", user], ["user", user]],
      [["user", user], ["user", `${user}2`]],
      [["group", user], ["user", ""]],
      [["user", ""], ["group", user]],
    ];
    for (const entity of entities) {
      for (const version of [0, 1]) {
        await ask(broker, version, altering([entry(entity, { producer_byte_rate: 1e9 })]));
      }
    }
    await describe(broker, []);
  }),
  scenario("AlterClientQuotas takes addresses for ip and refuses what is none", async (broker) => {
    for (const ip of ["198.51.100.7", "2001:db8::7", "::ffff:198.51.100.8"]) {
      await ask(broker, 1, altering([entry({ ip }, { connection_creation_rate: 1e6 })]));
      await settled(broker);
      await broker.ask(describeClientQuotas, 1, filter([["ip", EXACT, ip]]), sorted);
      await ask(broker, 1, altering([entry({ ip }, { connection_creation_rate: null })]));
    }
    for (const ip of ["not an address", "1.2.3.4.5", "300.1.1.1", "-", "host..name", "*"]) {
      await ask(broker, 1, altering([entry({ ip }, { connection_creation_rate: 1e6 })], true));
    }
    await ask(broker, 1, altering([entry({ ip: null }, { connection_creation_rate: 1e6 })], true));
  }),
  scenario("AlterClientQuotas takes for each kind of entity its own quotas", async (broker) => {
    const user = broker.name("u");
    const keys = [
      "producer_byte_rate",
      "consumer_byte_rate",
      "request_percentage",
      "controller_mutation_rate",
      "connection_creation_rate",
      "SCRAM-SHA-256",
      "nonsense",
      "",
    ];
    const entities: Entity[] = [
      { user },
      { user: null },
      { "client-id": user },
      { "client-id": null },
      { user, "client-id": user },
      { ip: "198.51.100.9" },
      { ip: null },
    ];
    for (const entity of entities) {
      for (const key of keys) await ask(broker, 1, altering([entry(entity, { [key]: 1e9 })], true));
    }
  }),
  scenario("AlterClientQuotas judges values by the type of the quota", async (broker) => {
    const user = broker.name("u");
    const values = [
      1,
      0,
      -1,
      0.5,
      1.5,
      1.0000001,
      1.0000009,
      0.9999999,
      0.9999991,
      0.999999,
      2147483647,
      2147483648,
      2 ** 53,
      9.3e18,
      1e300,
      -1e300,
      Number.MIN_VALUE,
      Number.MAX_VALUE,
      Infinity,
      -Infinity,
      NaN,
    ];
    for (const key of ["producer_byte_rate", "request_percentage", "controller_mutation_rate"]) {
      for (const value of values) await ask(broker, 1, altering([entry({ user }, { [key]: value })], true));
    }
    for (const value of values) {
      const ip = "198.51.100.10";
      await ask(broker, 1, altering([entry({ ip }, { connection_creation_rate: value })], true));
    }
  }),
  scenario("AlterClientQuotas keeps the value as it was given", async (broker) => {
    const user = broker.name("u");
    for (const value of [1.0000001, 1e9 + 0.0000001, 2 ** 53]) {
      await set(broker, { user }, { producer_byte_rate: value });
      await describe(broker, [["user", EXACT, user]]);
    }
    await set(broker, { user }, { producer_byte_rate: null, request_percentage: 1e6 + 0.1 });
    await describe(broker, [["user", EXACT, user]]);
    await set(broker, { user }, { request_percentage: null });
  }),
  scenario("AlterClientQuotas refuses a key or an entity that comes twice", async (broker) => {
    const user = broker.name("u");
    const twice: [string, number | null][] = [["producer_byte_rate", 1e9], ["producer_byte_rate", 2e9]];
    await ask(broker, 1, altering([entry({ user }, twice)]));
    const setAndRemove: [string, number | null][] = [["producer_byte_rate", 1e9], [
      "producer_byte_rate",
      null,
    ]];
    await ask(broker, 1, altering([entry({ user }, setAndRemove)]));
    await describe(broker, [["user", EXACT, user]]);
    await ask(
      broker,
      1,
      altering([entry({ user }, { producer_byte_rate: 1e9 }), entry({ user }, { consumer_byte_rate: 1e9 })]),
    );
    await describe(broker, [["user", EXACT, user]]);
    await set(broker, { user }, { producer_byte_rate: null, consumer_byte_rate: null });
    await ask(
      broker,
      1,
      altering([
        entry({ user, "client-id": user }, { producer_byte_rate: 1e9 }),
        entry([["client-id", user], ["user", user]], { consumer_byte_rate: 1e9 }),
      ]),
    );
    await describe(broker, [["user", EXACT, user]]);
    await set(broker, { user, "client-id": user }, { producer_byte_rate: null, consumer_byte_rate: null });
  }),
  scenario("AlterClientQuotas changes entities that are right beside one that is not", async (broker) => {
    const [a, b] = [broker.name("a"), broker.name("b")];
    await ask(
      broker,
      1,
      altering([
        entry({ user: a }, { producer_byte_rate: 1e9 }),
        entry({ user: b }, { nonsense: 1 }),
        entry({ group: b }, { producer_byte_rate: 1 }),
      ]),
    );
    await describe(broker, [["user", ANY]]);
    await set(broker, { user: a }, { producer_byte_rate: null });
  }),
  scenario("AlterClientQuotas with a right and a wrong quota for one entity", async (broker) => {
    const user = broker.name("u");
    await ask(broker, 1, altering([entry({ user }, { producer_byte_rate: 1e9, nonsense: 1 })]));
    await describe(broker, [["user", EXACT, user]]);
    await ask(broker, 1, altering([entry({ user }, { nonsense: 1, consumer_byte_rate: 1e9 })]));
    await describe(broker, [["user", EXACT, user]]);
    await set(broker, { user }, { producer_byte_rate: null, consumer_byte_rate: null });
  }),
  scenario("AlterClientQuotas lets what is not set be removed", async (broker) => {
    const user = broker.name("u");
    await ask(broker, 1, altering([entry({ user }, { producer_byte_rate: null })]));
    await ask(broker, 1, altering([entry({ user }, { nonsense: null })]));
    await ask(broker, 1, altering([entry({ user }, { connection_creation_rate: null })]));
    await ask(broker, 1, altering([entry({ ip: "198.51.100.11" }, { producer_byte_rate: null })]));
    await ask(broker, 1, altering([entry({ group: user }, { producer_byte_rate: null })]));
    await describe(broker, []);
  }),
  scenario("DescribeClientQuotas matches exactly, by default and any", async (broker) => {
    const [a, b, c] = [broker.name("a"), broker.name("b"), broker.name("c")];
    const entities: Entity[] = [
      { user: a },
      { user: b },
      { "client-id": c },
      { user: a, "client-id": c },
      { user: b, "client-id": null },
      { user: null, "client-id": c },
    ];
    for (const entity of entities) await set(broker, entity, { request_percentage: 5000 });
    for (const strict of [false, true]) {
      const filters: Component[][] = [
        [],
        [["user", EXACT, a]],
        [["user", EXACT, b]],
        [["user", EXACT, "nobody"]],
        [["user", EXACT, ""]],
        [["user", DEFAULT]],
        [["user", ANY]],
        [["client-id", EXACT, c]],
        [["client-id", DEFAULT]],
        [["client-id", ANY]],
        [["user", EXACT, a], ["client-id", EXACT, c]],
        [["client-id", EXACT, c], ["user", EXACT, a]],
        [["user", EXACT, b], ["client-id", DEFAULT]],
        [["user", DEFAULT], ["client-id", EXACT, c]],
        [["user", DEFAULT], ["client-id", DEFAULT]],
        [["user", ANY], ["client-id", ANY]],
        [["user", ANY], ["client-id", EXACT, c]],
        [["user", EXACT, a], ["client-id", ANY]],
        [["ip", ANY]],
        [["ip", DEFAULT]],
        [["ip", EXACT, "198.51.100.12"]],
      ];
      for (const components of filters) await describe(broker, components, strict);
    }
    for (const entity of entities) await set(broker, entity, { request_percentage: null });
  }),
  scenario("DescribeClientQuotas refuses filters that contradict themselves", async (broker) => {
    const filters: Component[][] = [
      [["", ANY]],
      [["group", ANY]],
      [["USER", EXACT, "a"]],
      [["user", EXACT, null]],
      [["user", DEFAULT, "a"]],
      [["user", DEFAULT, ""]],
      [["user", ANY, "a"]],
      [["user", 3]],
      [["user", -1]],
      [["user", 3, "a"]],
      [["user", ANY], ["user", ANY]],
      [["user", EXACT, "a"], ["user", EXACT, "b"]],
      [["user", EXACT, "a"], ["user", 9]],
      [["group", ANY], ["group", ANY]],
      [["group", 9]],
      [["ip", ANY], ["user", ANY]],
      [["ip", EXACT, "a"], ["client-id", DEFAULT]],
      [["ip", ANY], ["user", 9]],
      [["ip", ANY], ["ip", ANY]],
      [["user", ANY], ["", ANY]],
    ];
    for (const components of filters) {
      for (const version of [0, 1]) {
        await broker.ask(describeClientQuotas, version, filter(components), sorted);
      }
    }
  }),
];
