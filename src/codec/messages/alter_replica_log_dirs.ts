/** AlterReplicaLogDirs (key 34): moves replicas between the log directories of a broker. */
import { api, array, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const alterReplicaLogDirs = api({
  key: 34,
  name: "AlterReplicaLogDirs",
  versions: [0, 2],
  flexible: 2,
  request: {
    dirs: array({
      path: string,
      topics: array({
        name: string,
        partitions: array(int32),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    results: array({
      topicName: string,
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
      }),
    }),
  },
});

export type AlterReplicaLogDirsRequest = RequestOf<typeof alterReplicaLogDirs>;
export type AlterReplicaLogDirsResponse = ResponseOf<typeof alterReplicaLogDirs>;
