/**
 * Client quotas as metadata: which entities have which quotas, and what DescribeClientQuotas and AlterClientQuotas make of
 * them. Codes and the order of the checks are those of Kafka 4.4 (observed; tests/differential holds the recordings).
 *
 * An entity is a user, a client id, both, or an address; a name that is null stands for all that have none of their own.
 */
import { ErrorCode } from "../codec/errors.ts";
import { addressesOf } from "./ip_addresses.ts";

/** The kinds of parts that an entity has, in the order in which its key names them. */
export const ENTITY_TYPES = ["user", "client-id", "ip"] as const;
export type EntityType = (typeof ENTITY_TYPES)[number];

/** One entity by its parts; null is the default of that kind. */
export type QuotaEntity = Readonly<Partial<Record<EntityType, string | null>>>;

/** An entity with what is set for it, by the names of quotas. */
export interface ClientQuotas {
  readonly entity: QuotaEntity;
  readonly quotas: ReadonlyMap<string, number>;
}

type WireEntity = readonly { readonly entityType: string; readonly entityName: string | null }[];

/** An entry of an AlterClientQuotas request. */
export interface QuotaAlteration {
  readonly entity: WireEntity;
  readonly ops: readonly { readonly key: string; readonly value: number; readonly remove: boolean }[];
}

/** What the response says of an entity. */
export interface AlterQuotasResult {
  readonly errorCode: number;
  readonly errorMessage: string | null;
  readonly entity: WireEntity;
}

/** A component of a filter; `matchType` is a {@link MatchType}. */
export interface FilterComponent {
  readonly entityType: string;
  readonly matchType: number;
  readonly match: string | null;
}

export const MatchType = { EXACT: 0, DEFAULT: 1, ANY: 2 } as const;

/** What a quota's value may be: whole numbers have a largest one. */
interface QuotaRule {
  readonly max: number;
  readonly whole: boolean;
}

const LONG: QuotaRule = { max: 2 ** 63, whole: true };
const INT: QuotaRule = { max: 2 ** 31 - 1, whole: true };
const DOUBLE: QuotaRule = { max: Infinity, whole: false };

const USER_AND_CLIENT_QUOTAS: Readonly<Record<string, QuotaRule>> = {
  producer_byte_rate: LONG,
  consumer_byte_rate: LONG,
  request_percentage: DOUBLE,
  controller_mutation_rate: DOUBLE,
};
const IP_QUOTAS: Readonly<Record<string, QuotaRule>> = { connection_creation_rate: INT };

/** Whole numbers travel as doubles; this much beside one is no fraction. */
const FRACTION = 1e-6;

/** The text that stands for an entity, equal for equal ones. */
export function entityKey(entity: QuotaEntity): string {
  return JSON.stringify(Object.fromEntries(
    ENTITY_TYPES.filter((type) => entity[type] !== undefined).map((type) => [type, entity[type]]),
  ));
}

/** The entity that {@link entityKey} gave the text for; null when it stands for none. */
export function parseEntityKey(key: string): QuotaEntity | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(key);
  } catch {
    // Not ours: the caller says which text it was.
    return null;
  }
  if (typeof parsed !== "object" || parsed === null) return null;
  const sound = Object.entries(parsed).every(([type, name]) =>
    isEntityType(type) && (name === null || typeof name === "string")
  );
  return sound ? parsed : null;
}

export interface AlterQuotasPlan {
  /** One for each entity that the request names. */
  readonly results: readonly AlterQuotasResult[];
  /** All quotas that the entity will have, by its key. */
  readonly changed: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/**
 * Decides on a whole request. An entity changes as a whole or not at all. When it comes twice, the first time counts and
 * the answer says that it came twice, as in Kafka.
 */
export function planAlterQuotas(
  current: ReadonlyMap<string, ClientQuotas>,
  alterations: readonly QuotaAlteration[],
): AlterQuotasPlan {
  const results = new Map<string, AlterQuotasResult>();
  const changed = new Map<string, ReadonlyMap<string, number>>();
  for (const { entity: parts, ops } of alterations) {
    // A part that comes twice counts as it was named last.
    const named = new Map(parts.map(({ entityType, entityName }) => [entityType, entityName]));
    const entity = [...named].map(([entityType, entityName]) => ({ entityType, entityName }));
    const identity = JSON.stringify([...named].sort(([a], [b]) => a < b ? -1 : 1));
    const answer = (problem: string | null) => {
      const errorCode = problem === null ? ErrorCode.NONE : ErrorCode.INVALID_REQUEST;
      results.set(identity, { errorCode, errorMessage: problem, entity });
    };
    if (results.has(identity)) answer("The request names this entity more than once");
    else if (new Set(ops.map(({ key }) => key)).size < ops.length) {
      answer("The request names a quota of this entity more than once");
    } else {
      const problem = entityProblem(named) ??
        valuesProblem(named.has("ip") ? IP_QUOTAS : USER_AND_CLIENT_QUOTAS, ops);
      answer(problem);
      if (problem !== null) continue;
      const key = entityKey(Object.fromEntries(named));
      const before: ReadonlyMap<string, number> = current.get(key)?.quotas ?? new Map();
      const after = altered(before, ops);
      if (!areSame(before, after)) changed.set(key, after);
    }
  }
  return { results: [...results.values()], changed };
}

function altered(
  before: ReadonlyMap<string, number>,
  ops: QuotaAlteration["ops"],
): ReadonlyMap<string, number> {
  const after = new Map(before);
  for (const { key, value, remove } of ops) {
    if (remove) after.delete(key);
    else after.set(key, value);
  }
  return after;
}

function areSame(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

function entityProblem(named: ReadonlyMap<string, string | null>): string | null {
  if (named.size === 0) return "The entity has no parts";
  for (const [type, name] of named) {
    if (!isEntityType(type)) return `There are no quotas for the entity type "${type}"`;
    if (name === "") return `The name of a ${type} must not be empty; null stands for the default`;
  }
  if (!named.has("ip")) return null;
  if (named.size > 1) return "Quotas of an address cannot be combined with a user or a client id";
  const ip = named.get("ip")!;
  return ip === null || addressesOf(ip) !== null ? null : `"${ip}" is not an address (nor localhost)`;
}

/** What is removed is not looked at, whatever its name. */
function valuesProblem(
  rules: Readonly<Record<string, QuotaRule>>,
  ops: QuotaAlteration["ops"],
): string | null {
  for (const { key, value, remove } of ops) {
    if (remove) continue;
    if (!Object.hasOwn(rules, key)) return `This entity has no quota "${key}"`;
    const { max, whole } = rules[key];
    if (!Number.isFinite(value)) return `${key} must be a finite number, not ${value}`;
    if (value <= 0) return `${key} must be above 0, not ${value}`;
    if (value > max) return `${key} must be at most ${max}, not ${value}`;
    if (whole && value - Math.trunc(value) > FRACTION) return `${key} must be a whole number, not ${value}`;
  }
  return null;
}

/** What a filter finds; `entries` is null with an error. */
export interface DescribedQuotas {
  readonly errorCode: number;
  readonly errorMessage: string;
  readonly entries: readonly ClientQuotas[] | null;
}

/**
 * The entities that match all of `components`; with `strict` only those that have no other parts. Without components that
 * is every entity, or with `strict` none.
 */
export function describeQuotas(
  current: ReadonlyMap<string, ClientQuotas>,
  components: readonly FilterComponent[],
  strict: boolean,
): DescribedQuotas {
  const refusal = filterRefusal(components);
  if (refusal !== null) return { ...refusal, entries: null };
  const entries: ClientQuotas[] = [];
  if (components.length > 0 || !strict) {
    for (const one of current.values()) {
      if (strict && Object.keys(one.entity).length !== components.length) continue;
      if (components.every((component) => matches(one.entity, component))) entries.push(one);
    }
  }
  // Empty, not null, as in Kafka.
  return { errorCode: ErrorCode.NONE, errorMessage: "", entries };
}

function matches(entity: QuotaEntity, { entityType, matchType, match }: FilterComponent): boolean {
  const name = entity[entityType as EntityType];
  if (name === undefined) return false;
  return matchType === MatchType.ANY || name === match;
}

function filterRefusal(
  components: readonly FilterComponent[],
): { errorCode: number; errorMessage: string } | null {
  const invalid = (errorMessage: string) => ({ errorCode: ErrorCode.INVALID_REQUEST, errorMessage });
  const types = new Set<string>();
  for (const { entityType, matchType, match } of components) {
    if (entityType === "") return invalid("A component of the filter has no entity type");
    if (types.has(entityType)) {
      return invalid(`The filter names the entity type "${entityType}" more than once`);
    }
    if (!isEntityType(entityType)) {
      const errorMessage = `There are no quotas for the entity type "${entityType}"`;
      return { errorCode: ErrorCode.UNSUPPORTED_VERSION, errorMessage };
    }
    types.add(entityType);
    if (matchType !== MatchType.EXACT && matchType !== MatchType.DEFAULT && matchType !== MatchType.ANY) {
      return invalid(`There is no match type ${matchType}`);
    }
    if ((match === null) === (matchType === MatchType.EXACT)) {
      return invalid("An exact match needs a name, and only that has one");
    }
  }
  if (types.has("ip") && types.size > 1) {
    return invalid("A filter for addresses cannot be combined with one for users or client ids");
  }
  return null;
}

function isEntityType(type: string): type is EntityType {
  return (ENTITY_TYPES as readonly string[]).includes(type);
}
