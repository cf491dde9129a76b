/** How many connections one address may have: `max.connections.per.ip` and `max.connections.per.ip.overrides`. */

/** Limits of single addresses, and what could not be understood of the setting. */
export interface IpOverrides {
  readonly limits: ReadonlyMap<string, number>;
  readonly problems: readonly string[];
}

/** What "localhost" is, in both families. */
const LOCALHOST = ["127.0.0.1", "::1"];

/** Reads `max.connections.per.ip.overrides`: `address:count`, between commas; IPv6 addresses may be in brackets. */
export function parseIpOverrides(text: string): IpOverrides {
  const limits = new Map<string, number>();
  const problems: string[] = [];
  for (const entry of text.split(",").map((part) => part.trim()).filter((part) => part !== "")) {
    const [, host, count] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const addresses = host === undefined ? null : addressesOf(host);
    if (addresses === null) problems.push(`${entry} is not an address (or localhost), a colon and a number`);
    for (const address of addresses ?? []) limits.set(address, Number(count));
  }
  return { limits, problems };
}

/** A name would have to be resolved for each connection, and may be another address the next time. */
function addressesOf(host: string): readonly string[] | null {
  if (host === "localhost") return LOCALHOST;
  const address = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const isIpv4 = /^\d{1,3}(\.\d{1,3}){3}$/.test(address), isIpv6 = /^[0-9a-f:.]*:[0-9a-f:.]*$/.test(address);
  return isIpv4 || isIpv6 ? [address] : null;
}

/**
 * The limit of an address under settings that may change; `report` is told what cannot be understood of them, once
 * for each text.
 */
export function ipLimits(
  settings: () => { readonly maxPerIp: number; readonly overrides: string },
  report: (problem: string) => void,
): (address: string) => number {
  let text = "", parsed = parseIpOverrides(text);
  return (address) => {
    const { maxPerIp, overrides } = settings();
    if (overrides !== text) {
      parsed = parseIpOverrides(text = overrides);
      for (const problem of parsed.problems) report(`max.connections.per.ip.overrides: ${problem}`);
    }
    return parsed.limits.get(address) ?? maxPerIp;
  };
}
