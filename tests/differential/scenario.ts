/**
 * What a differential scenario is: a list of calls whose answers are written down, once from a real Kafka (the
 * recording, kept as data) and in every test run from Trackway. What cannot be the same twice (ids, times, addresses)
 * is replaced by a word before it is written down.
 */
import { Client, Disconnected } from "../../src/client/client.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import type { Api, DecodedResponseOf, EncodableRequestOf } from "../../src/codec/schema.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { toJson } from "../codec/vectors.ts";

/** One scenario; its name is a claim about what it shows. */
export interface Scenario {
  readonly name: string;
  run(broker: Broker): Promise<void>;
}

export function scenario(name: string, run: (broker: Broker) => Promise<void>): Scenario {
  return { name, run };
}

/** Fields whose value is never the same twice. */
const volatile: Readonly<Record<string, (value: unknown) => unknown>> = {
  clusterId: (v) => v === null || v === "" ? v : "<cluster>",
  host: (v) => v === "" ? v : "<host>",
  port: (v) => typeof v === "number" && v > 0 ? "<port>" : v,
  topicId: (v) => v === ZERO_UUID ? v : "<topic id>",
  memberId: (v) => v === "" ? v : "<member>",
  leader: (v) => typeof v === "string" && v !== "" ? "<member>" : v,
  logAppendTimeMs: (v) => v === "-1" ? v : "<now>",
  producerId: (v) => v === "-1" ? v : "<producer>",
  sessionId: (v) => v === 0 ? v : "<session>",
  // Kafka's wording is its own; that there is a text is the same.
  errorMessage: (v) => v === null || v === "" || v === "NONE" ? v : "<text>",
  batchIndexErrorMessage: (v) => v === null ? v : "<text>",
  documentation: (v) => v === null || v === "" ? v : "<text>",
  errorCode: (v) => typeof v === "number" && v !== ErrorCode.NONE ? `${v} ${errorName(v)}` : v,
};

/** Lists that Kafka gives in the order of a hash table, and by what they are sorted to be compared. */
const unordered: Readonly<Record<string, string>> = {
  configs: "name",
  responses: "name",
  topics: "name",
  groups: "groupId",
  results: "groupId",
};

function normal(value: unknown, key = ""): unknown {
  if (key !== "" && volatile[key]) return volatile[key](value);
  if (Array.isArray(value)) {
    const items = value.map((item) => normal(item));
    const by = (item: unknown) => String((item as Record<string, unknown> | null)?.[unordered[key]] ?? "");
    return key in unordered ? items.sort((a, b) => by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0) : items;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, normal(inner, name)]));
}

/** A broker under test, with what its answers are written down in. */
export class Broker {
  readonly answers: unknown[] = [];
  private current: Client | null = null;

  constructor(readonly port: number, private readonly prefix: string) {}

  /** A topic or group name that no other scenario uses. */
  name(text: string): string {
    return `${this.prefix}-${text}`;
  }

  async client(): Promise<Client> {
    return this.current ??= await Client.connect({ hostname: "127.0.0.1", port: this.port }, "differential");
  }

  /** Sends a request and writes down its answer; a connection that is closed is an answer too. */
  async ask<A extends Api>(
    api: A,
    version: number,
    request: EncodableRequestOf<A>,
    pick: (response: DecodedResponseOf<A>) => unknown = (response) => response,
  ): Promise<DecodedResponseOf<A> | null> {
    const response = await this.send(api, version, request);
    if (response === null) {
      this.answers.push({ [`${api.name} v${version}`]: "<disconnected>" });
      return null;
    }
    const picked = pick(response);
    const json = picked === response
      ? toJson(api.response.fields, version, response as never)
      : plain(picked);
    this.answers.push({
      [`${api.name} v${version}`]: normal(JSON.parse(JSON.stringify(json).replaceAll(this.prefix, "<s>"))),
    });
    return response;
  }

  /** Sends a request without writing anything down; null when the broker closed the connection. */
  async send<A extends Api>(
    api: A,
    version: number,
    request: EncodableRequestOf<A>,
  ): Promise<DecodedResponseOf<A> | null> {
    const client = await this.client();
    try {
      return await client.send(api, version, request);
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error;
      this.current = null;
      return null;
    }
  }

  async close(): Promise<void> {
    await this.current?.close();
    this.current = null;
  }
}

/** bigint has no JSON. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, v) => typeof v === "bigint" ? String(v) : v) ?? "null");
}

/** Runs one scenario and gives what was answered. */
export async function run(one: Scenario, port: number, prefix: string): Promise<unknown[]> {
  const broker = new Broker(port, prefix);
  try {
    await one.run(broker);
    return broker.answers;
  } finally {
    await broker.close();
  }
}
