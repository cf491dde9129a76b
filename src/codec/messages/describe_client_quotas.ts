/** DescribeClientQuotas (key 48): lists client quotas that match a filter. */
import {
  api,
  array,
  bool,
  float64,
  int16,
  int32,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
} from "../schema.ts";

export const describeClientQuotas = api({
  key: 48,
  name: "DescribeClientQuotas",
  versions: [0, 1],
  flexible: 1,
  request: {
    components: array({
      entityType: string,
      matchType: int8,
      match: string.nullable(),
    }),
    strict: bool,
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    entries: array({
      entity: array({
        entityType: string,
        entityName: string.nullable(),
      }),
      values: array({
        key: string,
        value: float64,
      }),
    }).nullable(),
  },
});

export type DescribeClientQuotasRequest = RequestOf<typeof describeClientQuotas>;
export type DescribeClientQuotasResponse = ResponseOf<typeof describeClientQuotas>;
