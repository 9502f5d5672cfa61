"""What is generated, and from which release of Kafka."""

from typing import Final

KAFKA_VERSION: Final = "4.2.0"

# In DESIGN's waves: the log, administration, consumer groups, transactions.
APIS: Final = (
    "Produce",
    "Fetch",
    "ListOffsets",
    "Metadata",
    "ApiVersions",
    "CreateTopics",
    "DeleteTopics",
    "InitProducerId",
    "DescribeConfigs",
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "CreatePartitions",
    "DeleteRecords",
    "DescribeCluster",
    "DescribeTopicPartitions",
    "OffsetForLeaderEpoch",
    "DescribeLogDirs",
    "DescribeQuorum",
    "ElectLeaders",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "AlterReplicaLogDirs",
    "ListConfigResources",
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "ListGroups",
    "DescribeGroups",
    "DeleteGroups",
    "OffsetDelete",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "TxnOffsetCommit",
    "DescribeProducers",
    "DescribeTransactions",
    "ListTransactions",
)

HEADERS: Final = ("RequestHeader", "ResponseHeader")
