/** Brokers as clients are told of them: with the address of the listener that the client came in by. */
import type { BrokerImage, MetadataImage } from "../cluster/image.ts";

export interface BrokerNode {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | null;
}

/** All brokers that have an address on the listener with this name. */
export function brokerNodes(image: MetadataImage, listenerName: string): BrokerNode[] {
  return [...image.brokers.values()].flatMap((broker) => brokerNode(broker, listenerName) ?? []);
}

/** One broker, or null when it has no address on that listener. */
export function brokerNode({ id, rack, endpoints }: BrokerImage, listenerName: string): BrokerNode | null {
  const endpoint = endpoints.get(listenerName);
  return endpoint === undefined ? null : { nodeId: id, host: endpoint.host, port: endpoint.port, rack };
}
