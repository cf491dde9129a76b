/**
 * Which APIs this broker serves, in which versions, and by which handler. ApiVersions, the metrics and the table in
 * the README derive from it: what is not in the list does not exist for clients.
 */
import type { Api, RequestOf, Versions } from "../codec/schema.ts";
import type { Handler, RequestContext } from "./context.ts";

/** One line of the registry. */
export interface Served {
  readonly api: Api;
  readonly versions: Versions;
  // deno-lint-ignore no-explicit-any -- the types met in serve(); the list has handlers of every API
  readonly handler: (request: any, context: RequestContext) => any;
  /**
   * Tells requests apart whose answers can be kept, as long as the metadata does not change, for all who ask the same in the
   * same version; null for others. The handler answers those at once.
   */
  // deno-lint-ignore no-explicit-any -- as above
  readonly sharedAs?: (request: any, context: RequestContext) => string | null;
}

/** Serves `api` by `handler`, in all its stable versions or in those given. */
export function serve<A extends Api>(
  api: A,
  handler: Handler<A>,
  { versions, sharedAs }: {
    versions?: Versions;
    sharedAs?: (request: RequestOf<A>, context: RequestContext) => string | null;
  } = {},
): Served {
  const [first, last] = api.versions;
  const lastStable = api.unstable === last ? last - 1 : last;
  return { api: api as unknown as Api, versions: versions ?? [first, lastStable], handler, sharedAs };
}

/** With the version after those that are served, where that is the one that is not stable. */
function withUnstable(served: Served): Served {
  const { api: { unstable }, versions: [first, last] } = served;
  return unstable === last + 1 ? { ...served, versions: [first, unstable] } : served;
}

export class Registry {
  private readonly served: (Served | undefined)[] = [];

  readonly all: readonly Served[];

  constructor(all: readonly Served[], unstable = false) {
    this.all = unstable ? all.map(withUnstable) : all;
    for (const one of this.all) this.served[one.api.key] = one;
  }

  /** What serves the API with this key, if anything does. */
  byKey(key: number): Served | undefined {
    return this.served[key];
  }
}
