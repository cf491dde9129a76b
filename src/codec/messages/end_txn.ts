/** EndTxn (key 26): commits or aborts a transaction. From version 5 it answers with the next epoch (KIP-890). */
import { api, bool, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const endTxn = api({
  key: 26,
  name: "EndTxn",
  versions: [0, 5],
  flexible: 3,
  request: {
    transactionalId: string,
    producerId: int64,
    producerEpoch: int16,
    committed: bool,
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    producerId: int64.since(5).or(-1n),
    producerEpoch: int16.since(5).or(-1),
  },
});

export type EndTxnRequest = RequestOf<typeof endTxn>;
export type EndTxnResponse = ResponseOf<typeof endTxn>;
