"""What a script is told of a log and a batch, besides what is appended."""

from korvet.redis.keys import Keys
from korvet.redis.lane import Lane
from korvet.redis.topic_ids import topic_id_text
from korvet.storage.append_rules import Prepared
from korvet.storage.log_arguments import batch_arguments, log_arguments, log_keys
from korvet.storage.request_limits import WORDS_OF_A_PARTITION
from korvet.storage.topic import Topic
from korvet.storage.topic_configs import StoredConfigs, TopicConfigs

KEYS = Keys()
TOPIC = Topic(
    name="orders",
    id=b"a" * 16,
    version=1,
    changed_at=1,
    leader_epochs=(0,),
    configs=StoredConfigs(),
    config=TopicConfigs({}).view(StoredConfigs()),
    id_text=topic_id_text(b"a" * 16),
)


async def test_atomic_appends_count_all_words_of_a_partition() -> None:
    lane = Lane("redis://127.0.0.1:1/0", "no Redis", scripts=())
    nothing = Prepared(
        0, 0, 0, -1, -1, -1, is_transactional=False, payload=(), entry_count=0
    )

    words = (
        *log_keys(KEYS, "orders", 0),
        # How many arguments there are for the partition (append_atomically.lua).
        0,
        *log_arguments(KEYS, lane, TOPIC, 0),
        *batch_arguments(nothing, 0),
    )

    assert len(words) == WORDS_OF_A_PARTITION
