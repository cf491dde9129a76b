/** DescribeConfigs (key 32): tells the settings of topics, brokers and groups, with source and synonyms. */
import { api, array, bool, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const describeConfigs = api({
  key: 32,
  name: "DescribeConfigs",
  versions: [0, 4],
  flexible: 4,
  request: {
    resources: array({
      resourceType: int8,
      resourceName: string,
      configurationKeys: array(string).nullable(),
    }),
    includeSynonyms: bool.since(1).or(false),
    includeDocumentation: bool.since(3).or(false),
  },
  response: {
    throttleTimeMs: int32.or(0),
    results: array({
      errorCode: int16,
      errorMessage: string.nullable().or(null),
      resourceType: int8,
      resourceName: string,
      configs: array({
        name: string,
        value: string.nullable(),
        readOnly: bool,
        isDefault: bool.until(0),
        configSource: int8.since(1).or(-1),
        isSensitive: bool,
        synonyms: array({
          name: string,
          value: string.nullable(),
          source: int8,
        }).since(1),
        configType: int8.since(3).or(0),
        documentation: string.since(3).nullable(),
      }),
    }),
  },
});

export type DescribeConfigsRequest = RequestOf<typeof describeConfigs>;
export type DescribeConfigsResponse = ResponseOf<typeof describeConfigs>;
