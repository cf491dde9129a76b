/**
 * Every API of the protocol that a broker answers, by key. A new one is a declaration in messages/ and a line
 * here; the registry of handlers, ApiVersions, metric labels and the table in the README all derive from this list.
 */
import type { Api } from "./schema.ts";
import { produce } from "./messages/produce.ts";
import { fetch } from "./messages/fetch.ts";
import { listOffsets } from "./messages/list_offsets.ts";
import { metadata } from "./messages/metadata.ts";
import { offsetCommit } from "./messages/offset_commit.ts";
import { offsetFetch } from "./messages/offset_fetch.ts";
import { findCoordinator } from "./messages/find_coordinator.ts";
import { joinGroup } from "./messages/join_group.ts";
import { heartbeat } from "./messages/heartbeat.ts";
import { leaveGroup } from "./messages/leave_group.ts";
import { syncGroup } from "./messages/sync_group.ts";
import { describeGroups } from "./messages/describe_groups.ts";
import { listGroups } from "./messages/list_groups.ts";
import { saslHandshake } from "./messages/sasl_handshake.ts";
import { apiVersions } from "./messages/api_versions.ts";
import { createTopics } from "./messages/create_topics.ts";
import { deleteTopics } from "./messages/delete_topics.ts";
import { deleteRecords } from "./messages/delete_records.ts";
import { initProducerId } from "./messages/init_producer_id.ts";
import { offsetForLeaderEpoch } from "./messages/offset_for_leader_epoch.ts";
import { addPartitionsToTxn } from "./messages/add_partitions_to_txn.ts";
import { addOffsetsToTxn } from "./messages/add_offsets_to_txn.ts";
import { endTxn } from "./messages/end_txn.ts";
import { writeTxnMarkers } from "./messages/write_txn_markers.ts";
import { txnOffsetCommit } from "./messages/txn_offset_commit.ts";
import { describeAcls } from "./messages/describe_acls.ts";
import { createAcls } from "./messages/create_acls.ts";
import { deleteAcls } from "./messages/delete_acls.ts";
import { describeConfigs } from "./messages/describe_configs.ts";
import { alterConfigs } from "./messages/alter_configs.ts";
import { alterReplicaLogDirs } from "./messages/alter_replica_log_dirs.ts";
import { describeLogDirs } from "./messages/describe_log_dirs.ts";
import { saslAuthenticate } from "./messages/sasl_authenticate.ts";
import { createPartitions } from "./messages/create_partitions.ts";
import { createDelegationToken } from "./messages/create_delegation_token.ts";
import { renewDelegationToken } from "./messages/renew_delegation_token.ts";
import { expireDelegationToken } from "./messages/expire_delegation_token.ts";
import { describeDelegationToken } from "./messages/describe_delegation_token.ts";
import { deleteGroups } from "./messages/delete_groups.ts";
import { electLeaders } from "./messages/elect_leaders.ts";
import { incrementalAlterConfigs } from "./messages/incremental_alter_configs.ts";
import { alterPartitionReassignments } from "./messages/alter_partition_reassignments.ts";
import { listPartitionReassignments } from "./messages/list_partition_reassignments.ts";
import { offsetDelete } from "./messages/offset_delete.ts";
import { describeClientQuotas } from "./messages/describe_client_quotas.ts";
import { alterClientQuotas } from "./messages/alter_client_quotas.ts";
import { describeUserScramCredentials } from "./messages/describe_user_scram_credentials.ts";
import { alterUserScramCredentials } from "./messages/alter_user_scram_credentials.ts";
import { describeQuorum } from "./messages/describe_quorum.ts";
import { updateFeatures } from "./messages/update_features.ts";
import { describeCluster } from "./messages/describe_cluster.ts";
import { describeProducers } from "./messages/describe_producers.ts";
import { unregisterBroker } from "./messages/unregister_broker.ts";
import { describeTransactions } from "./messages/describe_transactions.ts";
import { listTransactions } from "./messages/list_transactions.ts";
import { consumerGroupHeartbeat } from "./messages/consumer_group_heartbeat.ts";
import { consumerGroupDescribe } from "./messages/consumer_group_describe.ts";
import { getTelemetrySubscriptions } from "./messages/get_telemetry_subscriptions.ts";
import { pushTelemetry } from "./messages/push_telemetry.ts";
import { listConfigResources } from "./messages/list_config_resources.ts";
import { describeTopicPartitions } from "./messages/describe_topic_partitions.ts";
import { shareGroupHeartbeat } from "./messages/share_group_heartbeat.ts";
import { shareGroupDescribe } from "./messages/share_group_describe.ts";
import { shareFetch } from "./messages/share_fetch.ts";
import { shareAcknowledge } from "./messages/share_acknowledge.ts";
import { addRaftVoter } from "./messages/add_raft_voter.ts";
import { removeRaftVoter } from "./messages/remove_raft_voter.ts";
import { initializeShareGroupState } from "./messages/initialize_share_group_state.ts";
import { readShareGroupState } from "./messages/read_share_group_state.ts";
import { writeShareGroupState } from "./messages/write_share_group_state.ts";
import { deleteShareGroupState } from "./messages/delete_share_group_state.ts";
import { readShareGroupStateSummary } from "./messages/read_share_group_state_summary.ts";
import { streamsGroupHeartbeat } from "./messages/streams_group_heartbeat.ts";
import { streamsGroupDescribe } from "./messages/streams_group_describe.ts";
import { describeShareGroupOffsets } from "./messages/describe_share_group_offsets.ts";
import { alterShareGroupOffsets } from "./messages/alter_share_group_offsets.ts";
import { deleteShareGroupOffsets } from "./messages/delete_share_group_offsets.ts";
import { streamsGroupTopologyDescriptionUpdate } from "./messages/streams_group_topology_description_update.ts";
import { unregisterController } from "./messages/unregister_controller.ts";

/** The APIs in the order of their keys. */
export const apis = [
  produce,
  fetch,
  listOffsets,
  metadata,
  offsetCommit,
  offsetFetch,
  findCoordinator,
  joinGroup,
  heartbeat,
  leaveGroup,
  syncGroup,
  describeGroups,
  listGroups,
  saslHandshake,
  apiVersions,
  createTopics,
  deleteTopics,
  deleteRecords,
  initProducerId,
  offsetForLeaderEpoch,
  addPartitionsToTxn,
  addOffsetsToTxn,
  endTxn,
  writeTxnMarkers,
  txnOffsetCommit,
  describeAcls,
  createAcls,
  deleteAcls,
  describeConfigs,
  alterConfigs,
  alterReplicaLogDirs,
  describeLogDirs,
  saslAuthenticate,
  createPartitions,
  createDelegationToken,
  renewDelegationToken,
  expireDelegationToken,
  describeDelegationToken,
  deleteGroups,
  electLeaders,
  incrementalAlterConfigs,
  alterPartitionReassignments,
  listPartitionReassignments,
  offsetDelete,
  describeClientQuotas,
  alterClientQuotas,
  describeUserScramCredentials,
  alterUserScramCredentials,
  describeQuorum,
  updateFeatures,
  describeCluster,
  describeProducers,
  unregisterBroker,
  describeTransactions,
  listTransactions,
  consumerGroupHeartbeat,
  consumerGroupDescribe,
  getTelemetrySubscriptions,
  pushTelemetry,
  listConfigResources,
  describeTopicPartitions,
  shareGroupHeartbeat,
  shareGroupDescribe,
  shareFetch,
  shareAcknowledge,
  addRaftVoter,
  removeRaftVoter,
  initializeShareGroupState,
  readShareGroupState,
  writeShareGroupState,
  deleteShareGroupState,
  readShareGroupStateSummary,
  streamsGroupHeartbeat,
  streamsGroupDescribe,
  describeShareGroupOffsets,
  alterShareGroupOffsets,
  deleteShareGroupOffsets,
  streamsGroupTopologyDescriptionUpdate,
  unregisterController,
] as const;

const byKey = new Map<number, Api>(apis.map((api) => [api.key, api as unknown as Api]));

/** The API with this key, if there is one. */
export function apiByKey(key: number): Api | undefined {
  return byKey.get(key);
}
