import { assertEquals } from "@std/assert/equals";
import { openGlibc } from "../../src/base/glibc.ts";

const ignore = Deno.build.os !== "linux";
const SYMBOLS = { getpid: { parameters: [], result: "i32" } } as const;

Deno.test({
  name: "openGlibc() gives functions of the C library",
  ignore,
  fn() {
    const glibc = openGlibc(SYMBOLS)!;
    assertEquals(glibc.symbols.getpid(), Deno.pid);
    glibc.close();
  },
});

Deno.test({
  name: "openGlibc() gives null for what the library does not have",
  ignore,
  fn: () => assertEquals(openGlibc({ no_such_function: { parameters: [], result: "i32" } }), null),
});

Deno.test({
  name:
    "openGlibc() does not try what is not allowed: at a terminal everything would wait for somebody's answer",
  ignore,
  permissions: { ffi: false },
  fn() {
    const { dlopen } = Deno;
    let tried = false;
    (Deno as { dlopen: unknown }).dlopen = () => tried = true;
    try {
      assertEquals(openGlibc(SYMBOLS), null);
    } finally {
      (Deno as { dlopen: unknown }).dlopen = dlopen;
    }
    assertEquals(tried, false);
  },
});
