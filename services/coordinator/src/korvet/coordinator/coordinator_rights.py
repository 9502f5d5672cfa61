"""What the coordinator's Redis user needs: every command and key of its scripts."""

from korvet.redis.keys import Keys
from korvet.redis.rights import Rights, commands_in
from korvet.redis.script import script_texts

# Stands for any name: nothing of that name is made or looked at.
_ANY = "any"


def coordinator_rights(keys: Keys) -> Rights:
    return Rights(
        commands=commands_in(script_texts("korvet.coordinator")),
        keyspace=keys.keyspace,
        keys=(
            keys.group(_ANY),
            keys.group_offsets(_ANY),
            keys.commit(keys.stream(_ANY, 0), _ANY),
            keys.group_transactions(_ANY),
            keys.group_pending(_ANY),
            keys.groups,
            keys.transaction(_ANY),
            keys.transactional_ids,
            keys.coordinators,
        ),
        channels=(),
    )
