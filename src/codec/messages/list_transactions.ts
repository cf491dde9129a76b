/** ListTransactions (key 66): lists transactions, filtered by state, producer and age. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const listTransactions = api({
  key: 66,
  name: "ListTransactions",
  versions: [0, 2],
  flexible: 0,
  request: {
    stateFilters: array(string),
    producerIdFilters: array(int64),
    durationFilter: int64.since(1).or(-1n),
    transactionalIdPattern: string.since(2).nullable().or(null),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    unknownStateFilters: array(string),
    transactionStates: array({
      transactionalId: string,
      producerId: int64,
      transactionState: string,
    }),
  },
});

export type ListTransactionsRequest = RequestOf<typeof listTransactions>;
export type ListTransactionsResponse = ResponseOf<typeof listTransactions>;
