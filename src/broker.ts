/**
 * The composition root: the only file that constructs everything, and the API for those who embed a broker. What is
 * built first is closed last.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "./base/clock.ts";
import { StartupError } from "./base/startup_error.ts";
import { lz4Library } from "./codec/compression/lz4.ts";
import { snappyLibrary } from "./codec/compression/snappy.ts";
import { crc32cImplementation } from "./codec/crc32c.ts";
import { describeChange } from "./cluster/change_log.ts";
import { Cluster } from "./cluster/cluster.ts";
import type { BrokerImage } from "./cluster/image.ts";
import { ProducerIds } from "./cluster/producer_ids.ts";
import { METADATA_FILE, SqliteStore } from "./cluster/sqlite.ts";
import type { RunningBroker } from "./cli/start.ts";
import type { BrokerConfig } from "./config/broker_config.ts";
import { advertisedPort, hostPort, type Listener } from "./config/listeners.ts";
import type { LoadedConfig } from "./config/load.ts";
import { Coordination } from "./coordination.ts";
import { registryOf } from "./handlers/all.ts";
import type { Services } from "./handlers/context.ts";
import { collectGarbage, IdleMemory, trimHeap } from "./observe/idle_memory.ts";
import { getLogger, type Logger, WarningLimiter } from "./observe/logging.ts";
import { Metrics } from "./observe/metrics.ts";
import { followQuotas } from "./quotas/follow.ts";
import { quotaSamples } from "./quotas/samples.ts";
import { FetchSessions } from "./replication/fetch_sessions.ts";
import { HeldRequests } from "./replication/held_requests.ts";
import { LogMover } from "./replication/log_mover.ts";
import { PartitionHost } from "./replication/partition_host.ts";
import { Replicas } from "./replication/replicas.ts";
import { SlowAppends } from "./replication/slow_appends.ts";
import type { ConnectionLimits } from "./server/connection.ts";
import { descriptorLimit, shareDescriptors } from "./server/descriptors.ts";
import { RequestDispatcher } from "./server/dispatch.ts";
import { MemoryBudget } from "./server/memory_budget.ts";
import { ipLimits } from "./server/ip_limits.ts";
import { SystemSockets } from "./server/sendfile.ts";
import { Server, type ServerOptions } from "./server/server.ts";
import type { CleanerOptions } from "./storage/cleaner/log_cleaner.ts";
import { cleanerSettings } from "./storage/cleaner/settings.ts";
import { WorkerThread } from "./storage/cleaner/thread.ts";
import { DataDirectoryError } from "./storage/directory/data_directory.ts";
import { IoError } from "./storage/files/files.ts";
import { machineBootId, realFiles } from "./storage/files/real.ts";
import { defaultLogConfig } from "./storage/log/config.ts";
import { KafkaMetadata } from "./storage/directory/kafka_metadata.ts";
import { LogDirectories } from "./storage/manager/log_directories.ts";
import { ProducerIdMark } from "./storage/producers/producer_id_mark.ts";
import { followTelemetry } from "./telemetry/follow.ts";
import { telemetrySamples } from "./telemetry/samples.ts";

/** How often the logs are looked after: flushes by time, retention, checkpoints. */
const UPKEEP_EVERY_MS = 1000;
/** How long a stop waits for clients to take the answers that they have been given. */
const STOP_PATIENCE_MS = 2000;
/** What quiet connections keep for reading, all of them together; less where memory for requests is set to less. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
/** For answers that are far larger than their requests, all of them together; less where memory is set to less. */
const MAX_LARGE_ANSWER_BYTES = 64 * 1024 * 1024;
/** Produce requests of one connection whose acknowledgement is out. */
const MAX_PIPELINED = 64;

/** Starts a broker; resolves when it answers. Throws {@link StartupError} when something outside is in the way. */
export async function startBroker(loaded: LoadedConfig, log: Logger): Promise<RunningBroker> {
  /** What has been opened, so that a start that fails closes it again. */
  const opened: (() => Promise<void> | void)[] = [];
  try {
    return await start(loaded, log, opened);
  } catch (error) {
    for (const close of opened.reverse()) await close();
    throw startupError(error);
  }
}

/** What is outside our power is told in one line; a bug keeps its stack trace. */
function startupError(error: unknown): unknown {
  if (error instanceof DataDirectoryError) return new StartupError(error.message, { cause: error });
  if (!(error instanceof IoError)) return error;
  const wayOut = "The data directory has to be readable and writable for this user, and to have space";
  return new StartupError(`${error.message}. ${wayOut}.`, { cause: error });
}

async function start(
  loaded: LoadedConfig,
  log: Logger,
  opened: (() => Promise<void> | void)[],
): Promise<RunningBroker> {
  const { config } = loaded;
  const clock = systemClock;
  const nodeId = config.get("node.id");
  const warn = warningsTo(log);
  // The levels of these can be changed while the broker runs.
  const storageLog = getLogger("storage"), clusterLog = getLogger("cluster");
  const warnOfStorage = warningsTo(storageLog), warnOfCluster = warningsTo(clusterLog);
  warnOfFallbacks(warn);

  const inFlightBytes = bound(config.get("queued.max.request.bytes"));
  const descriptors = shareDescriptors(descriptorLimit());
  const server = new Server({
    limits: connectionLimits(config),
    maxConnections: () => config.get("max.connections"),
    maxAcceptedPerSecond: () => config.get("max.connection.creation.rate"),
    maxByDescriptors: descriptors.connections,
    maxConnectionsOf: ipLimits(() => ({
      maxPerIp: config.get("max.connections.per.ip"),
      overrides: config.get("max.connections.per.ip.overrides"),
    }), warn),
    maxIdleMs: config.get("connections.max.idle.ms"),
    budget: new MemoryBudget(inFlightBytes),
    answers: new MemoryBudget(Math.min(MAX_LARGE_ANSWER_BYTES, inFlightBytes / 4)),
    // As much again as requests may take; Kafka has no setting for answers, which come from the page cache there.
    maxUnsentBytes: inFlightBytes,
    maxKeptBytes: Math.min(MAX_KEPT_BYTES, inFlightBytes / 4),
    maxMemoryWaitMs: config.get("trackway.request.memory.wait.ms"),
    clock,
    ...disconnects(getLogger("server")),
    sockets: new SystemSockets(descriptors.senders),
    metrics: new Metrics(),
  });
  opened.push(() => server.close());
  // First of all, so that a port that is taken is told at once, before anything is written.
  const addresses = bindAll(server, loaded.listeners);

  const { directories, metadataDirectory } = dataDirectories(loaded, warn);
  const kafka = new KafkaMetadata(realFiles, placesOfKafkasMetadata(directories, config), warnOfStorage);
  if (existsSync(join(metadataDirectory, METADATA_FILE))) {
    kafka.checkUnchanged(metadataDirectory, METADATA_FILE);
  }
  const openStore = () => {
    const store = SqliteStore.open(metadataDirectory, warnOfCluster);
    opened.push(() => store.close());
    return store;
  };
  // Once the directory is locked, and before anything in it is written.
  let openedStore: SqliteStore | undefined;
  const logs = await LogDirectories.open({
    files: realFiles,
    directories,
    metadataDirectory,
    isCordoned: (path) => isNamed(path, config.get("cordoned.log.dirs")),
    clusterId: null,
    storedClusterId: () => Cluster.storedClusterId(openedStore = openStore()),
    nodeId,
    clock,
    bootId: machineBootId(),
    configOf: () => defaultLogConfig,
    maxOpenFiles: descriptors.files,
    onWarning: warnOfStorage,
    onRecovered: (text) => storageLog.info("{text}", { text }),
    retentionCheckIntervalMs: config.get("log.retention.check.interval.ms"),
    checkpointIntervalMs: config.get("log.flush.offset.checkpoint.interval.ms"),
    recoveryBytesMax: config.get("trackway.recovery.max.bytes"),
    cleaner: config.get("log.cleaner.enable") ? cleaner(config, getLogger("storage.cleaner")) : undefined,
  });
  opened.push(() => logs.close());
  const store = openedStore ?? openStore();
  const self: BrokerImage = { id: nodeId, rack: config.get("broker.rack"), endpoints: addresses.endpoints };
  const cluster = await Cluster.open({
    store,
    nodeId,
    brokers: [self],
    config,
    clusterId: logs.meta.clusterId,
    report: warnOfCluster,
  });
  opened.push(() => cluster.close());

  takeDynamicSettings(config, cluster, nodeId, warn);

  const replicas = new Replicas();
  const host = new PartitionHost({ logs, cluster, replicas, config, clock, report: warnOfStorage });
  const idMark = new ProducerIdMark(realFiles, metadataDirectory, warnOfStorage);
  const producerIds = new ProducerIds(
    store,
    { read: () => Math.max(idMark.read(), kafka.nextProducerId()), write: (next) => idMark.write(next) },
    warnOfCluster,
  );
  await host.takeOver(producerIds);
  kafka.note(metadataDirectory);

  const coordinatorsLog = getLogger("coordinators");
  const coordination = new Coordination({
    config,
    cluster,
    replicas,
    producerIds,
    report: warningsTo(coordinatorsLog),
    inform: (text) => coordinatorsLog.info("{text}", { text }),
  });
  const slowAppends = new SlowAppends(clock);
  opened.push(() => slowAppends.close());
  const mover = new LogMover({
    logs,
    replicas,
    clock,
    report: warnOfStorage,
    bytesPerSecond: () => config.get("replica.alter.log.dirs.io.max.bytes.per.second") ?? Infinity,
    onMoved: (text) => storageLog.info("{text}", { text }),
  });
  opened.push(() => mover.close());
  mover.resume((topicId, index) => {
    const name = cluster.image.topicsById.get(topicId)?.name;
    return name === undefined ? undefined : replicas.get(name, index);
  });

  cluster.onChange(async (change) => {
    const hosted: Promise<void>[] = [];
    if (change.brokerConfigs.length > 0) {
      takeDynamicSettings(config, cluster, nodeId, warn);
      hosted.push(host.settingsChanged());
    }
    hosted.push(host.apply(change));
    coordination.apply(change);
    for (const text of describeChange(change)) clusterLog.info("{text}", { text });
    await Promise.all(hosted);
  });
  coordination.open();

  const quotas = followQuotas(config, cluster, clock);
  const telemetry = followTelemetry(config, cluster);
  server.metrics.addSource(() => quotaSamples(quotas, clock.monotonic()));
  server.metrics.addSource(() => telemetrySamples(telemetry, clock.monotonic()));
  const held = new HeldRequests();
  const services: Services = {
    config,
    clock,
    cluster,
    replicas,
    logs,
    slowAppends,
    mover,
    groups: coordination.groups,
    transactions: coordination.transactions,
    markers: coordination.markers,
    fetchSessions: new FetchSessions(config.get("max.incremental.fetch.session.cache.slots"), randomBelow),
    held,
    quotas,
    telemetry,
    answerRoomBytes: () => Math.max(0, inFlightBytes - server.unsentBytes),
    ensureInternalTopic: (topic) => coordination.ensureTopic(topic),
  };
  const unstable = config.get("unstable.api.versions.enable");
  const dispatcher = new RequestDispatcher(registryOf({ unstable }), services, server.metrics);
  server.start(dispatcher);

  const idleMemory = new IdleMemory(() => server.metrics.requests, () => {
    dispatcher.freeBuffers();
    collectGarbage();
    trimHeap();
  });
  const upkeep = every(UPKEEP_EVERY_MS, async () => {
    await host.retry();
    await logs.tick();
    coordination.retry();
    idleMemory.tick();
  }, warn);
  return {
    clusterId: cluster.image.clusterId,
    addresses: addresses.bound,
    async stop() {
      server.stopAccepting();
      coordination.close();
      held.endAll();
      await server.closeConnections(STOP_PATIENCE_MS);
      await upkeep.stop();
      await mover.close();
      slowAppends.close();
      await cluster.close();
      await logs.close();
      await store.close();
    },
  };
}

/**
 * The data directories by their absolute paths, and the one with the metadata: `metadata.log.dir`, or where it is already,
 * so that it is found whatever order they are named in, or else the first.
 */
function dataDirectories(
  { dataDirs, config }: LoadedConfig,
  warn: (text: string) => void,
): { directories: string[]; metadataDirectory: string } {
  const directories = [...new Set(dataDirs.map((path) => resolve(path)))];
  const withMetadata = directories.filter((path) => existsSync(join(path, METADATA_FILE)));
  if (withMetadata.length > 1) {
    throw new StartupError(
      `Cannot start: ${METADATA_FILE} is in ${withMetadata.join(" and in ")}, and only one can be right. ` +
        "Move the other away, with the -wal and -shm files beside it",
    );
  }
  const wanted = config.get("metadata.log.dir");
  const isOneOfThem = wanted !== null && directories.includes(resolve(wanted));
  // Kafka's may be elsewhere, which would be one more directory to lock and to check.
  if (wanted !== null && !isOneOfThem) {
    warn(`metadata.log.dir is ${wanted}, which is none of log.dirs: Trackway keeps nothing there`);
  }
  const metadataDirectory = isOneOfThem ? resolve(wanted) : withMetadata[0] ?? directories[0];
  if (withMetadata.some((path) => path !== metadataDirectory)) {
    throw new StartupError(
      `Cannot start: metadata.log.dir is ${wanted}, but ${METADATA_FILE} is in ${
        withMetadata[0]
      }. Move it, with the ` +
        "-wal and -shm files beside it",
    );
  }
  return { directories, metadataDirectory };
}

/** Kafka's own metadata may be in a directory that is none of its `log.dirs`. */
function placesOfKafkasMetadata(directories: readonly string[], config: BrokerConfig): string[] {
  const wanted = config.get("metadata.log.dir");
  return [...new Set([...directories, ...(wanted === null ? [] : [resolve(wanted)])])];
}

/** Whether a list of paths names this one, or all by "*". */
function isNamed(path: string, list: readonly string[]): boolean {
  return list.includes("*") || list.some((each) => resolve(each) === path);
}

function connectionLimits(config: BrokerConfig): ConnectionLimits {
  return {
    maxFrameBytes: config.get("socket.request.max.bytes"),
    maxUnsentBytes: config.get("trackway.connection.unsent.bytes"),
    maxPipelined: MAX_PIPELINED,
    minFrameBytesPerMs: config.get("trackway.request.min.bytes.per.second") / 1000,
  };
}

function cleaner(config: BrokerConfig, log: Logger): CleanerOptions {
  return {
    settings: () => cleanerSettings(config),
    makeThread: () => new WorkerThread(),
    onCleaned: (text) => log.debug("{text}", { text }),
  };
}

/** Tells what went wrong, a line each. */
function warningsTo(log: Logger): (text: string) => void {
  return (text) => log.warn("{text}", { text });
}

/** Says which native library could not be loaded: everything works without, but slower or larger. */
function warnOfFallbacks(warn: (text: string) => void): void {
  if (crc32cImplementation !== "native") warn(`No native library for CRC-32C: ${crc32cImplementation}`);
  for (const [what, library] of [["snappy", snappyLibrary], ["LZ4", lz4Library]] as const) {
    library.onMissing = (reason) =>
      warn(`No native library for ${what}, blocks are stored as they are: ${reason}`);
  }
}

/** Kafka's -1 is "no limit". */
function bound(value: number): number {
  return value < 0 ? Infinity : value;
}

/** Tells of clients that had to be cut off, with their address, but not as often as they come. */
function disconnects(log: Logger): Pick<ServerOptions, "onRefused" | "onFailed"> {
  const limiter = new WarningLimiter(log, systemClock);
  const closed = (remote: string, listenerName: string) =>
    `Closed the connection of ${remote} on ${listenerName}`;
  return {
    onRefused: (remote, listenerName, reason) =>
      limiter.warn("refused", `${closed(remote, listenerName)}: ${reason}`),
    onFailed: (remote, listenerName, error) =>
      limiter.error("failed", `${closed(remote, listenerName)}: a request failed`, error),
  };
}

interface Addresses {
  readonly bound: string[];
  readonly endpoints: Map<string, { host: string; port: number }>;
}

/** Binds every address; those of one listener that asked for any port share the one that the first was given. */
function bindAll(server: Server, listeners: readonly Listener[]): Addresses {
  const bound: string[] = [];
  const endpoints = new Map<string, { host: string; port: number }>();
  const chosen = new Map<string, number>();
  for (const listener of listeners) {
    const { name, host } = listener;
    const port = server.listen({ listenerName: name, host, port: listener.port || (chosen.get(name) ?? 0) });
    chosen.set(name, port);
    bound.push(hostPort(host, port));
    if (!endpoints.has(name)) {
      endpoints.set(name, { host: listener.advertisedHost, port: advertisedPort(listener, port) });
    }
  }
  return { bound, endpoints };
}

/** What clients changed of the broker's settings. */
function takeDynamicSettings(
  config: BrokerConfig,
  cluster: Cluster,
  nodeId: number,
  report: (problem: string) => void,
): void {
  const changed = (name: string) => cluster.image.brokerConfigs.get(name) ?? new Map<string, string>();
  for (const problem of config.setDynamic(changed(String(nodeId)), changed(""))) report(problem);
}

/** A random integer from 0 up to, not including, `bound`. */
function randomBelow(bound: number): number {
  return Math.floor(Math.random() * bound);
}

/** Runs `work` again and again, never twice at a time; a failure is told and does not end it. */
function every(ms: number, work: () => Promise<void>, report: (problem: string) => void) {
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= work().catch((error) => report(`upkeep failed: ${error?.stack ?? error}`)).finally(() =>
      running = null
    );
  }, ms);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
