"""Topics, configs and gateways as the messages of the gRPC contract."""

from collections.abc import Iterable

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.gateways import Gateway
from korvet.storage.topic import Deletion, Topic
from korvet.storage.topic_configs import DescribedConfig, StoredConfigs, TopicConfigs


def topic_message(topic: Topic) -> pb.Topic:
    """A topic without its configs, as watchers get it."""
    return pb.Topic(
        name=topic.name,
        id=topic.id,
        leader_epochs=topic.leader_epochs,
        version=topic.version,
        delivers_through_redis=topic.config.redis_delivery,
    )


def deletion_message(deletion: Deletion) -> pb.ClusterUpdate.Deletion:
    return pb.ClusterUpdate.Deletion(
        name=deletion.name, id=deletion.id, version=deletion.version
    )


def gateway_messages(gateways: Iterable[Gateway]) -> list[pb.Gateway]:
    return [
        pb.Gateway(node_id=g.node_id, host=g.host, port=g.port, rack=g.rack)
        for g in gateways
    ]


class TopicDescriber:
    """Topics with all their configs.

    Most configs of most topics are the defaults, so those are built once and copied.
    """

    def __init__(self, configs: TopicConfigs) -> None:
        self._configs = configs
        defaults = configs.describe(StoredConfigs())
        self._defaults = pb.Topic(configs=[_config_message(config) for config in defaults])
        self._positions = {config.row.name: i for i, config in enumerate(defaults)}

    def message(self, topic: Topic) -> pb.Topic:
        message = topic_message(topic)
        message.MergeFrom(self._defaults)
        own = {*topic.configs.own, *topic.configs.fixed}
        for config in self._configs.describe(topic.configs, only=own):
            described = message.configs[self._positions[config.row.name]]
            described.value = config.value
            described.source = config.source
        return message


def setting_message(config: DescribedConfig) -> pb.Config:
    """A default of topics as a server-wide setting, under the name that has there."""
    message = _config_message(config)
    message.name = config.row.server_name or config.row.name
    # Settings are read when a service starts.
    message.read_only = True
    return message


def _config_message(config: DescribedConfig) -> pb.Config:
    row = config.row
    return pb.Config(
        name=row.name,
        value=config.value,
        source=config.source,
        type=row.kind.type,
        documentation=row.documentation,
        read_only=row.fixed,
        default_value=row.default,
    )
