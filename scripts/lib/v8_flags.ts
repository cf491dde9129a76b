/**
 * How V8 is set for a broker, wherever one is started from: deno.json (its `start` task says the same, and a test holds
 * the two together), the packed file, the compiled one.
 *
 * Young objects get 4 MB instead of 16: nearly all of a broker's are gone at once, and a larger space only holds more
 * pages. Measured: 183 MB resident after load became 124 MB, with no more CPU.
 *
 * The collector can be called, for a broker that has fallen quiet (`src/observe/idle_memory.ts`).
 */
export const v8Flags = "--max-semi-space-size=4,--expose-gc";
