/**
 * Addresses as quotas may name them, brought to the one form in which connections are told apart. What Java takes for an
 * address is taken; a name other than localhost is not, since it could stand for another address the next time.
 */

/** What "localhost" is, in both families. */
const LOCALHOST = ["127.0.0.1", "::1"];

/** The addresses that `text` stands for, IPv4 ones with dots; null when it is none. */
export function addressesOf(text: string): readonly string[] | null {
  if (text === "localhost") return LOCALHOST;
  const address = text.includes(":") ? ipv6(text) : ipv4(text);
  return address === null ? null : [address];
}

/** One to four numbers; the last one fills the bytes that are left, so that 127.1 is 127.0.0.1. */
function ipv4(text: string): string | null {
  const parts = text.split(".");
  if (parts.length > 4 || !parts.every((part) => /^\d{1,10}$/.test(part))) return null;
  const last = Number(parts.pop());
  const bytes = parts.map(Number);
  const restBytes = 4 - bytes.length;
  if (bytes.some((byte) => byte > 255) || last >= 256 ** restBytes) return null;
  for (let i = restBytes - 1; i >= 0; i--) bytes.push(Math.floor(last / 256 ** i) % 256);
  return bytes.join(".");
}

function ipv6(text: string): string | null {
  const bare = text.replace(/^\[(.*)\]$/, "$1");
  if (!/^[0-9a-fA-F:.]+$/.test(bare)) return null;
  // The platform's own reader of addresses, which also writes the shortest form.
  const url = `http://[${bare}]/`;
  if (!URL.canParse(url)) return null;
  const address = new URL(url).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address);
  if (mapped === null) return address;
  const [high, low] = [parseInt(mapped[1], 16), parseInt(mapped[2], 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
