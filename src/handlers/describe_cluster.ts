/** Tells the brokers, the controller and the id of the cluster. */
import { ErrorCode } from "../codec/errors.ts";
import type { describeCluster } from "../codec/messages/describe_cluster.ts";
import { clusterOperations, operationsOmitted } from "./authorized_operations.ts";
import { brokerNodes } from "./broker_nodes.ts";
import type { Handler } from "./context.ts";

const BROKERS = 1, CONTROLLERS = 2;

export const describeClusterHandler: Handler<typeof describeCluster> = (
  request,
  { services, listenerName },
) => {
  if (request.endpointType !== BROKERS) {
    const wanted = request.endpointType === CONTROLLERS;
    return {
      errorCode: wanted ? ErrorCode.MISMATCHED_ENDPOINT_TYPE : ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
      errorMessage: wanted
        ? "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        : `Unsupported endpoint type ${request.endpointType}`,
      clusterId: "",
      brokers: [],
    };
  }
  const { image } = services.cluster;
  return {
    errorCode: ErrorCode.NONE,
    clusterId: image.clusterId,
    controllerId: image.controllerId,
    brokers: brokerNodes(image, listenerName).map(({ nodeId, ...rest }) => ({
      brokerId: nodeId,
      isFenced: false,
      ...rest,
    })),
    clusterAuthorizedOperations: request.includeClusterAuthorizedOperations
      ? clusterOperations
      : operationsOmitted,
  };
};
