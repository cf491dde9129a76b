/** The handlers that this broker serves, each with its declaration. A new API gets a line here. */
import { addOffsetsToTxn } from "../codec/messages/add_offsets_to_txn.ts";
import { addPartitionsToTxn } from "../codec/messages/add_partitions_to_txn.ts";
import { alterClientQuotas } from "../codec/messages/alter_client_quotas.ts";
import { alterConfigs } from "../codec/messages/alter_configs.ts";
import { alterPartitionReassignments } from "../codec/messages/alter_partition_reassignments.ts";
import { alterReplicaLogDirs } from "../codec/messages/alter_replica_log_dirs.ts";
import { apiVersions } from "../codec/messages/api_versions.ts";
import { createPartitions } from "../codec/messages/create_partitions.ts";
import { createTopics } from "../codec/messages/create_topics.ts";
import { deleteGroups } from "../codec/messages/delete_groups.ts";
import { deleteRecords } from "../codec/messages/delete_records.ts";
import { deleteTopics } from "../codec/messages/delete_topics.ts";
import { describeClientQuotas } from "../codec/messages/describe_client_quotas.ts";
import { describeCluster } from "../codec/messages/describe_cluster.ts";
import { describeConfigs } from "../codec/messages/describe_configs.ts";
import { describeGroups } from "../codec/messages/describe_groups.ts";
import { describeLogDirs } from "../codec/messages/describe_log_dirs.ts";
import { describeProducers } from "../codec/messages/describe_producers.ts";
import { describeQuorum } from "../codec/messages/describe_quorum.ts";
import { describeTopicPartitions } from "../codec/messages/describe_topic_partitions.ts";
import { electLeaders } from "../codec/messages/elect_leaders.ts";
import { describeUserScramCredentials } from "../codec/messages/describe_user_scram_credentials.ts";
import { describeTransactions } from "../codec/messages/describe_transactions.ts";
import { endTxn } from "../codec/messages/end_txn.ts";
import { listTransactions } from "../codec/messages/list_transactions.ts";
import { fetch } from "../codec/messages/fetch.ts";
import { findCoordinator } from "../codec/messages/find_coordinator.ts";
import { getTelemetrySubscriptions } from "../codec/messages/get_telemetry_subscriptions.ts";
import { heartbeat } from "../codec/messages/heartbeat.ts";
import { incrementalAlterConfigs } from "../codec/messages/incremental_alter_configs.ts";
import { initProducerId } from "../codec/messages/init_producer_id.ts";
import { joinGroup } from "../codec/messages/join_group.ts";
import { leaveGroup } from "../codec/messages/leave_group.ts";
import { listConfigResources } from "../codec/messages/list_config_resources.ts";
import { listGroups } from "../codec/messages/list_groups.ts";
import { listOffsets } from "../codec/messages/list_offsets.ts";
import { listPartitionReassignments } from "../codec/messages/list_partition_reassignments.ts";
import { metadata } from "../codec/messages/metadata.ts";
import { offsetCommit } from "../codec/messages/offset_commit.ts";
import { offsetDelete } from "../codec/messages/offset_delete.ts";
import { offsetFetch } from "../codec/messages/offset_fetch.ts";
import { offsetForLeaderEpoch } from "../codec/messages/offset_for_leader_epoch.ts";
import { produce } from "../codec/messages/produce.ts";
import { pushTelemetry } from "../codec/messages/push_telemetry.ts";
import { syncGroup } from "../codec/messages/sync_group.ts";
import { txnOffsetCommit } from "../codec/messages/txn_offset_commit.ts";
import { unregisterBroker } from "../codec/messages/unregister_broker.ts";
import { updateFeatures } from "../codec/messages/update_features.ts";
import { writeTxnMarkers } from "../codec/messages/write_txn_markers.ts";
import { addOffsetsToTxnHandler } from "./add_offsets_to_txn.ts";
import { addPartitionsToTxnHandler } from "./add_partitions_to_txn.ts";
import { alterClientQuotasHandler } from "./alter_client_quotas.ts";
import { alterConfigsHandler } from "./alter_configs.ts";
import { alterPartitionReassignmentsHandler } from "./alter_partition_reassignments.ts";
import { alterReplicaLogDirsHandler } from "./alter_replica_log_dirs.ts";
import { apiVersionsHandler } from "./api_versions.ts";
import { createPartitionsHandler } from "./create_partitions.ts";
import { createTopicsHandler } from "./create_topics.ts";
import { deleteGroupsHandler } from "./delete_groups.ts";
import { deleteRecordsHandler } from "./delete_records.ts";
import { deleteTopicsHandler } from "./delete_topics.ts";
import { describeClientQuotasHandler } from "./describe_client_quotas.ts";
import { describeClusterHandler } from "./describe_cluster.ts";
import { describeConfigsHandler } from "./describe_configs.ts";
import { describeGroupsHandler } from "./describe_groups.ts";
import { describeLogDirsHandler } from "./describe_log_dirs.ts";
import { describeProducersHandler } from "./describe_producers.ts";
import { describeQuorumHandler } from "./describe_quorum.ts";
import { describeTransactionsHandler } from "./describe_transactions.ts";
import { describeTopicPartitionsHandler } from "./describe_topic_partitions.ts";
import { electLeadersHandler } from "./elect_leaders.ts";
import { describeUserScramCredentialsHandler } from "./describe_user_scram_credentials.ts";
import { endTxnHandler } from "./end_txn.ts";
import { fetchHandler } from "./fetch.ts";
import { findCoordinatorHandler } from "./find_coordinator.ts";
import { getTelemetrySubscriptionsHandler } from "./get_telemetry_subscriptions.ts";
import { heartbeatHandler } from "./heartbeat.ts";
import { incrementalAlterConfigsHandler } from "./incremental_alter_configs.ts";
import { initProducerIdHandler } from "./init_producer_id.ts";
import { joinGroupHandler } from "./join_group.ts";
import { leaveGroupHandler } from "./leave_group.ts";
import { listConfigResourcesHandler } from "./list_config_resources.ts";
import { listGroupsHandler } from "./list_groups.ts";
import { listOffsetsHandler } from "./list_offsets.ts";
import { listPartitionReassignmentsHandler } from "./list_partition_reassignments.ts";
import { listTransactionsHandler } from "./list_transactions.ts";
import { metadataHandler, sharedMetadata } from "./metadata.ts";
import { offsetCommitHandler } from "./offset_commit.ts";
import { offsetDeleteHandler } from "./offset_delete.ts";
import { offsetFetchHandler } from "./offset_fetch.ts";
import { offsetForLeaderEpochHandler } from "./offset_for_leader_epoch.ts";
import { produceHandler } from "./produce.ts";
import { pushTelemetryHandler } from "./push_telemetry.ts";
import { Registry, serve } from "./registry.ts";
import { syncGroupHandler } from "./sync_group.ts";
import { txnOffsetCommitHandler } from "./txn_offset_commit.ts";
import { unregisterBrokerHandler } from "./unregister_broker.ts";
import { updateFeaturesHandler } from "./update_features.ts";
import { writeTxnMarkersHandler } from "./write_txn_markers.ts";

/**
 * Every API that this broker serves, in the order of their keys; with `unstable`, versions too that Kafka does not call
 * stable yet.
 */
export function registryOf({ unstable }: { readonly unstable: boolean }): Registry {
  const registry: Registry = new Registry([
    serve(produce, produceHandler),
    serve(fetch, fetchHandler),
    serve(listOffsets, listOffsetsHandler),
    serve(metadata, metadataHandler, { sharedAs: sharedMetadata }),
    serve(offsetCommit, offsetCommitHandler),
    serve(offsetFetch, offsetFetchHandler),
    serve(findCoordinator, findCoordinatorHandler),
    serve(joinGroup, joinGroupHandler),
    serve(heartbeat, heartbeatHandler),
    serve(leaveGroup, leaveGroupHandler),
    serve(syncGroup, syncGroupHandler),
    serve(describeGroups, describeGroupsHandler),
    serve(listGroups, listGroupsHandler),
    serve(apiVersions, apiVersionsHandler(() => registry)),
    serve(createTopics, createTopicsHandler),
    serve(deleteTopics, deleteTopicsHandler),
    serve(deleteRecords, deleteRecordsHandler),
    serve(initProducerId, initProducerIdHandler),
    serve(offsetForLeaderEpoch, offsetForLeaderEpochHandler),
    serve(addPartitionsToTxn, addPartitionsToTxnHandler),
    serve(addOffsetsToTxn, addOffsetsToTxnHandler),
    serve(endTxn, endTxnHandler),
    serve(writeTxnMarkers, writeTxnMarkersHandler),
    serve(txnOffsetCommit, txnOffsetCommitHandler),
    serve(describeConfigs, describeConfigsHandler),
    serve(alterConfigs, alterConfigsHandler),
    serve(alterReplicaLogDirs, alterReplicaLogDirsHandler),
    serve(describeLogDirs, describeLogDirsHandler),
    serve(createPartitions, createPartitionsHandler),
    serve(deleteGroups, deleteGroupsHandler),
    serve(electLeaders, electLeadersHandler),
    serve(incrementalAlterConfigs, incrementalAlterConfigsHandler),
    serve(alterPartitionReassignments, alterPartitionReassignmentsHandler),
    serve(listPartitionReassignments, listPartitionReassignmentsHandler),
    serve(offsetDelete, offsetDeleteHandler),
    serve(describeClientQuotas, describeClientQuotasHandler),
    serve(alterClientQuotas, alterClientQuotasHandler),
    serve(describeUserScramCredentials, describeUserScramCredentialsHandler),
    serve(describeQuorum, describeQuorumHandler),
    serve(updateFeatures, updateFeaturesHandler),
    serve(describeCluster, describeClusterHandler),
    serve(describeProducers, describeProducersHandler),
    serve(unregisterBroker, unregisterBrokerHandler),
    serve(describeTransactions, describeTransactionsHandler),
    serve(listTransactions, listTransactionsHandler),
    serve(getTelemetrySubscriptions, getTelemetrySubscriptionsHandler),
    serve(pushTelemetry, pushTelemetryHandler),
    serve(listConfigResources, listConfigResourcesHandler),
    serve(describeTopicPartitions, describeTopicPartitionsHandler),
  ], unstable);
  return registry;
}

/** What is served without further ado. */
export const registry: Registry = registryOf({ unstable: false });
