/** Counters: what is added is what a snapshot shows, and no client can make them grow without end. */
import { assertEquals } from "@std/assert/equals";
import { Metrics } from "../../src/observe/metrics.ts";

Deno.test("Metrics.snapshot() shows what was counted, by API key", () => {
  const metrics = new Metrics();
  metrics.api(18).answered(30, 400, 1.5);
  metrics.api(0).answered(1000, 50, 4);
  metrics.api(0).answered(1000, 50, 2);
  metrics.api(0).failed(10);
  metrics.api(0).failed(10);
  metrics.api(0).failed(0);
  metrics.connectionsOpened += 3;
  metrics.connectionsClosed += 1;
  metrics.malformedFrames++;
  assertEquals(metrics.snapshot(), {
    apis: [
      {
        apiKey: 0,
        requests: 2,
        requestBytes: 2000,
        responseBytes: 100,
        totalTimeMs: 6,
        errors: new Map([[10, 2]]),
      },
      { apiKey: 18, requests: 1, requestBytes: 30, responseBytes: 400, totalTimeMs: 1.5, errors: new Map() },
    ],
    connectionsOpened: 3,
    connectionsClosed: 1,
    connectionsActive: 2,
    malformedFrames: 1,
    samples: [],
  });
});

Deno.test("Metrics.api() counts all impossible API keys together", () => {
  const metrics = new Metrics();
  for (const apiKey of [-1, 128, 32767, -32768, NaN]) metrics.api(apiKey).answered(1, 1, 0);
  assertEquals(metrics.snapshot().apis.map(({ apiKey, requests }) => [apiKey, requests]), [[-1, 5]]);
});

Deno.test("Metrics.snapshot() is a copy that later requests do not change", () => {
  const metrics = new Metrics();
  metrics.api(1).failed(6);
  const before = metrics.snapshot();
  metrics.api(1).failed(6);
  assertEquals(before.apis[0].errors, new Map([[6, 1]]));
});
