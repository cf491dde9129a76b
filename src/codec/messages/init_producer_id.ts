/** InitProducerId (key 22): gives a producer its id and epoch. */
import { api, bool, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const initProducerId = api({
  key: 22,
  name: "InitProducerId",
  versions: [0, 6],
  flexible: 2,
  unstable: 6,
  request: {
    transactionalId: string.nullable(),
    transactionTimeoutMs: int32,
    producerId: int64.since(3).or(-1n),
    producerEpoch: int16.since(3).or(-1),
    enable2Pc: bool.since(6).or(false),
    keepPreparedTxn: bool.since(6).or(false),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    producerId: int64.or(-1n),
    producerEpoch: int16,
    ongoingTxnProducerId: int64.since(6).or(-1n),
    ongoingTxnProducerEpoch: int16.since(6).or(-1),
  },
});

export type InitProducerIdRequest = RequestOf<typeof initProducerId>;
export type InitProducerIdResponse = ResponseOf<typeof initProducerId>;
