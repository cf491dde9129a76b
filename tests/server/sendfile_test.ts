/** Real sockets and real files: what the system does with them is what is asked here. Linux only, as `sendfile` is. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import * as fs from "node:fs";
import type { FileSlice } from "../../src/base/file_slice.ts";
import { AnswerWriter } from "../../src/server/answer_writer.ts";
import { SystemSockets } from "../../src/server/sendfile.ts";

const ignore = Deno.build.os !== "linux";

/** Both ends of a connection. */
async function connected(hostname = "127.0.0.1") {
  const listener = Deno.listen({ hostname, port: 0 });
  const client = await Deno.connect({ hostname, port: listener.addr.port });
  const server = await listener.accept();
  return {
    client,
    server,
    [Symbol.dispose]() {
      for (const end of [client, server, listener]) {
        try {
          end.close();
        } catch (error) {
          if (!(error instanceof Deno.errors.BadResource)) throw error;
        }
      }
    },
  };
}

/** A file of `bytes` bytes that differ, and a slice of it that may be made to fail. */
function fileOf(bytes: number) {
  const path = Deno.makeTempFileSync();
  const content = Uint8Array.from({ length: bytes }, (_, i) => i * 31 ^ i >> 8);
  fs.writeFileSync(path, content);
  const descriptor = fs.openSync(path, "r+");
  let sends = 0;
  const slice = (at: number, length: number): FileSlice => ({
    length,
    read(into, from) {
      const held = fs.readSync(descriptor, into, 0, into.length, at + from);
      if (held < into.length) throw new Error("the file is shorter now");
    },
    through(from, send) {
      sends++;
      return send(descriptor, at + from);
    },
  });
  return {
    content,
    slice,
    descriptor,
    sends: () => sends,
    [Symbol.dispose]() {
      fs.closeSync(descriptor);
      fs.rmSync(path);
    },
  };
}

function writerOn(server: Deno.TcpConn, sockets: SystemSockets | null) {
  const failures: (string | null)[] = [];
  const allUnsent = { bytes: 0 };
  const writer = new AnswerWriter(server, {
    maxUnsentBytes: 1000,
    allUnsent,
    sockets,
    onMoved: () => {},
    onFailed: (problem) => failures.push(problem),
  });
  return { writer, failures, allUnsent };
}

/** A writer that has begun to send `bytes` bytes of a file; `sent` tells whether it has said that they are out. */
function sending(server: Deno.TcpConn, file: ReturnType<typeof fileOf>, bytes: number) {
  const on = writerOn(server, new SystemSockets(10));
  assert(on.writer.sendsFiles);
  const answer = [file.slice(0, bytes)];
  let sent = false;
  on.writer.count(answer);
  on.writer.enqueue(answer, () => sent = true);
  on.writer.start();
  return { ...on, sent: () => sent };
}

async function readAll(client: Deno.Conn, bytes: number): Promise<Uint8Array> {
  const all = new Uint8Array(bytes);
  for (let at = 0; at < bytes;) {
    const count = await client.read(all.subarray(at));
    if (count === null) throw new Error(`ended after ${at} of ${bytes} bytes`);
    at += count;
  }
  return all;
}

for (const hostname of ["127.0.0.1", "::1"]) {
  Deno.test({
    name: `SystemSockets.find() finds the very socket of a connection to ${hostname}, among others`,
    ignore,
    async fn() {
      using _before = await connected(hostname);
      using pair = await connected(hostname);
      using _after = await connected(hostname);
      using file = fileOf(5000);
      const socket = new SystemSockets(10).find(pair.server)!;
      assertEquals(socket.sendMore(new Uint8Array([1, 2, 3])), 3);
      assertEquals(socket.sendFile(file.descriptor, 100, 4000), 4000);
      socket.close();
      const got = await readAll(pair.client, 4003);
      assertEquals(got, new Uint8Array([1, 2, 3, ...file.content.subarray(100, 4100)]));
    },
  });
}

Deno.test({
  name:
    "SystemSockets.find() gives a socket that does not become another when the runtime closes the connection",
  ignore,
  async fn() {
    using pair = await connected();
    const socket = new SystemSockets(10).find(pair.server)!;
    pair.server.close();
    // The number of the closed one goes to the next socket.
    using other = await connected();
    assertEquals(socket.sendMore(new Uint8Array([1])), 0);
    socket.close();
    assertEquals(await pair.client.read(new Uint8Array(1)), null, "closed for the client, too");
    await other.server.write(new Uint8Array([2]));
    assertEquals(await readAll(other.client, 1), new Uint8Array([2]), "nobody else got anything");
  },
});

Deno.test({
  name: "SystemSockets.find() gives no more than there may be, and again when one was closed",
  ignore,
  async fn() {
    using pair = await connected();
    const sockets = new SystemSockets(1);
    const first = sockets.find(pair.server)!;
    assertEquals(sockets.find(pair.server), null);
    first.close();
    const second = sockets.find(pair.server)!;
    second.close();
    assertEquals(new SystemSockets(1, () => null).find(pair.server), null, "not known how many there are");
  },
});

Deno.test({
  name: "SystemSockets.find() finds nothing once a connection is closed, and leaves the others as they are",
  ignore,
  async fn() {
    using pair = await connected();
    using other = await connected();
    other.server.setNoDelay(false);
    pair.server.close();
    const sockets = new SystemSockets(1);
    assertEquals(sockets.find(pair.server), null);
    const found = sockets.find(other.server)!;
    assertEquals(found.sendMore(new Uint8Array([1])), 1);
    found.close();
    assertEquals(await readAll(other.client, 1), new Uint8Array([1]));
    const { writer } = writerOn(other.server, sockets);
    writer.close();
    assertEquals(writer.sendsFiles, false, "a closed one needs no socket, and would not give it back");
  },
});

Deno.test({
  name: "A writer for which there was no socket gets one when another connection has ended",
  ignore,
  async fn() {
    using first = await connected();
    using second = await connected();
    const sockets = new SystemSockets(1);
    const [has, waits] = [writerOn(first.server, sockets).writer, writerOn(second.server, sockets).writer];
    assertEquals([has.sendsFiles, waits.sendsFiles], [true, false]);
    has.close();
    assertEquals(waits.sendsFiles, true);
    waits.close();
  },
});

for (const how of ["sent by the system", "read and written"]) {
  Deno.test({
    name: `An answer of bytes and files is ${how} whole and in order, to a client that reads late and slowly`,
    ignore,
    async fn() {
      using pair = await connected();
      const size = 24 * 1024 * 1024;
      using file = fileOf(size);
      const { writer, failures, allUnsent } = writerOn(
        pair.server,
        how === "read and written" ? null : new SystemSockets(10),
      );
      assertEquals(writer.sendsFiles, how !== "read and written");
      const head = new Uint8Array([1, 2, 3]), tail = new Uint8Array([4, 5]);
      const answer = [head, file.slice(10, size - 10), tail, file.slice(0, 100_000)];
      const order: string[] = [];
      writer.count(answer);
      assert(writer.hasMuchUnsent);
      assertEquals(allUnsent.bytes, 5, "what is in files takes no memory");
      writer.enqueue(answer, () => order.push("first"));
      writer.count([head]);
      writer.enqueue([head], () => order.push("second"));
      writer.start();
      const total = 3 + size - 10 + 2 + 100_000 + 3;
      const got = await readAll(pair.client, total);
      await writer.writing;
      assertEquals(order, ["first", "second"]);
      assertEquals(failures, []);
      assertEquals([writer.hasUnsent, writer.hasMuchUnsent, allUnsent.bytes], [false, false, 0]);
      const expected = new Uint8Array([...head]);
      assertEquals(got.subarray(0, 3), expected);
      assert(equalBytes(got.subarray(3, 3 + size - 10), file.content.subarray(10)), "the first file");
      assertEquals(got.subarray(size - 7, size - 5), tail);
      assert(equalBytes(got.subarray(size - 5, size - 5 + 100_000), file.content.subarray(0, 100_000)));
      assertEquals(got.subarray(-3), head);
      writer.close();
    },
  });
}

Deno.test({
  name: "A file that ends too early ends the connection: what was promised cannot be sent",
  ignore,
  async fn() {
    using pair = await connected();
    using file = fileOf(1_000_000);
    const { writer, failures } = writerOn(pair.server, new SystemSockets(10));
    assert(writer.sendsFiles);
    fs.ftruncateSync(file.descriptor, 500_000);
    const answer = [file.slice(0, 1_000_000)];
    writer.count(answer);
    let sent = false;
    writer.enqueue(answer, () => sent = true);
    writer.start();
    await readAll(pair.client, 500_000);
    await writer.writing;
    assertEquals([failures.length, sent], [1, false]);
    assert(failures[0]!.includes("the file is shorter now"), failures[0]!);
    writer.close();
  },
});

Deno.test({
  name: "A client that leaves in the middle of a file ends the writing, and is no failure",
  ignore,
  async fn() {
    using pair = await connected();
    using file = fileOf(32 * 1024 * 1024);
    const { writer, failures, allUnsent } = sending(pair.server, file, 32 * 1024 * 1024);
    await readAll(pair.client, 100_000);
    pair.client.close();
    await writer.writing;
    assertEquals(failures, [null]);
    writer.close();
    assertEquals(allUnsent.bytes, 0);
  },
});

Deno.test({
  name: "A connection that is closed while a file is sent stops sending",
  ignore,
  async fn() {
    using pair = await connected();
    using file = fileOf(32 * 1024 * 1024);
    const { writer, failures, allUnsent, sent } = sending(pair.server, file, 32 * 1024 * 1024);
    await readAll(pair.client, 1000);
    writer.close();
    pair.server.close();
    const before = file.sends();
    await writer.writing;
    assertEquals([sent(), file.sends(), allUnsent.bytes], [false, before, 0]);
    assertEquals(failures.filter((problem) => problem !== null), []);
  },
});

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
