import pytest
from hypothesis import given
from hypothesis import strategies as st

from korvet.gateway.frame_splitter import FrameSplitter
from korvet.kafka.errors import DecodeError


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@given(st.lists(st.binary(max_size=300)), st.lists(st.integers(1, 200), min_size=1))
def test_frames_come_out_whole_however_the_bytes_arrive(
    bodies: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(map(framed, bodies))
    splitter = FrameSplitter(1000)
    found = []

    turn = 0
    while stream:
        size = cuts[turn % len(cuts)]
        splitter.feed(stream[:size])
        stream = stream[size:]
        turn += 1
        while (frame := splitter.next_frame()) is not None:
            found.append(frame)

    assert found == bodies
    assert splitter.buffered == 0


def test_a_frame_larger_than_what_is_merged_comes_out_whole() -> None:
    body = bytes(range(256)) * 2000
    stream = framed(body) + framed(b"next")
    splitter = FrameSplitter(1 << 20)

    for start in range(0, len(stream), 100_000):
        splitter.feed(stream[start : start + 100_000])

    assert splitter.next_frame() == body
    assert splitter.next_frame() == b"next"
    assert splitter.next_frame() is None


@pytest.mark.parametrize("length", [101, -1, 2**31 - 1])
def test_a_length_beyond_the_limit_is_refused_before_the_body_comes(length: int) -> None:
    splitter = FrameSplitter(100)
    splitter.feed(length.to_bytes(4, "big", signed=True))

    with pytest.raises(DecodeError):
        splitter.next_frame()


def test_bytes_of_an_unfinished_frame_are_counted() -> None:
    splitter = FrameSplitter(100)

    splitter.feed(framed(bytes(50))[:20])

    assert splitter.next_frame() is None
    assert splitter.buffered == 20


def test_a_client_that_sends_byte_by_byte_costs_few_chunks() -> None:
    splitter = FrameSplitter(1 << 20)

    for byte in framed(bytes(5000)):
        splitter.feed(bytes([byte]))

    assert len(splitter._chunks) == 1
    assert splitter.next_frame() == bytes(5000)
