"""What storage's Redis user needs: every command, key and channel of its scripts."""

from korvet.redis.keys import Keys
from korvet.redis.rights import Rights, commands_in
from korvet.redis.script import script_texts

# Stands for any name: nothing of that name is made or looked at.
_ANY = "any"


def storage_rights(keys: Keys) -> Rights:
    partition = keys.of_partition(_ANY, 0)
    retired = keys.retired(_ANY, 0)
    return Rights(
        commands=commands_in(script_texts("korvet.storage")) | {"WAIT", "WAITAOF"},
        keyspace=keys.keyspace,
        keys=(
            *partition.values(),
            *retired.values(),
            keys.topics,
            keys.topic_ids,
            keys.topic(_ANY),
            keys.catalogue_version,
            keys.deletions,
            keys.gateways,
            keys.producer_ids,
            keys.group(_ANY),
            keys.groups,
        ),
        channels=(keys.appended(_ANY, 0), keys.changes, keys.confirmations),
    )
