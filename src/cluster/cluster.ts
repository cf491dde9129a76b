/**
 * The cluster as this broker sees it: the stored metadata, its image in memory, and those who want to hear of changes.
 * A change is decided on the image, committed under the condition that nothing it touches has changed meanwhile, and
 * gets into the image by the store's watch only, in the order of commits, whoever made them.
 *
 * What is stored is the truth about which topics exist. After a crash there may be topics whose directories were not
 * made yet, and directories whose topics are gone: whoever owns the directories sorts that out from the image at start.
 * Which of the latter may go is stored too: what no deletion has named was not deleted by anybody.
 */
import { assert } from "../base/assert.ts";
import { StartupError } from "../base/startup_error.ts";
import { ErrorCode } from "../codec/errors.ts";
import { newUuid } from "../codec/uuid.ts";
import type { BrokerConfig } from "../config/broker_config.ts";
import { validateTopicSettings } from "../config/resource_settings.ts";
import { type AdoptableTopic, adoptedTopic } from "./adopt.ts";
import { type AlterableResource, type AlterConfigsResult, planAlterConfigs } from "./alter_configs.ts";
import { type AlterQuotasResult, planAlterQuotas, type QuotaAlteration } from "./client_quotas.ts";
import { type CreatePartitionsResult, type GrowingTopic, planCreatePartitions } from "./create_partitions.ts";
import {
  accepted,
  type CreatableTopic,
  type CreateTopicResult,
  type CreateTopicsContext,
  planCreateTopics,
  refused,
} from "./create_topics.ts";
import { type DeletableTopic, type DeleteTopicResult, planDeleteTopics } from "./delete_topics.ts";
import {
  type Feature,
  type FeatureUpdate,
  planUpdateFeatures,
  supportedFeatures,
  type UpdateFeaturesResult,
} from "./features.ts";
import { type BrokerImage, type MetadataImage, MutableImage, type TopicImage } from "./image.ts";
import { applyBatch, type ClusterChange } from "./image_changes.ts";
import { internalTopicRequest, isInternalTopic } from "./internal_topics.ts";
import type { PartitionAllowance } from "./partition_allowance.ts";
import { type Random, systemRandom } from "./placement.ts";
import {
  BROKER_CONFIG_PREFIX,
  CLIENT_METRICS_CONFIG_PREFIX,
  CLUSTER_KEY,
  clusterRow,
  configRow,
  CorruptRow,
  DELETION_PREFIX,
  deletionRow,
  FEATURES_KEY,
  featuresRow,
  GROUP_CONFIG_PREFIX,
  parseClusterRow,
  QUOTA_PREFIX,
  quotaRow,
  TOPIC_PREFIX,
  topicRow,
} from "./rows.ts";
import { settingRules } from "./setting_rules.ts";
import {
  ABSENT,
  type ChangeBatch,
  type Listing,
  type MetadataStore,
  StoreFailure,
  type Watch,
} from "./store.ts";

/** Hears of a change right after the image shows it. What it returns is waited for before the change is answered. */
export type ChangeListener = (change: ClusterChange) => void | Promise<void>;

export interface ClusterOptions {
  readonly store: MetadataStore;
  /** This broker's id; it is the controller, too. */
  readonly nodeId: number;
  /** The registered brokers, this one among them. */
  readonly brokers: readonly BrokerImage[];
  readonly config: BrokerConfig;
  /** Default: what this release has. */
  readonly features?: readonly Feature[];
  /** The id in a `meta.properties` that is there already; the store has to agree, or takes it over when it is new. */
  readonly clusterId?: string | null;
  readonly random?: Random;
  /** Is told in one line of what went wrong and has nobody else to tell: a listener that failed, the store. */
  readonly report: (problem: string) => void;
}

/** Rows to write, null to delete, and what the caller gets when that has happened. */
interface Update<T> {
  readonly rows: ReadonlyMap<string, string | null>;
  readonly results: readonly T[];
}

/** Each failed comparison means that another broker got through, so this many in a row are not bad luck. */
const MAX_ATTEMPTS = 100;

export class Cluster {
  readonly #options: ClusterOptions;
  readonly #random: Random;
  readonly #image: MutableImage;
  readonly #revisions = new Map<string, number>();
  readonly #deletions = new Set<string>();
  readonly #listeners = new Set<ChangeListener>();
  #appliedRevision: number;
  #awaiting: { readonly revision: number; readonly resolve: () => void }[] = [];
  #listenersDone: Promise<void> = Promise.resolve();
  #lastUpdate: Promise<unknown> = Promise.resolve();
  /** The store may be closed from here on. */
  #isClosed = false;
  readonly #watch: Watch;

  /** This broker's id. */
  readonly nodeId: number;
  #isNew: boolean;

  private constructor(options: ClusterOptions, listing: Listing, clusterId: string, isNew: boolean) {
    this.#options = options;
    this.#random = options.random ?? systemRandom;
    this.nodeId = options.nodeId;
    this.#isNew = isNew;
    this.#image = new MutableImage(clusterId, options.nodeId);
    for (const broker of options.brokers) this.#image.brokers.set(broker.id, broker);
    applyBatch(this.#image, { revision: listing.revision, put: listing.entries, delete: [] });
    for (const { key, revision } of listing.entries) this.#noteRow(key, revision);
    this.#appliedRevision = listing.revision;
    this.#watch = options.store.watch(listing.revision, (batch) => this.#apply(batch));
  }

  /**
   * Reads everything that is stored. Throws {@link StartupError} when it cannot be read, or belongs to a cluster with
   * another id than `options.clusterId`.
   */
  static async open(options: ClusterOptions): Promise<Cluster> {
    const { store } = options;
    try {
      await claimClusterId(options);
      const listing = await store.list("");
      const { clusterId, isNew } = parseClusterRow(
        listing.entries.find(({ key }) => key === CLUSTER_KEY)!.value,
      );
      if (options.clusterId && options.clusterId !== clusterId) {
        throw new StartupError(
          `Cannot join cluster ${clusterId} of ${store.location}: meta.properties says ${options.clusterId}. ` +
            "The two belong to different brokers; put the right one in its place.",
        );
      }
      return new Cluster(options, listing, clusterId, isNew);
    } catch (error) {
      throw unusable(store, error);
    }
  }

  /** The id of the cluster that a store belongs to, null when it is new. Throws {@link StartupError}. */
  static async storedClusterId(store: MetadataStore): Promise<string | null> {
    try {
      const { entries } = await store.list(CLUSTER_KEY);
      const row = entries.find(({ key }) => key === CLUSTER_KEY);
      return row === undefined ? null : parseClusterRow(row.value).clusterId;
    } catch (error) {
      throw unusable(store, error);
    }
  }

  /** Changes under the reader's hands after an `await`; the values in it do not. */
  get image(): MetadataImage {
    return this.#image;
  }

  /**
   * Whether the store knows nothing of topics yet, not even that there are none: directories that are there belong to
   * topics to be adopted, not to topics that were deleted. True until the first change is stored, over restarts too, so
   * that a crash before the adoption does not turn into the loss of the directories.
   */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** The features that the cluster has; `image.featureLevels` has the levels that were set. */
  get features(): readonly Feature[] {
    return this.#options.features ?? supportedFeatures;
  }

  /** Counts the commits that the image shows, restarts included: what the offset in its metadata log is to Kafka. */
  get revision(): number {
    return this.#appliedRevision;
  }

  /** Calls `listener` with every change from now on. The function that comes back ends that. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Adds or replaces a broker, for addresses that are known only once a socket listens. */
  registerBroker(broker: BrokerImage): void {
    this.#image.brokers.set(broker.id, broker);
    this.#image.version++;
  }

  /** One result for each name. When it resolves, the topics exist and whoever listens is ready to serve them. */
  createTopics(
    topics: readonly CreatableTopic[],
    validateOnly = false,
    allowance?: PartitionAllowance,
  ): Promise<readonly CreateTopicResult[]> {
    return this.#update(() => {
      const { results, created } = planCreateTopics(this.#image, topics, this.#createContext(), allowance);
      return { results, rows: validateOnly ? new Map() : topicRows(created) };
    }, failedCreation);
  }

  /**
   * Creates those of `names` that do not exist, with the broker's defaults, internal topics in their own way. A topic
   * that exists counts as created.
   */
  autoCreateTopics(
    names: readonly string[],
    allowance?: PartitionAllowance,
  ): Promise<readonly CreateTopicResult[]> {
    return this.#update(() => {
      const distinct = [...new Set(names)];
      const missing = distinct.filter((name) => !this.#image.topics.has(name));
      const requests = missing.map((name) => this.#automaticRequest(name));
      const { results, created } = planCreateTopics(this.#image, requests, this.#createContext(), allowance);
      const resultOf = new Map(results.map((result) => [result.name, result]));
      return {
        results: distinct.map((name) => resultOf.get(name) ?? accepted(this.#image.topics.get(name)!)),
        rows: topicRows(created),
      };
    }, failedCreation);
  }

  /** See {@link planDeleteTopics}; with a new commit to wait for. */
  deleteTopics(
    topics: readonly DeletableTopic[],
    allowance?: PartitionAllowance,
  ): Promise<readonly DeleteTopicResult[]> {
    return this.#update(() => {
      const enabled = this.#options.config.get("delete.topic.enable");
      const { results, deleted } = planDeleteTopics(this.#image, topics, enabled, allowance);
      const rows = new Map<string, string | null>();
      for (const { name, topicId } of deleted) {
        rows.set(TOPIC_PREFIX + name, null).set(DELETION_PREFIX + topicId, deletionRow(name));
      }
      return { results, rows };
    }, failed);
  }

  /** Ids of topics that were deleted, and whose directories may still be there: see {@link finishDeletions}. */
  get deletions(): ReadonlySet<string> {
    return this.#deletions;
  }

  /**
   * Forgets deletions of topics none of whose directories are left. Never rejects: what the store does not take is done
   * at the next start. Not to be waited for by a listener, whose own change goes first.
   */
  finishDeletions(topicIds: readonly string[]): Promise<void> {
    return this.#exclusively(async () => {
      const known = topicIds.filter((id) => this.#deletions.has(id));
      if (known.length === 0 || this.#isClosed) return;
      try {
        await this.#commit(new Map(known.map((id) => [DELETION_PREFIX + id, null])));
      } catch (error) {
        if (!(error instanceof StoreFailure)) throw error;
        this.#options.report(error.message);
      }
    });
  }

  /** One result for each name. When it resolves, whoever listens is ready to serve the new partitions. */
  createPartitions(
    topics: readonly GrowingTopic[],
    validateOnly = false,
    allowance?: PartitionAllowance,
  ): Promise<readonly CreatePartitionsResult[]> {
    return this.#update(() => {
      const { results, changed } = planCreatePartitions(this.#image, topics, this.#random, allowance);
      return { results, rows: validateOnly ? new Map() : topicRows(changed) };
    }, failed);
  }

  /** AlterConfigs, or with `incremental` IncrementalAlterConfigs. One result for each resource. */
  alterConfigs(
    resources: readonly AlterableResource[],
    options: { readonly incremental: boolean; readonly validateOnly: boolean },
  ): Promise<readonly AlterConfigsResult[]> {
    const rules = settingRules(this.#options.config);
    return this.#update(() => {
      const plan = planAlterConfigs(this.#image, resources, options.incremental, rules);
      const rows: Map<string, string | null> = topicRows(plan.topics);
      const set = (prefix: string, changed: ReadonlyMap<string, ReadonlyMap<string, string>>) => {
        for (const [name, configs] of changed) {
          rows.set(prefix + name, configs.size > 0 ? configRow(configs) : null);
        }
      };
      set(BROKER_CONFIG_PREFIX, plan.brokerConfigs);
      set(GROUP_CONFIG_PREFIX, plan.groupConfigs);
      set(CLIENT_METRICS_CONFIG_PREFIX, plan.clientMetricsConfigs);
      return { results: plan.results, rows: options.validateOnly ? new Map() : rows };
    }, failed);
  }

  /** One result for each entity. When it resolves, the quotas hold. */
  alterClientQuotas(
    alterations: readonly QuotaAlteration[],
    validateOnly: boolean,
  ): Promise<readonly AlterQuotasResult[]> {
    return this.#update(() => {
      const { results, changed } = planAlterQuotas(this.#image.clientQuotas, alterations);
      const rows = new Map<string, string | null>();
      for (const [entity, quotas] of validateOnly ? [] : changed) {
        rows.set(QUOTA_PREFIX + entity, quotas.size > 0 ? quotaRow(quotas) : null);
      }
      return { results, rows };
    }, failed);
  }

  /** All updates or none, see {@link planUpdateFeatures}. When it resolves, the levels hold. */
  async updateFeatures(
    updates: readonly FeatureUpdate[],
    validateOnly: boolean,
  ): Promise<UpdateFeaturesResult> {
    const [result] = await this.#update(() => {
      const { featureLevels } = this.#image;
      const { result, levels } = planUpdateFeatures(featureLevels, updates, this.features);
      const isNew = [...levels].some(([name, level]) => featureLevels.get(name) !== level);
      const rows = isNew && !validateOnly ? [[FEATURES_KEY, featuresRow(levels)] as const] : [];
      return { results: [result], rows: new Map(rows) };
    }, failed);
    return result;
  }

  /**
   * Takes over the topics of a data directory that another broker wrote. Only for a cluster that {@link isNew}; see to the
   * producer ids first (`ProducerIds.skipPast`), since this happens once. Unlike the methods above it rejects when the
   * store fails: a start that goes on without the topics would lose them.
   */
  async adoptTopics(topics: readonly AdoptableTopic[]): Promise<readonly TopicImage[]> {
    assert(this.isNew && this.#image.topics.size === 0, "topics can only be adopted by a new cluster");
    return await this.#exclusively(async () => {
      const adopted = topics.map((topic) =>
        adoptedTopic(topic, this.nodeId, this.#options.config, () => newUuid(this.#fill))
      );
      const committed = await this.#commit(topicRows(adopted));
      assert(committed, "another broker writes to a cluster that is new here");
      return adopted;
    });
  }

  /** Waits for changes that are under way. The store stays open. */
  async close(): Promise<void> {
    // What is under way may bring more with it, as a deletion brings its end.
    let last: Promise<unknown> | null = null;
    while (last !== this.#lastUpdate) {
      last = this.#lastUpdate;
      await last;
    }
    this.#isClosed = true;
    this.#watch.close();
  }

  readonly #fill = (bytes: Uint8Array): Uint8Array => this.#random.bytes(bytes.length);

  #createContext(): CreateTopicsContext {
    const { config } = this.#options;
    return {
      defaultPartitions: config.get("num.partitions"),
      defaultReplicationFactor: config.get("default.replication.factor"),
      random: this.#random,
      newTopicId: () => newUuid(this.#fill),
      settingsProblem: (overrides) => validateTopicSettings(overrides, config),
    };
  }

  #automaticRequest(name: string): CreatableTopic {
    if (isInternalTopic(name)) {
      return internalTopicRequest(name, this.#options.config, this.#image.brokers.size);
    }
    return { name, numPartitions: -1, replicationFactor: -1, assignments: [], configs: [] };
  }

  /** Decides and commits, and decides again when another broker was faster. `fail` is what a result becomes without a store. */
  #update<T>(decide: () => Update<T>, fail: (result: T, problem: string) => T): Promise<readonly T[]> {
    return this.#exclusively(async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const { rows, results } = decide();
        if (rows.size === 0) return results;
        try {
          if (await this.#commit(rows)) return results;
        } catch (error) {
          if (!(error instanceof StoreFailure)) throw error;
          this.#options.report(error.message);
          return results.map((result) => fail(result, error.message));
        }
      }
      const problem = `Gave up after ${MAX_ATTEMPTS} attempts: other brokers keep changing the same metadata`;
      this.#options.report(problem);
      return decide().results.map((result) => fail(result, problem));
    });
  }

  /** False when one of the keys has changed; the image shows it then. */
  async #commit(changes: ReadonlyMap<string, string | null>): Promise<boolean> {
    const rows = new Map(changes);
    if (this.#isNew) rows.set(CLUSTER_KEY, clusterRow({ clusterId: this.#image.clusterId, isNew: false }));
    const compare = [...rows.keys()].map((key) => ({ key, revision: this.#revisions.get(key) ?? ABSENT }));
    const put: { key: string; value: string }[] = [];
    const deleted: string[] = [];
    for (const [key, value] of rows) {
      if (value === null) deleted.push(key);
      else put.push({ key, value });
    }
    const { ok, revision } = await this.#options.store.commit({ compare, put, delete: deleted });
    await this.#reached(revision);
    if (!ok) return false;
    this.#isNew = false;
    await this.#listenersDone;
    return true;
  }

  /** One change at a time, so that each decides on an image that shows those before it. */
  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lastUpdate.then(work);
    // A failure belongs to its caller; those who come after it go on.
    this.#lastUpdate = result.catch(() => {});
    return result;
  }

  #apply(batch: ChangeBatch): void {
    const change = applyBatch(this.#image, batch);
    for (const key of batch.delete) this.#noteRow(key, ABSENT);
    for (const { key } of batch.put) this.#noteRow(key, batch.revision);
    this.#appliedRevision = batch.revision;
    if (change !== null) {
      const [before, now] = [this.#listenersDone, this.#notify(change)];
      this.#listenersDone = before.then(() => now);
    }
    const reached = this.#awaiting.filter(({ revision }) => revision <= batch.revision);
    this.#awaiting = this.#awaiting.filter(({ revision }) => revision > batch.revision);
    for (const { resolve } of reached) resolve();
  }

  #noteRow(key: string, revision: number): void {
    if (revision === ABSENT) this.#revisions.delete(key);
    else this.#revisions.set(key, revision);
    if (!key.startsWith(DELETION_PREFIX)) return;
    const topicId = key.slice(DELETION_PREFIX.length);
    if (revision === ABSENT) this.#deletions.delete(topicId);
    else this.#deletions.add(topicId);
  }

  async #notify(change: ClusterChange): Promise<void> {
    const calls = [...this.#listeners].map(async (listener) => await listener(change));
    for (const outcome of await Promise.allSettled(calls)) {
      // The change is stored whatever a listener makes of it, so this can only be said, not undone.
      if (outcome.status === "rejected") {
        this.#options.report(`A change of the metadata was not taken over in full: ${outcome.reason}`);
      }
    }
  }

  /** Resolves when the image shows `revision`; an embedded store's always does. */
  #reached(revision: number): Promise<void> {
    if (this.#appliedRevision >= revision) return Promise.resolve();
    return new Promise((resolve) => this.#awaiting.push({ revision, resolve }));
  }
}

/** What to tell the operator of a store that cannot be read; other errors come back as they are. */
function unusable(store: MetadataStore, error: unknown): unknown {
  if (!(error instanceof CorruptRow || error instanceof StoreFailure)) return error;
  return new StartupError(
    `Cannot use ${store.location}: ${error.message}. Put back a copy of it, or move it away: the broker then finds ` +
      "its topics again by their directories, but not their settings.",
    { cause: error },
  );
}

/** Sees to it that the store has a cluster id. */
async function claimClusterId({ store, clusterId, random = systemRandom }: ClusterOptions): Promise<void> {
  const { entries } = await store.list(CLUSTER_KEY);
  if (entries.some(({ key }) => key === CLUSTER_KEY)) return;
  const id = clusterId ?? newUuid((bytes) => random.bytes(bytes.length));
  // Where the comparison fails, another broker has just done it.
  await store.commit({
    compare: [{ key: CLUSTER_KEY, revision: ABSENT }],
    put: [{ key: CLUSTER_KEY, value: clusterRow({ clusterId: id, isNew: true }) }],
    delete: [],
  });
}

function topicRows(topics: readonly TopicImage[]): Map<string, string> {
  return new Map(topics.map((topic) => [TOPIC_PREFIX + topic.name, topicRow(topic)]));
}

function failed<T extends { errorCode: number; errorMessage: string | null }>(result: T, problem: string): T {
  if (result.errorCode !== ErrorCode.NONE) return result;
  return { ...result, errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, errorMessage: problem };
}

function failedCreation(result: CreateTopicResult, problem: string): CreateTopicResult {
  if (result.errorCode !== ErrorCode.NONE) return result;
  return refused(result.name, { errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, errorMessage: problem });
}
