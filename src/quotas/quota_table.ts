/**
 * Which limit holds for a client. Of all entities that it belongs to the most specific one counts, users before client
 * ids: user and client id, user and default client id, user, default user and client id, default user and default client
 * id, default user, client id, default client id.
 */
import type { ClientQuotas } from "../cluster/client_quotas.ts";

/** Quotas of users and client ids, by Kafka's names. */
export type QuotaName =
  | "producer_byte_rate"
  | "consumer_byte_rate"
  | "request_percentage"
  | "controller_mutation_rate";

/**
 * A limit, and who shares it: a quota of a user counts all of its clients together, that of a client id all users with
 * it. An empty name is anybody.
 */
export interface FoundQuota {
  readonly limit: number;
  readonly user: string;
  readonly clientId: string;
}

/** By name; null is the default. */
type Limits = Map<string | null, number>;

/** The limits of one quota. */
export class QuotaTable {
  readonly #users: Limits = new Map();
  readonly #clients: Limits = new Map();
  readonly #clientsOfUsers = new Map<string | null, Limits>();
  #count = 0;

  constructor(all: Iterable<ClientQuotas>, private readonly name: QuotaName) {
    this.change(all);
  }

  /** Whether nobody has a limit. */
  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Has these entities have what they have now. There may be many others: they are not looked at. */
  change(changed: Iterable<ClientQuotas>): void {
    for (const { entity: { user, "client-id": clientId }, quotas } of changed) {
      if (clientId !== undefined) {
        const limits = user === undefined ? this.#clients : this.#limitsOf(user);
        this.#set(limits, clientId, quotas);
        if (user !== undefined && limits.size === 0) this.#clientsOfUsers.delete(user);
      } else if (user !== undefined) this.#set(this.#users, user, quotas);
    }
  }

  #limitsOf(user: string | null): Limits {
    const known = this.#clientsOfUsers.get(user);
    if (known !== undefined) return known;
    const limits: Limits = new Map();
    this.#clientsOfUsers.set(user, limits);
    return limits;
  }

  #set(limits: Limits, name: string | null, quotas: ClientQuotas["quotas"]): void {
    const limit = quotas.get(this.name);
    if (limits.delete(name)) this.#count--;
    if (limit === undefined) return;
    limits.set(name, limit);
    this.#count++;
  }

  /** The limit for a client; null when it has none. */
  find(user: string, clientId: string): FoundQuota | null {
    for (const name of [user, null]) {
      const clients = this.#clientsOfUsers.get(name);
      const ofBoth = clients?.get(clientId) ?? clients?.get(null);
      if (ofBoth !== undefined) return { limit: ofBoth, user, clientId };
      const ofUser = this.#users.get(name);
      if (ofUser !== undefined) return { limit: ofUser, user, clientId: "" };
    }
    const ofClient = this.#clients.get(clientId) ?? this.#clients.get(null);
    return ofClient === undefined ? null : { limit: ofClient, user: "", clientId };
  }
}
