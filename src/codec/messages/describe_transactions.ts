/** DescribeTransactions (key 65): tells the state of transactions. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const describeTransactions = api({
  key: 65,
  name: "DescribeTransactions",
  versions: [0, 0],
  flexible: 0,
  request: {
    transactionalIds: array(string),
  },
  response: {
    throttleTimeMs: int32.or(0),
    transactionStates: array({
      errorCode: int16,
      transactionalId: string,
      transactionState: string,
      transactionTimeoutMs: int32,
      transactionStartTimeMs: int64,
      producerId: int64,
      producerEpoch: int16,
      topics: array({
        topic: string,
        partitions: array(int32),
      }),
    }),
  },
});

export type DescribeTransactionsRequest = RequestOf<typeof describeTransactions>;
export type DescribeTransactionsResponse = ResponseOf<typeof describeTransactions>;
