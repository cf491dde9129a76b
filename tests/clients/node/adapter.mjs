/**
 * The command line that both Node adapters share: reads the verb and its flags, calls one client, and prints what
 * it reports as JSON lines. Results alone go to stdout; the reason of a failure is the last line of stderr; what a
 * library cannot do is `Unsupported` and exit code 64.
 */

import { parseArgs } from "node:util";

export class Unsupported extends Error {}

/** Shortest that Kafka allows, so that a killed member is missed soon. */
export const sessionTimeoutMs = 6000;
export const heartbeatIntervalMs = 1000;

const exitUnsupported = 64;

function emit(value) {
  process.stdout.write(JSON.stringify(value) + "\n");
}

/** Messages with keys k<i> and values v<i>, in chunks that fit one batch; `time` gets ms, or is left out. */
export function* chunksToProduce({ start, count, timestampBase }, message) {
  for (let from = start; from < start + count; from += 1000) {
    const to = Math.min(from + 1000, start + count);
    yield Array.from({ length: to - from }, (_, k) => {
      const i = from + k;
      return message(
        `k${i}`,
        `v${i}`,
        timestampBase === undefined ? undefined : timestampBase + i,
      );
    });
  }
}

/** Prints the events of a group member; an assignment only when it differs from the one printed before. */
export class Events {
  #assigned = null;
  #commitRefused = false;

  assigned(partitions) {
    if (this.#commitRefused) {
      this.#commitRefused = false;
      this.assigned([]);
    }
    const sorted = [...partitions].sort((a, b) => a - b);
    if (JSON.stringify(sorted) === this.#assigned) return;
    this.#assigned = JSON.stringify(sorted);
    emit({ event: "assigned", partitions: sorted });
  }

  record(partition, offset, value) {
    emit({
      event: "record",
      partition,
      offset: Number(offset),
      value: String(value),
    });
  }

  /**
   * Records printed before will come again to whoever holds their partition next, which may be this member: the
   * next assignment is printed as a loss of everything and a new start.
   */
  commitRefused() {
    this.#commitRefused = true;
  }

  committed() {
    emit({ event: "committed" });
  }
}

function stdinClosed() {
  return new Promise((resolve) => process.stdin.on("end", resolve).on("error", resolve).resume());
}

/** Consumes until `count` records were printed; `client.consume` gets a callback that says whether to go on. */
async function consume(client, { topic, from, count, timeoutMs }) {
  const fromMs = from === "beginning" ? undefined : Number(from.match(/^timestamp:(\d+)$/)[1]);
  let seen = 0;
  let finish;
  const enough = new Promise((resolve) => finish = resolve);
  const timer = setTimeout(() => finish(), timeoutMs);
  await client.consume(
    { topic, fromMs, until: enough },
    (partition, offset, key, value) => {
      if (seen === count) return;
      emit({
        partition,
        offset: Number(offset),
        key: String(key),
        value: String(value),
      });
      if (++seen === count) finish();
    },
  );
  clearTimeout(timer);
  if (seen < count) {
    throw new Error(
      `consumed ${seen} of ${count} records within ${timeoutMs} ms`,
    );
  }
  emit({ done: seen });
}

async function run(connect) {
  const { positionals: [verb], values } = parseArgs({
    allowPositionals: true,
    options: Object.fromEntries(
      [
        "bootstrap",
        "topic",
        "group",
        "instance-id",
        "group-protocol",
        "partitions",
        "count",
        "start",
        "codec",
      ]
        .concat([
          "idempotent",
          "timestamp-base",
          "partition",
          "from",
          "timeout-ms",
        ])
        .map((name) => [name, { type: "string" }]),
    ),
  });
  const number = (name, fallback) => values[name] === undefined ? fallback : Number(values[name]);
  const { topic, group } = values;
  const client = connect(values.bootstrap ?? "127.0.0.1:9092");
  switch (verb) {
    case "create":
      await client.create(topic, number("partitions", 1));
      return emit({ ok: true });
    case "list":
      return emit({ topics: await client.list() });
    case "describe":
      return emit({ partitions: await client.describe(topic) });
    case "delete":
      await client.delete(topic);
      return emit({ ok: true });
    case "produce": {
      const count = number("count", 0);
      await client.produce({
        topic,
        count,
        start: number("start", 0),
        codec: values.codec ?? "none",
        idempotent: values.idempotent === "true",
        timestampBase: number("timestamp-base"),
        partition: number("partition"),
      });
      return emit({ acked: count });
    }
    case "consume": {
      const timeoutMs = number("timeout-ms", 30000);
      return await consume(client, {
        topic,
        from: values.from ?? "beginning",
        count: number("count", 0),
        timeoutMs,
      });
    }
    case "member": {
      const nextGen = values["group-protocol"] === "consumer";
      const membership = {
        topic,
        group,
        instanceId: values["instance-id"],
        nextGen,
        until: stdinClosed(),
      };
      return await client.member(membership, new Events());
    }
    case "committed":
      for (
        const { partition, offset } of await client.committed(topic, group)
      ) {
        emit({ partition, offset: Number(offset) });
      }
      return;
    case "groups":
      return emit({ groups: await client.groups() });
    case "describe-group":
      return emit(await client.describeGroup(group));
    case "delete-group":
      await client.deleteGroup(group);
      return emit({ ok: true });
    default:
      throw new Error(`unknown verb ${verb}`);
  }
}

/** The messages of an error and of what it wraps: the broker's error is often two levels down. */
function reasons(error) {
  const inner = [
    ...(error?.errors ?? []),
    ...(error?.cause ? [error.cause] : []),
  ];
  return [error?.message ?? String(error), ...inner.flatMap(reasons)];
}

/** Runs one verb and ends the process, also when the library still holds timers or sockets. */
export async function main(connect) {
  let code = 0;
  try {
    await run(connect);
  } catch (error) {
    if (error instanceof Unsupported) {
      emit({ unsupported: error.message });
      code = exitUnsupported;
    } else {
      console.error(error);
      console.error(reasons(error).join("; ").replaceAll("\n", "; "));
      code = 1;
    }
  }
  process.stdout.write("", () => process.exit(code));
}
