"""The admin clients that every promise about administration is tested with."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

from tests.support.admin_aiokafka import aiokafka_admin
from tests.support.admin_confluent import confluent
from tests.support.admin_contract import Admin
from tests.support.admin_kafka_python import kafka_python


class AdminLibrary(NamedTuple):
    name: str
    # Takes the bootstrap servers.
    connect: Callable[[str], AbstractContextManager[Admin]]


ADMINS: Final = (
    AdminLibrary("aiokafka", aiokafka_admin),
    AdminLibrary("confluent", confluent),
    AdminLibrary("kafka-python", kafka_python),
)
