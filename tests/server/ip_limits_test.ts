import { assertEquals } from "@std/assert/equals";
import { ipLimits, parseIpOverrides } from "../../src/server/ip_limits.ts";

Deno.test("parseIpOverrides() takes addresses of both families, with brackets or without, and localhost", () => {
  const { limits, problems } = parseIpOverrides("10.0.0.1:5, [fe80::1]:6,FE80::2:7 , localhost:8,");
  assertEquals([...limits], [
    ["10.0.0.1", 5],
    ["fe80::1", 6],
    ["fe80::2", 7],
    ["127.0.0.1", 8],
    ["::1", 8],
  ]);
  assertEquals(problems, []);
});

Deno.test("parseIpOverrides() names what it cannot understand, and takes the rest", () => {
  const { limits, problems } = parseIpOverrides("10.0.0.1,a.example:5,10.0.0.2:x,10.0.0.3:1");
  assertEquals([...limits], [["10.0.0.3", 1]]);
  assertEquals(problems, [
    "10.0.0.1 is not an address (or localhost), a colon and a number",
    "a.example:5 is not an address (or localhost), a colon and a number",
    "10.0.0.2:x is not an address (or localhost), a colon and a number",
  ]);
});

Deno.test("ipLimits() follows the settings, and tells once what it cannot understand of them", () => {
  let maxPerIp = 10, overrides = "";
  const told: string[] = [];
  const limit = ipLimits(() => ({ maxPerIp, overrides }), (problem) => told.push(problem));
  assertEquals([limit("10.0.0.1"), limit("10.0.0.2")], [10, 10]);
  overrides = "10.0.0.1:0,oops";
  maxPerIp = 20;
  assertEquals([limit("10.0.0.1"), limit("10.0.0.2"), limit("10.0.0.2")], [0, 20, 20]);
  assertEquals(told, [
    "max.connections.per.ip.overrides: oops is not an address (or localhost), a colon and a number",
  ]);
});
