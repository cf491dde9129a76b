/**
 * What consumers put into the opaque bytes of the classic group protocol. An int16 version goes before the body.
 */
import { array, bytes, int32, message, string } from "../schema.ts";

export const consumerProtocolSubscription = message({
  name: "ConsumerProtocolSubscription",
  fromClients: true,
  versions: [0, 3],
  flexible: null,
  fields: {
    topics: array(string),
    userData: bytes.nullable().or(null),
    ownedPartitions: array({
      topic: string,
      partitions: array(int32),
    }).since(1),
    generationId: int32.since(2).or(-1),
    rackId: string.since(3).nullable().or(null),
  },
});

export const consumerProtocolAssignment = message({
  name: "ConsumerProtocolAssignment",
  versions: [0, 3],
  flexible: null,
  fields: {
    assignedPartitions: array({
      topic: string,
      partitions: array(int32),
    }),
    userData: bytes.nullable().or(null),
  },
});
