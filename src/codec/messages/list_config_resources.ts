/** ListConfigResources (key 74): lists the resources that have settings. */
import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

/** Before that, client metrics are meant (KIP-1142). */
export const typesCanBeNamed = 1;

export const listConfigResources = api({
  key: 74,
  name: "ListConfigResources",
  versions: [0, 1],
  flexible: 0,
  request: {
    resourceTypes: array(int8).since(1),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    configResources: array({
      resourceName: string,
      resourceType: int8.since(1).or(16),
    }),
  },
});

export type ListConfigResourcesRequest = RequestOf<typeof listConfigResources>;
export type ListConfigResourcesResponse = ResponseOf<typeof listConfigResources>;
