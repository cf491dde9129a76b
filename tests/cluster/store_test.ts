/** What every metadata store has to do, run against each of them. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { MemoryStore } from "../../src/cluster/memory.ts";
import { SqliteStore } from "../../src/cluster/sqlite.ts";
import { ABSENT, type ChangeBatch, type MetadataStore } from "../../src/cluster/store.ts";
import { inTempDir } from "./support.ts";

const kinds: Record<string, (work: (store: MetadataStore) => Promise<void>) => Promise<void>> = {
  MemoryStore: (work) => work(new MemoryStore()),
  SqliteStore: (work) =>
    inTempDir(async (directory) => {
      const store = SqliteStore.open(directory);
      try {
        await work(store);
      } finally {
        await store.close();
      }
    }),
};

function put(key: string, value: string, ...compare: { key: string; revision: number }[]) {
  return { compare, put: [{ key, value }], delete: [] };
}

for (const [kind, withStore] of Object.entries(kinds)) {
  Deno.test(`${kind}.list() gives the entries of a prefix, sorted, and the store's revision`, () =>
    withStore(async (store) => {
      for (const key of ["b/2", "a", "b/1", "b", "b0", "c/1"]) await store.commit(put(key, `of ${key}`));
      assertEquals(await store.list("b/"), {
        revision: 6,
        entries: [{ key: "b/1", value: "of b/1", revision: 3 }, { key: "b/2", value: "of b/2", revision: 1 }],
      });
      const all = await store.list("");
      assertEquals(all.entries.map(({ key }) => key), ["a", "b", "b/1", "b/2", "b0", "c/1"]);
    }));

  Deno.test(`${kind}.commit() writes and deletes under one revision`, () =>
    withStore(async (store) => {
      await store.commit(put("a", "1"));
      await store.commit(put("b", "1"));
      const compare = [{ key: "a", revision: 1 }, { key: "c", revision: ABSENT }];
      const changes = { compare, put: [{ key: "b", value: "2" }, { key: "c", value: "2" }], delete: ["a"] };
      assertEquals(await store.commit(changes), { ok: true, revision: 3 });
      assertEquals(await store.list(""), {
        revision: 3,
        entries: [{ key: "b", value: "2", revision: 3 }, { key: "c", value: "2", revision: 3 }],
      });
    }));

  Deno.test(`${kind}.commit() changes nothing when one comparison fails`, () =>
    withStore(async (store) => {
      await store.commit(put("a", "1"));
      await store.commit(put("a", "2"));
      const before = await store.list("");
      const stale = put("b", "3", { key: "c", revision: ABSENT }, { key: "a", revision: 1 });
      assertEquals(await store.commit(stale), { ok: false, revision: 2 });
      assertEquals(await store.commit(put("a", "3", { key: "a", revision: ABSENT })), {
        ok: false,
        revision: 2,
      });
      assertEquals(await store.commit(put("b", "3", { key: "gone", revision: 1 })), {
        ok: false,
        revision: 2,
      });
      assertEquals(await store.list(""), before);
    }));

  Deno.test(`${kind}.watch() gives every commit after a revision, those before it was called too`, () =>
    withStore(async (store) => {
      await store.commit(put("a", "1"));
      const { revision } = await store.list("");
      await store.commit({ compare: [], put: [{ key: "b", value: "2" }], delete: ["a"] });
      const seen: ChangeBatch[] = [];
      const watch = store.watch(revision, (batch) => seen.push(batch));
      await store.commit(put("c", "3"));
      await store.commit(put("c", "4", { key: "c", revision: ABSENT }));
      watch.close();
      await store.commit(put("d", "5"));
      assertEquals(seen, [
        { revision: 2, put: [{ key: "b", value: "2" }], delete: ["a"] },
        { revision: 3, put: [{ key: "c", value: "3" }], delete: [] },
      ]);
    }));

  Deno.test(`${kind}.watch() throws for a revision that it does not remember`, () =>
    withStore(async (store) => {
      for (let i = 0; i < 300; i++) await store.commit(put("a", String(i)));
      assertThrows(() => store.watch(10, () => {}), RangeError, "Cannot watch from revision 10: 44 to 300");
      assertThrows(() => store.watch(301, () => {}), RangeError);
      store.watch(44, () => {}).close();
    }));
}
