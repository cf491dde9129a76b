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
  /** Whether nobody has a limit. */
  readonly isEmpty: boolean;

  constructor(all: Iterable<ClientQuotas>, name: QuotaName) {
    let isEmpty = true;
    for (const { entity, quotas } of all) {
      const limit = quotas.get(name);
      if (limit === undefined) continue;
      isEmpty = false;
      const { user, "client-id": clientId } = entity;
      if (clientId === undefined) this.#users.set(user!, limit);
      else if (user === undefined) this.#clients.set(clientId, limit);
      else {
        const ofUser = this.#clientsOfUsers.get(user);
        if (ofUser === undefined) this.#clientsOfUsers.set(user, new Map([[clientId, limit]]));
        else ofUser.set(clientId, limit);
      }
    }
    this.isEmpty = isEmpty;
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
