/** Forgets a broker that is gone. The only broker of a cluster stays: without it there would be none. */
import { ErrorCode } from "../codec/errors.ts";
import type { unregisterBroker } from "../codec/messages/unregister_broker.ts";
import type { Handler } from "./context.ts";

export const unregisterBrokerHandler: Handler<typeof unregisterBroker> = ({ brokerId }, { services }) => {
  if (services.cluster.image.brokers.has(brokerId)) {
    const errorMessage = `Broker ID ${brokerId} is running, and it is all of the cluster: stop it instead`;
    return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage };
  }
  return {
    errorCode: ErrorCode.BROKER_ID_NOT_REGISTERED,
    errorMessage: `Broker ID ${brokerId} is not currently registered`,
  };
};
