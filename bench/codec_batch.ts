/** What a batch costs on its way through the broker: the check at Produce, a walk over its records, and the codecs. */

import { Prng } from "../src/base/prng.ts";
import { BatchView, buildBatch, checkBatch, Compression, type NewRecord } from "../src/codec/batch.ts";
import { compressionNames } from "../src/codec/compression/index.ts";
import { crc32c, crc32cImplementation, crc32cTypeScript } from "../src/codec/crc32c.ts";

console.log(`CRC-32C: ${crc32cImplementation}`);

/** Records of 200 bytes, compressible by about half, as JSON is. */
function makeRecords(bytes: number): NewRecord[] {
  const prng = new Prng(bytes);
  return Array.from({ length: Math.ceil(bytes / 200) }, (_, i) => ({
    timestamp: 1_700_000_000_000 + i,
    key: prng.bytes(16),
    value: new TextEncoder().encode(
      `{"id":${i},"user":"user-${prng.int(1e6)}","amount":${prng.float()},"state":"confirmed","note":"`
        .padEnd(174, "-"),
    ),
  }));
}

const sizes = { "16 KB": 16 << 10, "256 KB": 256 << 10, "1 MB": 1 << 20 };

for (const [name, bytes] of Object.entries(sizes)) {
  const batch = buildBatch(makeRecords(bytes));
  Deno.bench(`checkBatch ${name}`, { group: `check ${name}`, baseline: true }, () => {
    if (checkBatch(batch, 0, batch.length) !== null) throw new Error("refused");
  });
  Deno.bench(`crc32c ${name}`, { group: `check ${name}` }, () => void crc32c(batch, 21));
  Deno.bench(
    `crc32c in TypeScript ${name}`,
    { group: `check ${name}` },
    () => void crc32cTypeScript(batch, 21),
  );
}

for (const [name, bytes] of Object.entries(sizes)) {
  const view = new BatchView(buildBatch(makeRecords(bytes)));
  Deno.bench(
    `cursor over ${view.recordCount} records, ${name}`,
    { group: `walk ${name}`, baseline: true },
    () => {
      for (const cursor = view.cursor(); cursor.next(););
    },
  );
  Deno.bench(`records() of ${view.recordCount} records, ${name}`, { group: `walk ${name}` }, () => {
    for (const record of view.records()) if (record.offset < 0) throw new Error("no offset");
  });
}

const small = new BatchView(buildBatch(makeRecords(200)));
Deno.bench("all that a log reads of a header", { group: "header" }, () => {
  const { baseOffset, sizeInBytes, lastOffset, maxTimestamp, producerId, producerEpoch, baseSequence } =
    small;
  if (
    baseOffset + sizeInBytes + lastOffset + maxTimestamp + producerId + producerEpoch + baseSequence === 0
  ) {
    throw new Error("all zero");
  }
});
Deno.bench("checkBatch of one record", { group: "header" }, () => {
  if (checkBatch(small.bytes, 0, small.bytes.length) !== null) throw new Error("refused");
});

const records = makeRecords(256 << 10);
for (const compression of Object.values(Compression)) {
  const view = new BatchView(buildBatch(records, { compression }));
  Deno.bench(`build 256 KB, ${compressionNames[compression]}`, { group: "build" }, () => {
    buildBatch(records, { compression });
  });
  Deno.bench(`read 256 KB, ${compressionNames[compression]}`, { group: "read" }, () => {
    for (const cursor = view.cursor(); cursor.next(););
  });
}
