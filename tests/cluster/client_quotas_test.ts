/**
 * Client quotas as decisions. Codes were observed at Apache Kafka 4.4.0; tests/differential/areas/quotas.ts holds the
 * whole of it against recordings.
 */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { errorName } from "../../src/codec/errors.ts";
import {
  describeQuotas,
  entityKey,
  MatchType,
  parseEntityKey,
  planAlterQuotas,
  type QuotaAlteration,
  type QuotaEntity,
} from "../../src/cluster/client_quotas.ts";
import { checkMetadata } from "../../src/cluster/check.ts";
import { addressesOf } from "../../src/cluster/ip_addresses.ts";
import { CorruptRow, parseQuotaRow, quotaRow } from "../../src/cluster/rows.ts";
import { SqliteStore } from "../../src/cluster/sqlite.ts";
import { quotaImage } from "../quotas/support.ts";

type Part = [entityType: string, entityName: string | null];

/** An entry of a request; null removes a quota. */
function alteration(parts: Part[], ops: [key: string, value: number | null][]): QuotaAlteration {
  return {
    entity: parts.map(([entityType, entityName]) => ({ entityType, entityName })),
    ops: ops.map(([key, value]) => ({ key, value: value ?? 0, remove: value === null })),
  };
}

function outcomeOf(alterations: QuotaAlteration[], current = quotaImage()) {
  const { results, changed } = planAlterQuotas(current, alterations);
  return {
    codes: results.map(({ errorCode }) => errorName(errorCode)),
    changed: [...changed].map(([key, quotas]) => [key, Object.fromEntries(quotas)]),
  };
}

Deno.test("planAlterQuotas() gives all quotas that an entity will have, under one key for any order of its parts", () => {
  const current = quotaImage([{ user: "ada", "client-id": null }, {
    producer_byte_rate: 1,
    consumer_byte_rate: 2,
  }]);
  const parts: Part[] = [["client-id", null], ["user", "ada"]];
  assertEquals(
    outcomeOf([alteration(parts, [["producer_byte_rate", null], ["request_percentage", 0.5]])], current),
    {
      codes: ["NONE"],
      changed: [['{"user":"ada","client-id":null}', { consumer_byte_rate: 2, request_percentage: 0.5 }]],
    },
  );
});

Deno.test("planAlterQuotas() writes nothing where nothing changes", () => {
  const current = quotaImage([{ user: "ada" }, { producer_byte_rate: 1 }]);
  const alterations = [
    alteration([["user", "ada"]], [["producer_byte_rate", 1]]),
    alteration([["user", "bob"]], [["producer_byte_rate", null]]),
    alteration([["user", "eve"]], []),
  ];
  assertEquals(outcomeOf(alterations, current), { codes: ["NONE", "NONE", "NONE"], changed: [] });
});

Deno.test("planAlterQuotas() changes an entity as a whole or not at all, and others beside it", () => {
  const alterations = [
    alteration([["user", "ada"]], [["producer_byte_rate", 1], ["nonsense", 1]]),
    alteration([["user", "bob"]], [["producer_byte_rate", 1]]),
  ];
  assertEquals(outcomeOf(alterations), {
    codes: ["INVALID_REQUEST", "NONE"],
    changed: [['{"user":"bob"}', { producer_byte_rate: 1 }]],
  });
});

Deno.test("planAlterQuotas() goes by the first of two entries for an entity, and answers the second", () => {
  const alterations = [
    alteration([["user", "ada"]], [["producer_byte_rate", 1]]),
    alteration([["user", "ada"]], [["producer_byte_rate", 2]]),
  ];
  assertEquals(outcomeOf(alterations), {
    codes: ["INVALID_REQUEST"],
    changed: [['{"user":"ada"}', { producer_byte_rate: 1 }]],
  });
});

Deno.test("planAlterQuotas() takes no other object's properties for quotas", () => {
  for (const key of ["constructor", "__proto__", "toString"]) {
    assertEquals(outcomeOf([alteration([["user", "ada"]], [[key, 1]])]).codes, ["INVALID_REQUEST"]);
    assertEquals(outcomeOf([alteration([[key, "ada"]], [["producer_byte_rate", 1]])]).codes, [
      "INVALID_REQUEST",
    ]);
  }
});

Deno.test("describeQuotas() finds entities by their parts", () => {
  const all = quotaImage(
    [{ user: "ada" }, { producer_byte_rate: 1 }],
    [{ user: "ada", "client-id": "app" }, { producer_byte_rate: 2 }],
    [{ user: null }, { producer_byte_rate: 3 }],
    [{ ip: "10.0.0.1" }, { connection_creation_rate: 4 }],
  );
  const find = (strict: boolean, ...components: [string, number, string | null][]) => {
    const named = components.map(([entityType, matchType, match]) => ({ entityType, matchType, match }));
    return describeQuotas(all, named, strict).entries!.map(({ quotas }) => [...quotas.values()][0]);
  };
  const { EXACT, DEFAULT, ANY } = MatchType;
  assertEquals(find(false), [1, 2, 3, 4]);
  assertEquals(find(true), []);
  assertEquals(find(false, ["user", EXACT, "ada"]), [1, 2]);
  assertEquals(find(true, ["user", EXACT, "ada"]), [1]);
  assertEquals(find(false, ["user", DEFAULT, null]), [3]);
  assertEquals(find(false, ["user", ANY, null]), [1, 2, 3]);
  assertEquals(find(true, ["client-id", ANY, null], ["user", ANY, null]), [2]);
});

Deno.test("an entity is the same after it was stored, whatever its name", () => {
  const entities: QuotaEntity[] = [
    { user: "ada" },
    { user: null },
    { "client-id": 'a/b"c\u0000\u{1F600}' },
    { user: "{", "client-id": null },
    { ip: "2001:db8::7" },
  ];
  for (const entity of entities) {
    assertEquals(parseEntityKey(entityKey(entity)), entity);
    const quotas = new Map([["request_percentage", 5e-324], ["producer_byte_rate", 2 ** 63]]);
    assertEquals(parseQuotaRow(`quota/${entityKey(entity)}`, quotaRow(quotas)), { entity, quotas });
  }
});

Deno.test("a stored row that no release wrote is refused with its key", () => {
  const rows: [key: string, value: string][] = [
    ["quota/", "{}"],
    ["quota/[1]", "{}"],
    ['quota/{"group":"a"}', "{}"],
    ['quota/{"user":1}', "{}"],
    ['quota/{"user":"a"}', '{"producer_byte_rate":"1"}'],
    ['quota/{"user":"a"}', "1"],
  ];
  for (const [key, value] of rows) {
    const error = assertThrows(() => parseQuotaRow(key, value), CorruptRow);
    assertEquals(error.message.includes(key), true);
  }
});

const addresses: [text: string, addresses: readonly string[] | null][] = [
  ["10.0.0.1", ["10.0.0.1"]],
  ["010.0.0.1", ["10.0.0.1"]],
  ["127.1", ["127.0.0.1"]],
  ["1.2.3", ["1.2.0.3"]],
  ["1.2.65535", ["1.2.255.255"]],
  ["16909060", ["1.2.3.4"]],
  ["4294967295", ["255.255.255.255"]],
  ["4294967296", null],
  ["1.2.65536", null],
  ["1.256.3.4", null],
  ["1.2.3.4.5", null],
  ["1.2.3.4.", null],
  ["", null],
  [".", null],
  ["0x7f.0.0.1", null],
  [" 1.2.3.4", null],
  ["::1", ["::1"]],
  ["[::1]", ["::1"]],
  ["2001:DB8:0:0::7", ["2001:db8::7"]],
  ["::ffff:10.0.0.1", ["10.0.0.1"]],
  ["::FFFF:a00:1", ["10.0.0.1"]],
  ["::10.0.0.1", ["::a00:1"]],
  ["1::2::3", null],
  [":::", null],
  ["g::1", null],
  ["::1%lo", null],
  ["localhost", ["127.0.0.1", "::1"]],
  ["example.org", null],
];

for (const [text, expected] of addresses) {
  Deno.test(`addressesOf("${text}") gives ${expected?.join(" and ") ?? "none"}`, () => {
    assertEquals(addressesOf(text), expected);
  });
}

Deno.test("check tells of quotas that cannot be read, and of none that can", async () => {
  const directory = await Deno.makeTempDir({ prefix: "trackway-quotas-" });
  try {
    const store = SqliteStore.open(directory);
    await store.commit({
      compare: [],
      put: [
        { key: "cluster", value: '{"id":"gl9XOgETQuKw1Mp1kL5K1Q"}' },
        { key: 'quota/{"user":"ada"}', value: '{"producer_byte_rate":1}' },
        { key: 'quota/{"user":"bob"}', value: '{"producer_byte_rate":null}' },
      ],
      delete: [],
    });
    await store.close();
    const problems: string[] = [];
    checkMetadata(directory, ({ problem }) => problems.push(problem));
    assertEquals(problems, ['Cannot read the entry "quota/{"user":"bob"}": producer_byte_rate is no number']);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
