/**
 * Files to sockets by the system itself (`sendfile`): the bytes go from the page cache to the socket and never come into
 * the process, for less than half of the CPU. Deno does not tell the system's number of a socket, so it is looked for,
 * once for a connection that gets much; where it cannot be had, or there is no such call, answers are read and written.
 */

import { openGlibc } from "../base/glibc.ts";

const SYMBOLS = {
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  inet_pton: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  sendfile: { parameters: ["i32", "i32", "buffer", "usize"], result: "isize" },
} as const;

type Glibc = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

// Of Linux, on all of its architectures.
const AF_INET = 2, AF_INET6 = 10;
const F_DUPFD_CLOEXEC = 1030;
const MSG_DONTWAIT = 0x40, MSG_NOSIGNAL = 0x4000, MSG_MORE = 0x8000;
/** A `sockaddr_in6`, the larger of the two: family, port, flow, address. */
const ADDRESS_BYTES = 28;
const ADDRESS_AT = { [AF_INET]: 4, [AF_INET6]: 8 }, ADDRESS_LENGTH = { [AF_INET]: 4, [AF_INET6]: 16 };

/** A socket as the system knows it. Each call sends what the socket has room for at once, and gives how much that was. */
export class SystemSocket {
  private readonly position = new BigInt64Array(1);
  private readonly positionBytes = new Uint8Array(this.position.buffer);

  constructor(
    private readonly glibc: Glibc,
    private readonly descriptor: number,
    private readonly onClosed: () => void,
  ) {}

  /** Sends bytes which others follow at once, so that the client need not be woken for these; 0 when none could be sent. */
  sendMore(bytes: Uint8Array): number {
    const flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE;
    return Math.max(0, Number(this.glibc.send(this.descriptor, bytes, BigInt(bytes.length), flags)));
  }

  /** Sends of a file; 0 when nothing could be sent, for whatever reason: to write in the ordinary way tells it. */
  sendFile(file: number, position: number, bytes: number): number {
    this.position[0] = BigInt(position);
    const sent = this.glibc.sendfile(this.descriptor, file, this.positionBytes, BigInt(bytes));
    return Math.max(0, Number(sent));
  }

  /** To be called once, before the connection is closed. */
  close(): void {
    this.glibc.close(this.descriptor);
    this.onClosed();
  }
}

/** Finds the sockets of connections. */
export class SystemSockets {
  /** Null when there is none. */
  private glibc: Glibc | null | undefined;
  private open = 0;

  /** `maxOpen`: each takes one of the files that the process may have open, which are numbered below `maxDescriptor`. */
  constructor(private readonly maxOpen: number, private readonly maxDescriptor: number) {}

  /**
   * The socket of a connection; null when it cannot be had. It is a number of its own for it: the connection's could be
   * another socket's as soon as the runtime closes it, and that client would get what is not meant for it.
   */
  find(connection: Deno.TcpConn): SystemSocket | null {
    if (this.open >= this.maxOpen) return null;
    this.glibc ??= openGlibc(SYMBOLS)?.symbols ?? null;
    const { glibc } = this;
    if (glibc === null) return null;
    const number = findDescriptor(glibc, connection, this.maxDescriptor);
    const own = number === null ? -1 : glibc.fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return null;
    this.open++;
    return new SystemSocket(glibc, own, () => this.open--);
  }
}

/** The number of the socket that has both addresses of the connection, as only one can. */
function findDescriptor(glibc: Glibc, connection: Deno.TcpConn, max: number): number | null {
  const local = addressOf(glibc, connection.localAddr), remote = addressOf(glibc, connection.remoteAddr);
  if (local === null || remote === null) return null;
  const found = new Uint8Array(ADDRESS_BYTES);
  const length = new Uint32Array(1), lengthBytes = new Uint8Array(length.buffer);
  const has = (call: "getpeername" | "getsockname", descriptor: number, address: Uint8Array) => {
    length[0] = found.length;
    return glibc[call](descriptor, found, lengthBytes) === 0 && isSame(found, address);
  };
  for (let descriptor = 0; descriptor < max; descriptor++) {
    if (has("getpeername", descriptor, remote) && has("getsockname", descriptor, local)) return descriptor;
  }
  return null;
}

/** As the system writes it, with everything else 0. */
function addressOf(glibc: Glibc, { hostname, port }: Deno.NetAddr): Uint8Array | null {
  const family = hostname.includes(":") ? AF_INET6 : AF_INET;
  const address = new Uint8Array(ADDRESS_BYTES);
  new Uint16Array(address.buffer)[0] = family;
  address[2] = port >> 8;
  address[3] = port;
  const text = new TextEncoder().encode(`${hostname}\0`);
  return glibc.inet_pton(family, text, address.subarray(ADDRESS_AT[family])) === 1 ? address : null;
}

/** Whether family, port and address are the same. What an IPv6 address has besides does not tell sockets apart. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  const family = a[0] === AF_INET6 ? AF_INET6 : AF_INET;
  const from = ADDRESS_AT[family], to = from + ADDRESS_LENGTH[family];
  for (let i = 0; i < 4; i++) if (a[i] !== b[i]) return false;
  for (let i = from; i < to; i++) if (a[i] !== b[i]) return false;
  return true;
}
