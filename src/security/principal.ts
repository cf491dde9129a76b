/** Who a client is: what quotas, and permissions, are given to. */

export interface Principal {
  /** "User" for everybody so far. */
  readonly type: string;
  readonly name: string;
}

/** Everybody on a listener that asks for no proof. */
export const ANONYMOUS: Principal = { type: "User", name: "ANONYMOUS" };
