/**
 * Counters, as plain number fields that the hot path adds to and a scrape reads. They are our own because the kept
 * Prometheus client takes 45 ms to import, half of what the whole broker may take to start.
 */

/** What happened to the requests of one API. */
export class ApiCounters {
  requests = 0;
  requestBytes = 0;
  responseBytes = 0;
  /** From the request's last byte read to its response handed to the socket; held requests wait inside of it. */
  totalTimeMs = 0;
  /** Responses by error code; 0 is not counted. */
  readonly errors = new Map<number, number>();

  /** Counts one request that was answered; `responseBytes` is 0 when there was no answer to send (acks=0). */
  answered(requestBytes: number, responseBytes: number, timeMs: number): void {
    this.requests++;
    this.requestBytes += requestBytes;
    this.responseBytes += responseBytes;
    this.totalTimeMs += timeMs;
  }

  /** Counts an error code in a response; one response may have several. */
  failed(errorCode: number): void {
    if (errorCode !== 0) this.errors.set(errorCode, (this.errors.get(errorCode) ?? 0) + 1);
  }
}

/** The counters of one API at one moment; `apiKey` is -1 for requests of APIs that there are not. */
export interface ApiSnapshot {
  readonly apiKey: number;
  readonly requests: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly totalTimeMs: number;
  readonly errors: ReadonlyMap<number, number>;
}

/** A number with what tells it apart from others of its name. */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** All counters at one moment. */
export interface MetricsSnapshot {
  readonly apis: readonly ApiSnapshot[];
  readonly connectionsOpened: number;
  readonly connectionsClosed: number;
  readonly connectionsActive: number;
  readonly malformedFrames: number;
  /** What others keep for themselves: {@link Metrics.addSource}. */
  readonly samples: readonly MetricSample[];
}

/** API keys are counted one by one below this; all others together, since a client may send any number. */
const apiKeysMax = 128;

/** The broker's counters since its start. */
export class Metrics {
  readonly #apis: (ApiCounters | undefined)[] = new Array(apiKeysMax).fill(undefined);
  readonly #otherApis = new ApiCounters();
  connectionsOpened = 0;
  connectionsClosed = 0;
  /** Frames that were not what the protocol says; their connections are closed. */
  malformedFrames = 0;
  readonly #sources: (() => Iterable<MetricSample>)[] = [];

  /** Has every snapshot ask `source`, for numbers that nobody wants to hear of between snapshots. */
  addSource(source: () => Iterable<MetricSample>): void {
    this.#sources.push(source);
  }

  /** The counters of an API; hold on to them rather than asking for each request. */
  api(apiKey: number): ApiCounters {
    if (!(apiKey >= 0 && apiKey < apiKeysMax)) return this.#otherApis;
    return this.#apis[apiKey] ??= new ApiCounters();
  }

  /** Requests answered, of all APIs together. */
  get requests(): number {
    return this.#apis.reduce((sum, api) => sum + (api?.requests ?? 0), this.#otherApis.requests);
  }

  /** Everything that was counted, APIs by key; APIs that nobody asked for are left out. */
  snapshot(): MetricsSnapshot {
    const apis: ApiSnapshot[] = [];
    const add = (apiKey: number, counters: ApiCounters | undefined) => {
      if (!counters || (counters.requests === 0 && counters.errors.size === 0)) return;
      const { requests, requestBytes, responseBytes, totalTimeMs } = counters;
      apis.push({
        apiKey,
        requests,
        requestBytes,
        responseBytes,
        totalTimeMs,
        errors: new Map(counters.errors),
      });
    };
    add(-1, this.#otherApis);
    this.#apis.forEach((counters, apiKey) => add(apiKey, counters));
    return {
      apis,
      connectionsOpened: this.connectionsOpened,
      connectionsClosed: this.connectionsClosed,
      connectionsActive: this.connectionsOpened - this.connectionsClosed,
      malformedFrames: this.malformedFrames,
      samples: this.#sources.flatMap((source) => [...source()]),
    };
  }
}
