/** CreateTopics (key 19): creates topics; from version 5 the response tells every setting of each. */
import {
  api,
  array,
  bool,
  int16,
  int32,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  uuid,
} from "../schema.ts";

export const createTopics = api({
  key: 19,
  name: "CreateTopics",
  versions: [0, 7],
  flexible: 5,
  request: {
    topics: array({
      name: string,
      numPartitions: int32,
      replicationFactor: int16,
      assignments: array({
        partitionIndex: int32,
        brokerIds: array(int32),
      }),
      configs: array({
        name: string,
        value: string.nullable(),
      }),
    }),
    timeoutMs: int32.or(60000),
    validateOnly: bool.since(1).or(false),
  },
  response: {
    throttleTimeMs: int32.since(2).or(0),
    topics: array({
      name: string,
      topicId: uuid.since(7),
      errorCode: int16,
      errorMessage: string.since(1).nullable().or(null),
      topicConfigErrorCode: int16.since(5).tagged(0, 5),
      numPartitions: int32.since(5).or(-1),
      replicationFactor: int16.since(5).or(-1),
      configs: array({
        name: string,
        value: string.nullable(),
        readOnly: bool,
        configSource: int8.or(-1),
        isSensitive: bool,
      }).since(5).nullable(),
    }),
  },
});

export type CreateTopicsRequest = RequestOf<typeof createTopics>;
export type CreateTopicsResponse = ResponseOf<typeof createTopics>;
