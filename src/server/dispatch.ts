/**
 * From a frame to its answer: header, version check, decode, handler, encode. What the protocol leaves no room to
 * answer (an unknown API, a version that is not served) ends the connection, as Kafka does; only ApiVersions of an
 * unknown version is answered, in version 0 with error 35, for that is how clients find out what is served.
 */
import { assert } from "../base/assert.ts";
import type { Chunk } from "../base/file_slice.ts";
import { isPromiseLike } from "../base/later.ts";
import { ErrorCode } from "../codec/errors.ts";
import { MalformedFrame, Unwritable } from "../codec/malformed.ts";
import { encodeResponse, requestHeaderVersion } from "../codec/framing.ts";
import { requestHeader } from "../codec/headers.ts";
import { apiVersions } from "../codec/messages/api_versions.ts";
import { fetch } from "../codec/messages/fetch.ts";
import { produce } from "../codec/messages/produce.ts";
import { Reader } from "../codec/reader.ts";
import type { Api } from "../codec/schema.ts";
import { concatChunks } from "../codec/writer.ts";
import type { ClientSoftware, RequestContext, Services } from "../handlers/context.ts";
import type { Registry, Served } from "../handlers/registry.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Principal } from "../security/principal.ts";
import { BufferPool, joinLent, Loans } from "./buffer_pool.ts";
import type { Answer, Dispatched, Dispatcher, Peer } from "./connection.ts";
import { SharedAnswers } from "./shared_answers.ts";
import { throttle } from "./throttle.ts";

/**
 * How many fetches that wait for what a request brings are answered before that request is. Consumers get records by as
 * much earlier as the producer's answer would take; a thousand consumers must not keep it waiting.
 */
const ANSWERED_FIRST = 16;

export class RequestDispatcher implements Dispatcher {
  private readonly buffers = new BufferPool();
  private readonly shared = new SharedAnswers();

  constructor(
    private readonly registry: Registry,
    private readonly services: Services,
    private readonly metrics: Metrics,
  ) {}

  /** Lets go of the buffers and answers that are kept for the next requests. */
  freeBuffers(): void {
    this.buffers.clear();
    this.shared.clear();
  }

  answerWoken(): void {
    this.services.held.answerWoken(ANSWERED_FIRST);
  }

  throttleConnectionMs(address: string): number {
    const { quotas, clock } = this.services;
    return quotas.connections.connectionMs(address, clock.monotonic());
  }

  pipelines(frame: Uint8Array): boolean {
    return frame.length >= 2 && int16(frame, 0) === produce.key;
  }

  handle(frame: Uint8Array, peer: Peer): Dispatched {
    if (frame.length < 8) {
      throw new MalformedFrame(`request of ${frame.length} bytes has no room for its header`);
    }
    const key = int16(frame, 0), version = int16(frame, 2);
    const served = this.registry.byKey(key);
    if (served === undefined) throw new MalformedFrame(`request of API key ${key}, which is not served`);
    const { api } = served;
    const counters = this.metrics.api(key);
    const startedAt = this.services.clock.monotonic();
    if (version < served.versions[0] || version > served.versions[1]) {
      if (api.key !== apiVersions.key) {
        throw new MalformedFrame(
          `${api.name} version ${version} is not served (${served.versions[0]} to ${served.versions[1]} are)`,
        );
      }
      counters.failed(ErrorCode.UNSUPPORTED_VERSION);
      return {
        answer: unsupportedApiVersions(frame, served),
        frameIsFree: true,
      };
    }
    const reader = new Reader(frame);
    const header = requestHeader.read(reader, requestHeaderVersion(api, version));
    // Bytes after the request are let pass, as Kafka does: librdkafka leaves some behind the requests of static members.
    const request = decode(api, reader, version);
    const { correlationId, clientId } = header;
    const context = new Context(
      this.services,
      peer,
      version,
      clientId ?? "",
      new Loans(this.buffers),
      startedAt,
    );
    const requestBytes = frame.length + 4;
    const count = (response: object | null, answer: Answer): Answer => {
      counters.failed((response as { errorCode?: number } | null)?.errorCode ?? ErrorCode.NONE);
      counters.answered(requestBytes, sizeOf(answer), this.services.clock.monotonic() - startedAt);
      return answer;
    };
    const { quotas } = this.services;
    const sharedAs = served.sharedAs?.(request, context) ?? null;
    // Where a quota may have something to say, each answer is its own.
    if (sharedAs !== null && !quotas.request.isSet) {
      const answer = this.sharedAnswer(served, version, sharedAs, correlationId, request, context);
      return { answer: count(null, answer), frameIsFree: true };
    }
    const finish = (response: object | null): Answer => {
      if (quotas.isActive) {
        const throttleMs = throttle(api, context, frame.length, response);
        if (throttleMs > 0) {
          peer.mute(throttleMs);
          // A copy: what a handler gives may be one for all.
          if (response !== null) response = { ...response, throttleTimeMs: throttleMs };
        }
      }
      const answer = response === null
        ? null
        : joinLent(encode(api, version, correlationId, response), context.loans.buffers);
      return count(response, answer);
    };
    const response = served.handler(request, context);
    const later = isPromiseLike<object | null>(response);
    if (later && quotas.isActive) context.waits();
    return {
      answer: later ? response.then(finish) : finish(response),
      // What Produce brings is in the log when it answers at once; others may remember bytes as long as they like.
      frameIsFree: !api.request.hasViews || (!later && api.key === produce.key),
      sent: api.key !== fetch.key ? undefined : () => context.loans.giveAll(),
    };
  }

  /** An answer that all get who ask for the same; made when it was not made yet under the present metadata. */
  private sharedAnswer(
    { api, handler }: Served,
    version: number,
    sharedAs: string,
    correlationId: number,
    request: object,
    context: RequestContext,
  ): Chunk[] {
    const key = `${api.key} ${version} ${sharedAs}`;
    const stamp = this.services.cluster.image.version;
    const kept = this.shared.get(key, stamp, correlationId);
    if (kept !== null) return kept;
    const response = handler(request, context);
    assert(
      response !== null && !isPromiseLike(response),
      `${api.name} shares an answer that it does not have at once`,
    );
    const answer = encode(api, version, correlationId, response);
    this.shared.keep(key, stamp, concatChunks(answer));
    return answer;
  }
}

/** One request's surroundings: an object of one shape, since there is one for each request. */
class Context implements RequestContext {
  private handledInMs: number | null = null;

  constructor(
    readonly services: Services,
    private readonly peer: Peer,
    readonly version: number,
    readonly clientId: string,
    readonly loans: Loans,
    private readonly startedAtMs: number,
  ) {}

  /** Ends the time that counts as the request's. */
  waits(): void {
    this.handledInMs = this.handlerTimeMs();
  }

  handlerTimeMs(): number {
    return this.handledInMs ?? this.services.clock.monotonic() - this.startedAtMs;
  }

  get clientHost(): string {
    return this.peer.clientHost;
  }
  get listenerName(): string {
    return this.peer.listenerName;
  }
  get remote(): string {
    return this.peer.remote;
  }
  get connection(): { readonly isOver: boolean } {
    return this.peer.lifetime;
  }
  get principal(): Principal {
    return this.peer.principal;
  }
  get software(): ClientSoftware | null {
    return this.peer.software;
  }
  set software(software: ClientSoftware | null) {
    this.peer.software = software;
  }
  get sendsFiles(): boolean {
    return this.peer.sendsFiles;
  }
  get onDisconnect(): (() => void) | null {
    return this.peer.onDisconnect;
  }
  set onDisconnect(callback: (() => void) | null) {
    this.peer.onDisconnect = callback;
  }
  growAnswer(bytes: number): Promise<void> | null {
    return this.peer.growAnswer(bytes);
  }
  disconnect(reason: string): void {
    this.peer.disconnect(reason);
  }
}

function sizeOf(answer: Answer): number {
  let bytes = 0;
  if (answer !== null) { for (let i = 0; i < answer.length; i++) bytes += answer[i].length; }
  return bytes;
}

function int16(bytes: Uint8Array, at: number): number {
  return bytes[at] << 24 >> 16 | bytes[at + 1];
}

/** Throws {@link MalformedFrame} that names the API, for the log. */
function decode(api: Api, reader: Reader, version: number) {
  try {
    return api.request.read(reader, version);
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    throw new MalformedFrame(`${api.name} version ${version}: ${error.message}`, { cause: error });
  }
}

/** Throws {@link Unwritable} that names the API, for the log. */
function encode(api: Api, version: number, correlationId: number, response: object): Chunk[] {
  try {
    return encodeResponse(api, version, correlationId, response as never);
  } catch (error) {
    if (!(error instanceof Unwritable)) throw error;
    throw new Unwritable(`answer to ${api.name} version ${version}: ${error.message}`, { cause: error });
  }
}

/** Error 35 with the range that is served (KIP-511); the header's first eight bytes are the same in all versions. */
function unsupportedApiVersions(frame: Uint8Array, served: Served): Answer {
  const correlationId = new Reader(frame, 4).int32();
  return encodeResponse(apiVersions, 0, correlationId, {
    errorCode: ErrorCode.UNSUPPORTED_VERSION,
    apiKeys: [{ apiKey: apiVersions.key, minVersion: served.versions[0], maxVersion: served.versions[1] }],
  });
}
