/** CreatePartitions (key 37): adds partitions to topics. */
import { api, array, bool, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const createPartitions = api({
  key: 37,
  name: "CreatePartitions",
  versions: [0, 3],
  flexible: 2,
  request: {
    topics: array({
      name: string,
      count: int32,
      assignments: array({
        brokerIds: array(int32),
      }).nullable(),
    }),
    timeoutMs: int32,
    validateOnly: bool,
  },
  response: {
    throttleTimeMs: int32.or(0),
    results: array({
      name: string,
      errorCode: int16,
      errorMessage: string.nullable().or(null),
    }),
  },
});

export type CreatePartitionsRequest = RequestOf<typeof createPartitions>;
export type CreatePartitionsResponse = ResponseOf<typeof createPartitions>;
