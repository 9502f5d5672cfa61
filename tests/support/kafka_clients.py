"""The real Kafka clients that every end-to-end promise is tested with."""

from typing import Final

from tests.support.aiokafka_client import AiokafkaClient
from tests.support.client_contract import KafkaClient
from tests.support.confluent_client import ConfluentClient
from tests.support.kafka_python_client import KafkaPythonClient

CLIENTS: Final[tuple[KafkaClient, ...]] = (
    AiokafkaClient(),
    ConfluentClient(),
    KafkaPythonClient(),
)
