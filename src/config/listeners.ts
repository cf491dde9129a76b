/**
 * Where the broker listens and what it tells clients to connect to. A client that reached the broker once uses only the
 * advertised address from then on: a wrong one looks like a broker that answers and then hangs.
 */

/** One address to bind. Listeners of one name may have several; with port 0 they share the port that the first one gets. */
export interface Listener {
  readonly name: string;
  /** An address, or a name to resolve; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly advertisedHost: string;
  /** 0 when it is the bound port, whatever that turns out to be. */
  readonly advertisedPort: number;
  readonly securityProtocol: "PLAINTEXT";
}

/** An address of this machine. */
export interface MachineAddress {
  /** The interface's name, such as eth0. */
  readonly name: string;
  readonly family: "IPv4" | "IPv6";
  readonly address: string;
}

/** What has to be known of the machine; given from outside, so that a test can make one up. */
export interface Machine {
  readonly hostname: string;
  readonly addresses: readonly MachineAddress[];
}

/** The settings that matter here, as config.get() gives them. */
export interface ListenerSettings {
  readonly listeners: readonly string[];
  readonly advertisedListeners: readonly string[] | null;
  readonly securityProtocolMap: string;
  readonly interBrokerListenerName: string | null;
  readonly securityInterBrokerProtocol: string;
  readonly controllerListenerNames: readonly string[] | null;
}

/** What to bind, with what an operator should know; or why it cannot be. Each text is one line. */
export type ListenerPlan =
  | {
    readonly listeners: readonly Listener[];
    readonly interBrokerListenerName: string;
    readonly warnings: readonly string[];
  }
  | { readonly errors: readonly string[] };

/** `NAME://host:port` taken apart; the host without brackets. */
export interface Endpoint {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** Takes `NAME://host:port` apart; null when it is not that. Names are upper case, as in Kafka. */
export function parseEndpoint(text: string): Endpoint | null {
  const match = /^([A-Za-z0-9._-]+):\/\/(?:\[([0-9A-Fa-f:.%A-Za-z]*)\]|([^:/[\]\s]*)):(\d{1,5})$/.exec(
    text.trim(),
  );
  if (!match) return null;
  const port = Number(match[4]);
  return port > 65535 ? null : { name: match[1].toUpperCase(), host: match[2] ?? match[3], port };
}

/** `host:port`, with brackets where an IPv6 address needs them. */
export function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The port that clients are told, once the port of the socket is known. */
export function advertisedPort(listener: Listener, boundPort: number): number {
  return listener.advertisedPort === 0 ? boundPort : listener.advertisedPort;
}

/** Works out every address to bind and to advertise. */
export function planListeners(settings: ListenerSettings, machine: Machine): ListenerPlan {
  const errors: string[] = [];
  const warnings: string[] = [];
  const controllers = new Set((settings.controllerListenerNames ?? []).map((name) => name.toUpperCase()));
  const protocols = parseProtocolMap(settings.securityProtocolMap, errors);

  const endpoints = parseEndpoints("listeners", settings.listeners, errors).filter(({ name }) => {
    if (controllers.has(name)) warnings.push(`Listener ${name} is for a KRaft controller: not opened`);
    return !controllers.has(name);
  });
  const advertised = parseEndpoints("advertised.listeners", settings.advertisedListeners ?? [], errors)
    .filter(({ name }) => !controllers.has(name));
  if (errors.length > 0) return { errors };

  const names = new Set(endpoints.map(({ name }) => name));
  if (names.size === 0) {
    errors.push("listeners names no address for clients: add one such as PLAINTEXT://localhost:9092");
  }
  for (const name of names) {
    const error = refusedProtocol(name, protocols.get(name));
    if (error) errors.push(error);
  }
  errors.push(...refusedAdvertised(advertised, names));
  errors.push(...duplicates(endpoints));
  const interBrokerListenerName = interBroker(settings, names, protocols, errors);
  if (errors.length > 0) return { errors };

  const listeners: Listener[] = [];
  for (const endpoint of endpoints) {
    const told = advertised.find(({ name }) => name === endpoint.name);
    const address = told && told.host !== "" ? told : derivedAdvertised(endpoint, machine, warnings);
    if (!address) {
      errors.push(
        `Listener ${endpoint.name} is bound to every address and this machine has none that clients could use: set ` +
          `advertised.listeners=${endpoint.name}://<name that clients use>:${endpoint.port}`,
      );
      continue;
    }
    for (const host of boundHosts(endpoint.host, machine)) {
      listeners.push({
        name: endpoint.name,
        host,
        port: endpoint.port,
        advertisedHost: address.host,
        advertisedPort: told?.port ?? endpoint.port,
        securityProtocol: "PLAINTEXT",
      });
    }
  }
  return errors.length > 0 ? { errors } : { listeners, interBrokerListenerName, warnings };
}

function parseEndpoints(setting: string, texts: readonly string[], errors: string[]): Endpoint[] {
  const result: Endpoint[] = [];
  for (const text of texts) {
    const endpoint = parseEndpoint(text);
    if (endpoint) result.push(endpoint);
    else {errors.push(
        `Invalid value ${text} for configuration ${setting}: must look like PLAINTEXT://host:9092`,
      );}
  }
  return result;
}

function parseProtocolMap(text: string, errors: string[]): Map<string, string> {
  const result = new Map<string, string>();
  for (const pair of text.split(",").map((each) => each.trim()).filter((each) => each !== "")) {
    const at = pair.lastIndexOf(":");
    if (at < 1) {
      errors.push(
        `Invalid value ${pair} for configuration listener.security.protocol.map: must look like NAME:PLAINTEXT`,
      );
    } else {
      result.set(pair.slice(0, at).trim().toUpperCase(), pair.slice(at + 1).trim().toUpperCase());
    }
  }
  return result;
}

function refusedProtocol(name: string, protocol: string | undefined): string | null {
  if (protocol === "PLAINTEXT") return null;
  if (protocol === undefined) {
    return `Listener ${name} has no security protocol: add ${name}:PLAINTEXT to listener.security.protocol.map`;
  }
  if (["SSL", "SASL_PLAINTEXT", "SASL_SSL"].includes(protocol)) {
    return `Listener ${name} uses ${protocol}, which is not supported yet: use PLAINTEXT`;
  }
  return `Listener ${name} uses ${protocol}, which is no security protocol: use PLAINTEXT`;
}

function refusedAdvertised(advertised: readonly Endpoint[], names: ReadonlySet<string>): string[] {
  const errors: string[] = [];
  for (const { name, host } of advertised) {
    if (!names.has(name)) {
      errors.push(
        `advertised.listeners names ${name}, which is not among listeners (${[...names].join(", ")})`,
      );
    }
    if (isWildcard(host) && host !== "") {
      errors.push(
        `advertised.listeners gives ${host} for ${name}: clients cannot connect to it, name a real address`,
      );
    }
  }
  return errors;
}

function duplicates(endpoints: readonly Endpoint[]): string[] {
  const seen = new Set<string>();
  const errors: string[] = [];
  for (const { host, port } of endpoints) {
    const address = hostPort(host, port);
    if (port !== 0 && seen.has(address)) {
      errors.push(`listeners names ${address} twice: give each its own port`);
    }
    seen.add(address);
  }
  return errors;
}

function interBroker(
  settings: ListenerSettings,
  names: ReadonlySet<string>,
  protocols: ReadonlyMap<string, string>,
  errors: string[],
): string {
  const asked = settings.interBrokerListenerName?.toUpperCase();
  if (asked === undefined) {
    const wanted = settings.securityInterBrokerProtocol;
    return [...names].find((name) => protocols.get(name) === wanted) ?? [...names][0] ?? "";
  }
  if (!names.has(asked)) {
    errors.push(
      `inter.broker.listener.name is ${asked}, which is not among listeners (${[...names].join(", ")})`,
    );
  }
  return asked;
}

/** What to bind for a host. `localhost` is both loopback addresses, because clients try ::1 first. */
function boundHosts(host: string, machine: Machine): string[] {
  const hasIPv6 = machine.addresses.some(({ family }) => family === "IPv6");
  if (host === "localhost") {
    return machine.addresses.some(({ address }) => address === "::1") ? ["127.0.0.1", "::1"] : ["127.0.0.1"];
  }
  // One socket on :: takes both families; where there is no IPv6 at all it could not be opened.
  return host === "" ? [hasIPv6 ? "::" : "0.0.0.0"] : [host];
}

function isWildcard(host: string): boolean {
  return host === "" || host === "0.0.0.0" || /^[0:]+$/.test(host);
}

/** Interfaces that lead to containers, virtual machines and tunnels on this machine: other machines do not reach them. */
const virtualInterface =
  /^(docker|br-|veth|virbr|cni|flannel|cali|vmnet|vboxnet|utun|tun|tap|wg|tailscale|zt)/;

function derivedAdvertised(
  endpoint: Endpoint,
  machine: Machine,
  warnings: string[],
): { host: string } | null {
  if (!isWildcard(endpoint.host)) return { host: endpoint.host };
  const host = outsideAddress(machine, endpoint.host !== "0.0.0.0");
  if (host === null) return null;
  const told = endpoint.port === 0 ? host : hostPort(host, endpoint.port);
  warnings.push(
    `Listener ${endpoint.name} is bound to every address and sends clients to ${told}: ` +
      `set advertised.listeners if they reach this machine by another name`,
  );
  return { host };
}

/**
 * The address by which others most likely reach this machine. An address comes before the host's name: a name that
 * nobody else can resolve is common on laptops and in containers.
 */
function outsideAddress(machine: Machine, ipv6: boolean): string | null {
  const candidates = machine.addresses.filter(({ address }) =>
    !/^(127\.|169\.254\.|::1$|fe80:)/i.test(address) && !isWildcard(address)
  );
  const real = candidates.filter(({ name }) => !virtualInterface.test(name));
  for (const group of [real, candidates]) {
    const address = group.find(({ family }) => family === "IPv4") ??
      (ipv6 ? group.find(({ family }) => family === "IPv6") : undefined);
    if (address) return address.address;
  }
  const { hostname } = machine;
  return hostname === "" || /^localhost(\.|$)/i.test(hostname) ? null : hostname;
}
