/**
 * Files to sockets by the system itself (`sendfile`): the bytes go from the page cache to the socket and never come into
 * the process, for less than half of the CPU. Deno does not tell the system's number of a socket, so it is looked for,
 * once for a connection that gets much; where it cannot be had, or there is no such call, answers are read and written.
 */

import { openGlibc } from "../base/glibc.ts";
import { descriptorSlots } from "./descriptors.ts";
import { isDisconnect } from "./disconnects.ts";
import { Turns } from "./turns.ts";

const SYMBOLS = {
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  sendfile: { parameters: ["i32", "i32", "buffer", "usize"], result: "isize" },
} as const;

type Glibc = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

// Of Linux, on all of its architectures.
const IPPROTO_TCP = 6, TCP_NODELAY = 1;
const F_DUPFD_CLOEXEC = 1030;
const MSG_DONTWAIT = 0x40, MSG_NOSIGNAL = 0x4000, MSG_MORE = 0x8000;

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
  /** To be asked before something is sent. */
  readonly turns = new Turns();
  /** Null when there is none; undefined before it was looked for. */
  private glibc: Glibc | null | undefined;
  private open = 0;

  /**
   * `maxOpen`: each takes one of the files that the process may have open. `slots`: how many numbers there are to look at;
   * null where the system does not tell.
   */
  constructor(
    private readonly maxOpen: number,
    private readonly slots: () => number | null = descriptorSlots,
  ) {}

  /** Whether there may be one more. */
  get hasRoom(): boolean {
    return this.open < this.maxOpen;
  }

  /**
   * The socket of a connection; null when it cannot be had. It is a number of its own for it: the connection's could be
   * another socket's as soon as the runtime closes it, and that client would get what is not meant for it.
   */
  find(connection: Deno.TcpConn): SystemSocket | null {
    if (this.glibc === undefined) this.glibc = openGlibc(SYMBOLS)?.symbols ?? null;
    const { glibc } = this;
    if (glibc === null || !this.hasRoom) return null;
    const number = findDescriptor(glibc, connection, this.slots() ?? 0);
    const own = number === null ? -1 : glibc.fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return null;
    this.open++;
    return new SystemSocket(glibc, own, () => this.open--);
  }
}

/**
 * The number of the connection's socket: the one that changes when the connection's "no delay" is changed, which nothing
 * else can be. Addresses would not do: a client that resets its connection and comes back from the same port has two for a
 * moment, and the second may be another client's behind the same proxy. Leaves "no delay" set.
 */
function findDescriptor(glibc: Glibc, connection: Deno.TcpConn, slots: number): number | null {
  const option = new Int32Array(1), optionBytes = new Uint8Array(option.buffer);
  const length = new Uint32Array([option.byteLength]), lengthBytes = new Uint8Array(length.buffer);
  const is = (descriptor: number, noDelay: boolean) =>
    glibc.getsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, optionBytes, lengthBytes) === 0 &&
    (option[0] !== 0) === noDelay;
  try {
    connection.setNoDelay(false);
    for (let descriptor = 0; descriptor < slots; descriptor++) {
      if (!is(descriptor, false)) continue;
      connection.setNoDelay(true);
      if (is(descriptor, true)) return descriptor;
      // A listener, or what is connected to somewhere else.
      connection.setNoDelay(false);
    }
    connection.setNoDelay(true);
  } catch (error) {
    // Closed meanwhile.
    if (!isDisconnect(error)) throw error;
  }
  return null;
}
