/** AddOffsetsToTxn (key 25): adds a group's offsets to a transaction. */
import { api, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const addOffsetsToTxn = api({
  key: 25,
  name: "AddOffsetsToTxn",
  versions: [0, 4],
  flexible: 3,
  request: {
    transactionalId: string,
    producerId: int64,
    producerEpoch: int16,
    groupId: string,
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
  },
});

export type AddOffsetsToTxnRequest = RequestOf<typeof addOffsetsToTxn>;
export type AddOffsetsToTxnResponse = ResponseOf<typeof addOffsetsToTxn>;
