import pytest
from aiokafka.partitioner import murmur2 as aiokafka_murmur2
from hypothesis import given
from hypothesis import strategies as st

from korvet.client.partitioner import murmur2, partition_for_key


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        # From the tests of Apache Kafka's own clients.
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_that_of_kafkas_java_client(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


@given(st.binary(max_size=64))
def test_the_hash_is_that_of_another_client(key: bytes) -> None:
    assert murmur2(key) == aiokafka_murmur2(key) & 0xFFFFFFFF


@given(st.binary(max_size=16), st.integers(1, 1000))
def test_every_key_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= partition_for_key(key, partitions) < partitions
