"""What a client may do, as the bit fields that Metadata and its kin carry.

Bit n stands for Kafka's operation number n (READ 3, WRITE 4, CREATE 5, DELETE 6, ALTER 7,
DESCRIBE 8, CLUSTER_ACTION 9, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11, IDEMPOTENT_WRITE 12).
Without ACLs everybody may do everything that there is to do to a resource.
"""

from typing import Final

NOT_ASKED: Final = -(2**31)
ON_TOPIC: Final = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
ON_GROUP: Final = sum(1 << operation for operation in (3, 6, 8, 10, 11))
ON_CLUSTER: Final = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
