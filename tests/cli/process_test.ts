/** A real process under real signals: exit codes, and which line goes to which stream. */
import { assertEquals } from "@std/assert/equals";

const program = new URL("./start_process.ts", import.meta.url).pathname;

function spawn(...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", program, "start", "--host", "127.0.0.1", "--port", "0", ...args],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Everything that a stream says up to and with `part`. Fails when the stream ends before. */
async function until(stream: ReadableStream<Uint8Array>, part: string): Promise<string> {
  let text = "";
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes(part)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`The stream ended before ${part}: ${text}`);
    text += value;
  }
  await reader.cancel();
  return text;
}

if (Deno.build.os !== "windows") {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    Deno.test(`a started process stops cleanly on ${signal} with exit code 0`, async () => {
      const child = spawn();
      const banner = await until(child.stdout, "cluster");
      const logged = until(child.stderr, "Stopped");
      child.kill(signal);
      assertEquals((await child.status).code, 0);
      assertEquals(banner.includes("listening on  127.0.0.1:"), true, banner);
      assertEquals((await logged).includes(`Stopping on ${signal}`), true);
    });
  }

  Deno.test("a process that was started with nohup outlives its terminal", async () => {
    const child = new Deno.Command("nohup", {
      args: [
        Deno.execPath(),
        "run",
        "-A",
        "--no-check",
        program,
        "start",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
      ],
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    await until(child.stdout, "cluster");
    child.kill("SIGHUP");
    const logged = until(child.stderr, "Stopped");
    child.kill("SIGTERM");
    assertEquals((await child.status).code, 0);
    assertEquals((await logged).includes("Stopping on SIGTERM"), true);
  });

  Deno.test("a process that cannot finish stopping exits with 130 on the second signal", async () => {
    const child = spawn("--set", "broker.rack=stuck");
    await until(child.stdout, "cluster");
    const stopping = until(child.stderr, "Stopping on SIGTERM");
    child.kill("SIGTERM");
    await stopping;
    // Signals that come close together are one; so again and again, until it is a second one.
    const again = setInterval(() => child.kill("SIGINT"), 100);
    const { code } = await child.status;
    clearInterval(again);
    assertEquals(code, 130);
  });
}

Deno.test("a process that finds its port taken says so in one line and exits with 1", async () => {
  const socket = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = socket.addr as Deno.NetAddr;
  const child = spawn("--port", `${port}`);
  const { code, stdout, stderr } = await child.output();
  socket.close();
  assertEquals([code, new TextDecoder().decode(stdout)], [1, ""]);
  assertEquals(
    new TextDecoder().decode(stderr),
    `trackway: Cannot listen on 127.0.0.1:${port}: the port is taken\n`,
  );
});
