/** Which quota holds, in Kafka's order: every subset of the eight kinds of entities, and who shares what is found. */
import { assertEquals } from "@std/assert/equals";
import type { QuotaEntity } from "../../src/cluster/client_quotas.ts";
import { QuotaTable } from "../../src/quotas/quota_table.ts";
import { quotasOf } from "./support.ts";

/** From the most specific to the least, each with those who share it. */
const precedence: readonly [QuotaEntity, { user: string; clientId: string }][] = [
  [{ user: "ada", "client-id": "app" }, { user: "ada", clientId: "app" }],
  [{ user: "ada", "client-id": null }, { user: "ada", clientId: "app" }],
  [{ user: "ada" }, { user: "ada", clientId: "" }],
  [{ user: null, "client-id": "app" }, { user: "ada", clientId: "app" }],
  [{ user: null, "client-id": null }, { user: "ada", clientId: "app" }],
  [{ user: null }, { user: "ada", clientId: "" }],
  [{ "client-id": "app" }, { user: "", clientId: "app" }],
  [{ "client-id": null }, { user: "", clientId: "app" }],
];

Deno.test("QuotaTable.find() gives the most specific quota, whichever others there are", () => {
  for (let subset = 0; subset < 2 ** precedence.length; subset++) {
    const set = precedence.map((_, place) => place).filter((place) => subset >> place & 1);
    const table = new QuotaTable(
      quotasOf(
        ...set.map((place) =>
          [precedence[place][0], { consumer_byte_rate: 100 + place }] as [QuotaEntity, Record<string, number>]
        ),
      ),
      "consumer_byte_rate",
    );
    const first = set[0];
    const expected = first === undefined ? null : { limit: 100 + first, ...precedence[first][1] };
    assertEquals(table.find("ada", "app"), expected, `entities ${set}`);
    assertEquals(table.isEmpty, set.length === 0);
  }
});

Deno.test("QuotaTable.find() has no quota for somebody else", () => {
  const all = quotasOf(
    [{ user: "ada", "client-id": "app" }, { producer_byte_rate: 1 }],
    [{ user: "ada" }, { producer_byte_rate: 2 }],
    [{ "client-id": "app" }, { producer_byte_rate: 3 }],
  );
  const table = new QuotaTable(all, "producer_byte_rate");
  assertEquals(table.find("bob", "other"), null);
  assertEquals(table.find("bob", "app")?.limit, 3);
  assertEquals(table.find("ada", "other")?.limit, 2);
});

Deno.test("QuotaTable looks at its own quota alone, and not at addresses", () => {
  const all = quotasOf(
    [{ user: "ada" }, { consumer_byte_rate: 1 }],
    [{ ip: null }, { connection_creation_rate: 1 }],
  );
  assertEquals(new QuotaTable(all, "producer_byte_rate").isEmpty, true);
});

Deno.test("QuotaTable tells a client without a name from the default", () => {
  const all = quotasOf([{ "client-id": null }, { request_percentage: 7 }], [{ "client-id": "x" }, {
    request_percentage: 8,
  }]);
  assertEquals(new QuotaTable(all, "request_percentage").find("ada", ""), {
    limit: 7,
    user: "",
    clientId: "",
  });
});

Deno.test("QuotaTable.change() leaves of every entity what it had last, and nothing where it was taken away", () => {
  const table = new QuotaTable([], "producer_byte_rate");
  const found = () => table.find("ada", "app")?.limit ?? null;
  for (const [entity] of precedence.toReversed()) {
    const others = found();
    for (const limit of [1, 2]) {
      table.change(quotasOf([entity, { producer_byte_rate: limit, consumer_byte_rate: 9 }]));
      assertEquals([found(), table.isEmpty], [limit, false]);
    }
    table.change(quotasOf([entity, { consumer_byte_rate: 9 }]));
    assertEquals([found(), table.isEmpty], [others, others === null]);
    table.change(quotasOf([entity, { producer_byte_rate: 3 }]));
  }
  table.change(
    quotasOf(...precedence.map(([entity]) => [entity, {}] as [QuotaEntity, Record<string, number>])),
  );
  assertEquals([found(), table.isEmpty], [null, true]);
});
