/**
 * Tells which SCRAM credentials users have: none, since this broker keeps none yet. It is served all the same, because
 * `kafka-configs --describe --entity-type users` asks for credentials along with quotas.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { describeUserScramCredentials } from "../codec/messages/describe_user_scram_credentials.ts";
import type { Handler } from "./context.ts";

export const describeUserScramCredentialsHandler: Handler<typeof describeUserScramCredentials> = (
  { users },
) => {
  const byName = Map.groupBy(users ?? [], ({ name }) => name);
  const results = [...byName].sort(([a], [b]) => a < b ? -1 : 1).map(([user, { length }]) => ({
    user,
    errorCode: length > 1 ? ErrorCode.DUPLICATE_RESOURCE : ErrorCode.RESOURCE_NOT_FOUND,
    errorMessage: length > 1
      ? `The request names "${user}" more than once`
      : `There are no credentials of "${user}"`,
    credentialInfos: [],
  }));
  // Empty, not null, as in Kafka.
  return { errorCode: ErrorCode.NONE, errorMessage: "", results };
};
