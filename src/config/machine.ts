/** What the broker has to know of the machine that it runs on; the one place of the settings that asks the system. */
import type { Machine } from "./listeners.ts";

/** This machine's name and addresses. Without permission to ask, only the loopback addresses. */
export function thisMachine(): Machine {
  try {
    const addresses = Deno.networkInterfaces().map(({ name, family, address }) => ({
      name,
      family,
      address,
    }));
    return { hostname: Deno.hostname(), addresses };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.PermissionDenied)) {
      throw error;
    }
    const name = "lo";
    return {
      hostname: "localhost",
      addresses: [{ name, family: "IPv4", address: "127.0.0.1" }, { name, family: "IPv6", address: "::1" }],
    };
  }
}
