/** A program like main.ts whose broker is one listening socket, so that process_test.ts can send real signals to it. */
import { StartupError } from "../../src/base/startup_error.ts";
import { runCommand } from "../../src/cli/command.ts";
import { systemTerminal } from "../../src/cli/terminal.ts";

Deno.exit(
  await runCommand(Deno.args, systemTerminal, ({ listeners: [{ host, port }], config }) => {
    let socket: Deno.Listener;
    try {
      socket = Deno.listen({ hostname: host, port });
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      return Promise.reject(new StartupError(`Cannot listen on ${host}:${port}: the port is taken`));
    }
    const { port: bound } = socket.addr as Deno.NetAddr;
    return Promise.resolve({
      clusterId: "abc",
      addresses: [`${host}:${bound}`],
      async stop() {
        // A rack named "stuck" stands for a broker that cannot finish.
        if (config.get("broker.rack") === "stuck") await new Promise(() => {});
        socket.close();
      },
    });
  }),
);
