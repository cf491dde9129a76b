/**
 * The topics in a consumer's subscription, the one thing that the coordinator reads in the opaque bytes of the
 * group protocol: offsets of topics that a group consumes neither expire nor can be deleted (KIP-211, KIP-496).
 */
import { MalformedFrame } from "../../codec/malformed.ts";
import { Reader } from "../../codec/reader.ts";
import { consumerProtocolSubscription } from "../../codec/records/consumer_protocol.ts";

/** Topic names of a subscription of any version; null when the bytes are no subscription. */
export function topicsOfSubscription(metadata: Uint8Array): readonly string[] | null {
  try {
    const reader = new Reader(metadata);
    if (reader.int16() < 0) return null;
    // Every version begins with what version 0 has, and newer versions only add to the end.
    return consumerProtocolSubscription.read(reader, 0).topics;
  } catch (error) {
    if (error instanceof MalformedFrame) return null;
    throw error;
  }
}
