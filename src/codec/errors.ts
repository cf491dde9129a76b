/**
 * Kafka's error codes, up to release 4.4, in one table: name, code, whether a client may send the same request again,
 * and a text. The names and numbers are part of the protocol; the texts are ours and go to people, never to programs.
 * To add a code, add a row: everything below derives from the table.
 */

/** A row is [code, retriable, text]. "Retriable" is what Java's client believes, so it decides what clients do. */
const table = {
  UNKNOWN_SERVER_ERROR: [-1, false, "the broker failed in a way it did not expect; its log says more"],
  NONE: [0, false, "no error"],
  OFFSET_OUT_OF_RANGE: [1, false, "the offset lies before the start or after the end of the partition's log"],
  CORRUPT_MESSAGE: [2, true, "the record batch is damaged: its checksum, length or structure is wrong"],
  UNKNOWN_TOPIC_OR_PARTITION: [3, true, "this broker has no such topic or partition"],
  INVALID_FETCH_SIZE: [4, false, "the fetch size is not valid"],
  LEADER_NOT_AVAILABLE: [5, true, "the partition has no leader at the moment"],
  NOT_LEADER_OR_FOLLOWER: [6, true, "this broker does not lead the partition, or holds no replica of it"],
  REQUEST_TIMED_OUT: [7, true, "the request did not complete within its timeout"],
  BROKER_NOT_AVAILABLE: [8, false, "the broker is not available"],
  REPLICA_NOT_AVAILABLE: [9, true, "this broker's replica of the partition is not available"],
  MESSAGE_TOO_LARGE: [10, false, "the record batch is larger than max.message.bytes allows"],
  STALE_CONTROLLER_EPOCH: [11, false, "the request comes from a controller that has been replaced"],
  OFFSET_METADATA_TOO_LARGE: [
    12,
    false,
    "the metadata of an offset commit is longer than offset.metadata.max.bytes",
  ],
  NETWORK_EXCEPTION: [13, true, "the connection closed before the response arrived"],
  COORDINATOR_LOAD_IN_PROGRESS: [14, true, "the coordinator is still loading its state"],
  COORDINATOR_NOT_AVAILABLE: [15, true, "there is no coordinator for this id at the moment"],
  NOT_COORDINATOR: [16, true, "another broker coordinates this id"],
  INVALID_TOPIC_EXCEPTION: [
    17,
    false,
    "the topic's name is not valid, or the topic is not open to this operation",
  ],
  RECORD_LIST_TOO_LARGE: [18, false, "the record batch does not fit into a segment"],
  NOT_ENOUGH_REPLICAS: [
    19,
    true,
    "fewer replicas are in sync than min.insync.replicas asks for; nothing was written",
  ],
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: [20, true, "the records were written, but too few replicas are in sync"],
  INVALID_REQUIRED_ACKS: [21, false, "acks must be -1, 0 or 1"],
  ILLEGAL_GENERATION: [22, false, "the generation id is not the group's current one"],
  INCONSISTENT_GROUP_PROTOCOL: [
    23,
    false,
    "the member's protocols are empty or do not match those of the group",
  ],
  INVALID_GROUP_ID: [24, false, "the group id is not valid"],
  UNKNOWN_MEMBER_ID: [25, false, "the group has no member with this id"],
  INVALID_SESSION_TIMEOUT: [26, false, "the session timeout lies outside the range that the broker allows"],
  REBALANCE_IN_PROGRESS: [27, false, "the group is rebalancing; the member has to join again"],
  INVALID_COMMIT_OFFSET_SIZE: [28, false, "the offset commit is too large to be stored"],
  TOPIC_AUTHORIZATION_FAILED: [29, false, "not authorized for the topic"],
  GROUP_AUTHORIZATION_FAILED: [30, false, "not authorized for the group"],
  CLUSTER_AUTHORIZATION_FAILED: [31, false, "not authorized for this operation on the cluster"],
  INVALID_TIMESTAMP: [32, false, "a record's timestamp is too far from the broker's clock"],
  UNSUPPORTED_SASL_MECHANISM: [33, false, "the broker does not offer this SASL mechanism"],
  ILLEGAL_SASL_STATE: [34, false, "this request does not belong here in the SASL exchange"],
  UNSUPPORTED_VERSION: [35, false, "this version of the API, or of a feature, is not supported"],
  TOPIC_ALREADY_EXISTS: [36, false, "a topic of this name exists"],
  INVALID_PARTITIONS: [37, false, "the number of partitions is not valid"],
  INVALID_REPLICATION_FACTOR: [
    38,
    false,
    "the replication factor is below 1 or above the number of live brokers",
  ],
  INVALID_REPLICA_ASSIGNMENT: [39, false, "the replica assignment is not valid"],
  INVALID_CONFIG: [40, false, "a setting is unknown, or its value is not valid"],
  NOT_CONTROLLER: [41, true, "this broker is not the controller"],
  INVALID_REQUEST: [42, false, "the request contradicts itself or the protocol"],
  UNSUPPORTED_FOR_MESSAGE_FORMAT: [
    43,
    false,
    "the message format of the partition cannot serve this request",
  ],
  POLICY_VIOLATION: [44, false, "a policy of the broker forbids these parameters"],
  OUT_OF_ORDER_SEQUENCE_NUMBER: [45, false, "the producer's sequence number does not follow its last one"],
  DUPLICATE_SEQUENCE_NUMBER: [46, false, "the producer's sequence number was used before"],
  INVALID_PRODUCER_EPOCH: [47, false, "the producer's epoch is older than the one known"],
  INVALID_TXN_STATE: [48, false, "the transaction is in a state that does not allow this"],
  INVALID_PRODUCER_ID_MAPPING: [49, false, "the producer id does not belong to this transactional id"],
  INVALID_TRANSACTION_TIMEOUT: [50, false, "the transaction timeout is above transaction.max.timeout.ms"],
  CONCURRENT_TRANSACTIONS: [51, true, "an earlier operation on this transaction has not finished"],
  TRANSACTION_COORDINATOR_FENCED: [52, false, "the markers come from a coordinator that has been replaced"],
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: [53, false, "not authorized for the transactional id"],
  SECURITY_DISABLED: [54, false, "security is not enabled on this broker"],
  OPERATION_NOT_ATTEMPTED: [55, false, "not tried, because another part of the request failed"],
  KAFKA_STORAGE_ERROR: [56, true, "the broker could not read or write the partition on disk"],
  LOG_DIR_NOT_FOUND: [57, false, "the broker has no such log directory"],
  SASL_AUTHENTICATION_FAILED: [58, false, "SASL authentication failed"],
  UNKNOWN_PRODUCER_ID: [59, false, "the partition knows nothing of this producer id (any more)"],
  REASSIGNMENT_IN_PROGRESS: [60, false, "the partition is being reassigned"],
  DELEGATION_TOKEN_AUTH_DISABLED: [61, false, "delegation tokens are not enabled"],
  DELEGATION_TOKEN_NOT_FOUND: [62, false, "there is no such delegation token"],
  DELEGATION_TOKEN_OWNER_MISMATCH: [
    63,
    false,
    "the principal neither owns the delegation token nor may renew it",
  ],
  DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: [
    64,
    false,
    "delegation tokens cannot be managed over this kind of connection",
  ],
  DELEGATION_TOKEN_AUTHORIZATION_FAILED: [65, false, "not authorized for the delegation token"],
  DELEGATION_TOKEN_EXPIRED: [66, false, "the delegation token has expired"],
  INVALID_PRINCIPAL_TYPE: [67, false, "this type of principal is not supported"],
  NON_EMPTY_GROUP: [68, false, "the group still has members"],
  GROUP_ID_NOT_FOUND: [69, false, "there is no such group"],
  FETCH_SESSION_ID_NOT_FOUND: [70, true, "the broker does not know this fetch session (any more)"],
  INVALID_FETCH_SESSION_EPOCH: [71, true, "the fetch session's epoch is not the expected one"],
  LISTENER_NOT_FOUND: [
    72,
    true,
    "the partition's leader has no listener of the name this request came in by",
  ],
  TOPIC_DELETION_DISABLED: [73, false, "deleting topics is disabled"],
  FENCED_LEADER_EPOCH: [74, true, "the leader epoch in the request is older than the broker's"],
  UNKNOWN_LEADER_EPOCH: [75, true, "the leader epoch in the request is newer than the broker's"],
  UNSUPPORTED_COMPRESSION_TYPE: [76, false, "the request's version cannot carry this compression type"],
  STALE_BROKER_EPOCH: [77, false, "the broker has registered again since"],
  OFFSET_NOT_AVAILABLE: [78, true, "a new leader cannot tell this offset yet"],
  MEMBER_ID_REQUIRED: [79, false, "join again with the member id that this response gives"],
  PREFERRED_LEADER_NOT_AVAILABLE: [80, true, "the preferred leader is not available"],
  GROUP_MAX_SIZE_REACHED: [81, false, "the group has as many members as the broker allows"],
  FENCED_INSTANCE_ID: [82, false, "another member has taken over this group.instance.id"],
  ELIGIBLE_LEADERS_NOT_AVAILABLE: [83, true, "no replica that may lead the partition is available"],
  ELECTION_NOT_NEEDED: [84, true, "the partition already has the leader asked for"],
  NO_REASSIGNMENT_IN_PROGRESS: [85, false, "the partition is not being reassigned"],
  GROUP_SUBSCRIBED_TO_TOPIC: [86, false, "the group is subscribed to the topic, so its offsets stay"],
  INVALID_RECORD: [87, false, "a record breaks a rule of the broker or of the topic"],
  UNSTABLE_OFFSET_COMMIT: [88, true, "an open transaction holds offsets that are not decided yet"],
  THROTTLING_QUOTA_EXCEEDED: [89, true, "the client is over its quota"],
  PRODUCER_FENCED: [90, false, "a newer producer has taken over this transactional id"],
  RESOURCE_NOT_FOUND: [91, false, "the request names something that does not exist"],
  DUPLICATE_RESOURCE: [92, false, "the request names the same thing twice"],
  UNACCEPTABLE_CREDENTIAL: [93, false, "the credential does not meet the requirements"],
  INCONSISTENT_VOTER_SET: [94, false, "sender or receiver does not belong to the voters"],
  INVALID_UPDATE_VERSION: [95, false, "the version of the update is not valid"],
  FEATURE_UPDATE_FAILED: [96, false, "the features could not be updated"],
  PRINCIPAL_DESERIALIZATION_FAILURE: [97, false, "the principal of a forwarded request could not be read"],
  SNAPSHOT_NOT_FOUND: [98, false, "there is no such snapshot"],
  POSITION_OUT_OF_RANGE: [99, false, "the position lies outside the snapshot"],
  UNKNOWN_TOPIC_ID: [100, true, "this broker has no topic with this id"],
  DUPLICATE_BROKER_REGISTRATION: [101, false, "another live broker has this id"],
  BROKER_ID_NOT_REGISTERED: [102, false, "no broker is registered with this id"],
  INCONSISTENT_TOPIC_ID: [103, true, "the topic id in the request is not the one in the log"],
  INCONSISTENT_CLUSTER_ID: [104, false, "the request is meant for another cluster"],
  TRANSACTIONAL_ID_NOT_FOUND: [105, false, "there is no such transactional id"],
  FETCH_SESSION_TOPIC_ID_ERROR: [106, true, "the fetch session mixes topic ids with topic names"],
  INELIGIBLE_REPLICA: [107, false, "a replica in the new ISR may not be part of it"],
  NEW_LEADER_ELECTED: [108, false, "the ISR was changed, and the leader with it"],
  OFFSET_MOVED_TO_TIERED_STORAGE: [109, false, "the offset is in tiered storage only"],
  FENCED_MEMBER_EPOCH: [110, false, "the member's epoch is fenced: give up all partitions and join again"],
  UNRELEASED_INSTANCE_ID: [111, false, "another member still holds this group.instance.id"],
  UNSUPPORTED_ASSIGNOR: [112, false, "the group does not support this assignor"],
  STALE_MEMBER_EPOCH: [113, false, "the member's epoch is behind: send a heartbeat first"],
  MISMATCHED_ENDPOINT_TYPE: [114, false, "this endpoint is not of the type the request asks for"],
  UNSUPPORTED_ENDPOINT_TYPE: [115, false, "this type of endpoint is not supported"],
  UNKNOWN_CONTROLLER_ID: [116, false, "there is no controller with this id"],
  UNKNOWN_SUBSCRIPTION_ID: [117, false, "the telemetry subscription is not the current one"],
  TELEMETRY_TOO_LARGE: [118, false, "the telemetry is larger than the broker takes"],
  INVALID_REGISTRATION: [119, false, "the broker's registration is not valid"],
  TRANSACTION_ABORTABLE: [120, false, "the transaction cannot continue; abort it and go on with the same id"],
  INVALID_RECORD_STATE: [121, false, "the record is not in a state that can be acknowledged"],
  SHARE_SESSION_NOT_FOUND: [122, true, "the broker does not know this share session (any more)"],
  INVALID_SHARE_SESSION_EPOCH: [123, true, "the share session's epoch is not the expected one"],
  FENCED_STATE_EPOCH: [124, false, "the share partition's state has a newer epoch"],
  INVALID_VOTER_KEY: [125, false, "the voter's key is not that of the receiver"],
  DUPLICATE_VOTER: [126, false, "the voter is already one of the voters"],
  VOTER_NOT_FOUND: [127, false, "the voter is not one of the voters"],
  INVALID_REGULAR_EXPRESSION: [128, false, "the regular expression is not valid"],
  REBOOTSTRAP_REQUIRED: [
    129,
    false,
    "the client's metadata is out of date: start again from the bootstrap servers",
  ],
  STREAMS_INVALID_TOPOLOGY: [130, false, "the topology is not valid"],
  STREAMS_INVALID_TOPOLOGY_EPOCH: [131, false, "the topology's epoch is not valid"],
  STREAMS_TOPOLOGY_FENCED: [132, false, "the topology's epoch is out of date"],
  SHARE_SESSION_LIMIT_REACHED: [133, true, "the broker has as many share sessions as it allows"],
  GROUP_DELETION_FAILED: [134, false, "a group could not be deleted; its own result says why"],
  STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED: [
    135,
    false,
    "the description of the topology could not be stored",
  ],
  CONTROLLER_ID_NOT_REGISTERED: [136, false, "no controller is registered with this id"],
} as const;

export type ErrorName = keyof typeof table;

/** Every code by its name: `ErrorCode.NONE === 0`. */
export const ErrorCode = Object.fromEntries(
  Object.entries(table).map(([name, row]) => [name, row[0]]),
) as { readonly [Name in ErrorName]: (typeof table)[Name][0] };

const byCode = new Map<number, { name: ErrorName; retriable: boolean; text: string }>(
  (Object.keys(table) as ErrorName[]).map((name) => {
    const [code, retriable, text] = table[name];
    return [code, { name, retriable, text }];
  }),
);

/** The name of `code`; a code that no release up to 4.4 knows is `ERROR_<code>`, since a newer peer may send one. */
export function errorName(code: number): string {
  return byCode.get(code)?.name ?? `ERROR_${code}`;
}

/** A short text for people, lower case, no full stop, to be set into a sentence. */
export function errorText(code: number): string {
  return byCode.get(code)?.text ?? `unknown error code ${code}`;
}

/** Whether a client may send the same request again. False for codes not in the table, as Java's client has it. */
export function isRetriable(code: number): boolean {
  return byCode.get(code)?.retriable ?? false;
}
