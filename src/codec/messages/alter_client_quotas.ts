/** AlterClientQuotas (key 49): sets and removes client quotas. */
import {
  api,
  array,
  bool,
  float64,
  int16,
  int32,
  type RequestOf,
  type ResponseOf,
  string,
} from "../schema.ts";

export const alterClientQuotas = api({
  key: 49,
  name: "AlterClientQuotas",
  versions: [0, 1],
  flexible: 1,
  request: {
    entries: array({
      entity: array({
        entityType: string,
        entityName: string.nullable(),
      }),
      ops: array({
        key: string,
        value: float64,
        remove: bool,
      }),
    }),
    validateOnly: bool,
  },
  response: {
    throttleTimeMs: int32.or(0),
    entries: array({
      errorCode: int16,
      errorMessage: string.nullable().or(null),
      entity: array({
        entityType: string,
        entityName: string.nullable(),
      }),
    }),
  },
});

export type AlterClientQuotasRequest = RequestOf<typeof alterClientQuotas>;
export type AlterClientQuotasResponse = ResponseOf<typeof alterClientQuotas>;
