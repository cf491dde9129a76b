/** DescribeLogDirs (key 35): tells what the log directories of a broker hold. */
import { api, array, bool, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const describeLogDirs = api({
  key: 35,
  name: "DescribeLogDirs",
  versions: [0, 5],
  flexible: 2,
  request: {
    topics: array({
      topic: string,
      partitions: array(int32),
    }).nullable(),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16.since(3),
    results: array({
      errorCode: int16,
      logDir: string,
      topics: array({
        name: string,
        partitions: array({
          partitionIndex: int32,
          partitionSize: int64,
          offsetLag: int64,
          isFutureKey: bool,
        }),
      }),
      totalBytes: int64.since(4).or(-1n),
      usableBytes: int64.since(4).or(-1n),
      isCordoned: bool.since(5).or(false),
    }),
  },
});

export type DescribeLogDirsRequest = RequestOf<typeof describeLogDirs>;
export type DescribeLogDirsResponse = ResponseOf<typeof describeLogDirs>;
