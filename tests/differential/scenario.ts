/**
 * What a differential scenario is: a list of calls whose answers are written down, once from a real Kafka (the
 * recording, kept as data) and in every test run from Trackway. Scenarios run side by side on one broker: each has
 * names of its own, and looks at nothing that another may change.
 */
import { Client, Disconnected } from "../../src/client/client.ts";
import { encodeRequest } from "../../src/codec/framing.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import type { Api, DecodedResponseOf, EncodableRequestOf } from "../../src/codec/schema.ts";
import { concatChunks } from "../../src/codec/writer.ts";
import { encodeHex } from "../../src/base/hex.ts";
import { toJson } from "../codec/vectors.ts";
import { normal } from "./normal.ts";

/** One scenario; its name is a claim about what it shows. */
export interface Scenario {
  readonly name: string;
  run(broker: Broker): Promise<void>;
}

export function scenario(name: string, run: (broker: Broker) => Promise<void>): Scenario {
  return { name, run };
}

/** The id that a frame of {@link Broker.frame} carries; the client counts up from 1 and never comes here. */
const RAW_CORRELATION_ID = 0x7a7a7a7a;

/** A broker under test, with what its answers are written down in. */
export class Broker {
  private current: Client | null = null;
  private readonly others: Broker[] = [];

  constructor(readonly port: number, private readonly prefix: string, readonly answers: unknown[] = []) {}

  /** A topic or group name that no other scenario uses. */
  name(text: string): string {
    return `${this.prefix}-${text}`;
  }

  async client(): Promise<Client> {
    return this.current ??= await this.connect();
  }

  /** The same over a connection of its own, for what waits while others go on. */
  another(): Broker {
    const other = new Broker(this.port, this.prefix, this.answers);
    this.others.push(other);
    return other;
  }

  private connect(): Promise<Client> {
    return Client.connect({ hostname: "127.0.0.1", port: this.port }, "differential");
  }

  /**
   * Sends a request and writes down its answer; a connection that is closed is an answer too. What `pick` takes from
   * the answer is written down in its place.
   */
  async ask<A extends Api>(
    api: A,
    version: number,
    request: EncodableRequestOf<A>,
    pick?: (response: DecodedResponseOf<A>) => unknown,
    label = "",
  ): Promise<DecodedResponseOf<A> | null> {
    const response = await this.send(api, version, request);
    this.tell(api, version, response, label, pick);
    return response;
  }

  /** Writes down an answer that {@link send} got. */
  tell<A extends Api>(
    api: A,
    version: number,
    response: DecodedResponseOf<A> | null,
    label = "",
    pick?: (response: DecodedResponseOf<A>) => unknown,
  ): void {
    this.note(titled(api, version, label), response && told(api, version, response, pick));
  }

  /** Asks for each of `requests` in each of `versions`. The keys of `requests` say what is asked. */
  async askEach<A extends Api>(
    api: A,
    versions: number | readonly number[],
    requests: Readonly<Record<string, EncodableRequestOf<A>>>,
    pick?: (response: DecodedResponseOf<A>) => unknown,
  ): Promise<void> {
    for (const [label, request] of Object.entries(requests)) {
      for (const version of [versions].flat()) await this.ask(api, version, request, pick, label);
    }
  }

  /** Sends a request without writing anything down; null when the broker closed the connection. */
  async send<A extends Api>(
    api: A,
    version: number,
    request: EncodableRequestOf<A>,
  ): Promise<DecodedResponseOf<A> | null> {
    const client = await this.client();
    return await this.unlessClosed(client.send(api, version, request));
  }

  /** The frame of a request, size included, for {@link askRaw} to send after something is done to it. */
  frame<A extends Api>(api: A, version: number, request: EncodableRequestOf<A>): Uint8Array {
    const header = { correlationId: RAW_CORRELATION_ID, clientId: "differential" };
    return concatChunks(encodeRequest(api, version, header, request));
  }

  /**
   * Sends bytes as they are and writes down what comes: the body of the answer as hex, or what `decode` makes of it, or
   * that the connection is closed. The bytes hold one frame, with the correlation id that {@link frame} gives.
   */
  async askRaw(
    label: string,
    bytes: Uint8Array,
    decode: (afterCorrelationId: Uint8Array) => unknown = encodeHex,
  ): Promise<void> {
    const client = await this.client();
    const frame = await this.unlessClosed(client.roundTrip(RAW_CORRELATION_ID, bytes));
    this.note(label, frame && decode(frame.subarray(4)));
  }

  /** Writes down `answer`, null for a connection that was closed. */
  note(label: string, answer: unknown): void {
    const json = JSON.stringify(answer ?? "<disconnected>", (_, v) => typeof v === "bigint" ? String(v) : v);
    this.answers.push(
      normal(JSON.parse(`{${JSON.stringify(label)}:${json}}`.replaceAll(this.prefix, "<s>"))),
    );
  }

  private async unlessClosed<T>(answer: Promise<T>): Promise<T | null> {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error;
      this.current = null;
      return null;
    }
  }

  async close(): Promise<void> {
    for (const other of this.others) await other.close();
    await this.current?.close();
    this.current = null;
  }
}

function titled(api: Api, version: number, label: string): string {
  return `${api.name} v${version}${label === "" ? "" : `: ${label}`}`;
}

function told<A extends Api>(
  api: A,
  version: number,
  response: DecodedResponseOf<A>,
  pick: ((response: DecodedResponseOf<A>) => unknown) | undefined,
): unknown {
  return pick ? pick(response) ?? "<nothing>" : toJson(api.response.fields, version, response as never);
}

/** What `look` gives once it is not null; throws when that takes ten seconds. Kafka does much a moment later. */
export async function eventually<T>(failure: string, look: () => Promise<T | null>): Promise<T> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline;) {
    const seen = await look();
    if (seen !== null) return seen;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(failure);
}

/** Longer than any scenario takes. */
const LONGEST_MS = 60_000;

/** Runs one scenario under names that begin with `prefix`, and gives what was answered. */
export async function run(one: Scenario, port: number, prefix: string): Promise<unknown[]> {
  const broker = new Broker(port, prefix);
  const tooLong = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    tooLong.reject(new Error(`no end after ${JSON.stringify(broker.answers.at(-1))}`));
  }, LONGEST_MS);
  try {
    await Promise.race([one.run(broker), tooLong.promise]);
    return broker.answers;
  } finally {
    clearTimeout(timer);
    await broker.close();
  }
}

/** How many scenarios run side by side. */
const AT_ONCE = 8;

/**
 * Runs all of them against the broker on `port` and gives what was answered, or why it could not be asked, in their
 * order. All names are of one length, since a name's length shows in sizes and limits.
 */
export async function runAll(all: readonly Scenario[], port: number): Promise<(unknown[] | Error)[]> {
  await makeCoordinators(port);
  const results: (unknown[] | Error)[] = [];
  const start = Date.now().toString(36).padStart(9, "0");
  let next = 0;
  const work = async () => {
    while (next < all.length) {
      const index = next++;
      const prefix = `s${start}${String(index).padStart(4, "0")}`;
      results[index] = await run(all[index], port, prefix).catch((error) => error as Error);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

/** The topics of the coordinators are made by the first look for one, in Kafka a while later. */
async function makeCoordinators(port: number): Promise<void> {
  const broker = new Broker(port, "");
  try {
    for (const keyType of [0, 1]) {
      await eventually("no coordinator", async () => {
        const found = await broker.send(findCoordinator, 4, { key: "", keyType, coordinatorKeys: ["any"] });
        return found!.coordinators[0].errorCode === 0 ? true : null;
      });
    }
  } finally {
    await broker.close();
  }
}
