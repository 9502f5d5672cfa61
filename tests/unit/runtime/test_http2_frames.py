from itertools import pairwise

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from korvet.runtime.http2_frames import (
    Flag,
    Frame,
    FrameSplitter,
    Kind,
    MessageSplitter,
    ProtocolError,
    Setting,
    content,
    frame,
    header_block,
    message_head,
    read_number,
    read_settings,
    settings_frame,
    window_update,
)

FRAMES = st.lists(
    st.tuples(
        st.sampled_from(list(Kind)),
        st.integers(0, 255),
        st.integers(0, (1 << 31) - 1),
        st.binary(max_size=100),
    ),
    max_size=8,
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(ends)]


@given(frames=FRAMES, places=st.lists(st.integers(0, 900)))
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    frames: list[tuple[Kind, int, int, bytes]], places: list[int]
) -> None:
    splitter = FrameSplitter(1000)
    sent = b"".join(frame(*each) for each in frames)

    got = [each for part in cut(sent, places) for each in splitter.feed(part)]

    assert [(each.kind, each.flags, each.stream, bytes(each.payload)) for each in got] == [
        tuple(each) for each in frames
    ]


@given(messages=st.lists(st.binary(max_size=100)), places=st.lists(st.integers(0, 900)))
def test_messages_come_out_as_they_went_in_however_they_are_cut(
    messages: list[bytes], places: list[int]
) -> None:
    splitter = MessageSplitter(100)
    sent = b"".join(message_head(len(message)) + message for message in messages)

    got = [bytes(each) for part in cut(sent, places) for each in splitter.feed(part)]

    assert got == messages
    assert splitter.is_between_messages


def test_a_message_that_has_not_wholly_arrived_is_told() -> None:
    splitter = MessageSplitter(100)

    assert list(splitter.feed(message_head(3) + b"ab")) == []

    assert not splitter.is_between_messages


def test_a_frame_that_is_too_long_is_refused_before_it_arrives() -> None:
    with pytest.raises(ProtocolError, match="a frame of 1001 bytes"):
        list(FrameSplitter(1000).feed(frame(Kind.DATA, 0, 1, bytes(1001))[:9]))


@pytest.mark.parametrize(
    ("head", "why"),
    [(message_head(101), "a message of 101 bytes"), (b"\x01\0\0\0\0", "compressed")],
)
def test_a_message_that_cannot_be_taken_is_refused(head: bytes, why: str) -> None:
    with pytest.raises(ProtocolError, match=why):
        list(MessageSplitter(100).feed(head))


def test_padding_and_priorities_are_not_content() -> None:
    padded = Frame(Kind.DATA, Flag.PADDED, 1, b"\x02data\0\0")
    headers = Frame(Kind.HEADERS, Flag.PADDED | Flag.PRIORITY, 1, b"\x01\0\0\0\0\0block\0")

    assert content(padded) == b"data"
    assert content(headers) == b"block"
    assert content(Frame(Kind.DATA, Flag.NONE, 1, b"all")) == b"all"


@pytest.mark.parametrize("payload", [b"", b"\x05ab"])
def test_padding_that_is_not_there_is_refused(payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        content(Frame(Kind.DATA, Flag.PADDED, 1, payload))


def test_settings_and_numbers_are_read_as_they_were_written() -> None:
    settings = [(Setting.INITIAL_WINDOW_SIZE, 1 << 30), (Setting.MAX_FRAME_SIZE, 1 << 20)]

    assert list(read_settings(settings_frame(settings)[9:])) == settings
    assert read_number(window_update(3, 12345)[9:]) == 12345


@pytest.mark.parametrize("length", [1, 5, 7])
def test_settings_that_are_cut_are_refused(length: int) -> None:
    with pytest.raises(ProtocolError):
        list(read_settings(bytes(length)))


def test_a_number_that_is_cut_is_refused() -> None:
    with pytest.raises(ProtocolError):
        read_number(b"abc")


@given(st.lists(st.tuples(st.from_regex(r"\A[a-z-]{1,20}\Z"), st.text(max_size=300))))
def test_headers_are_what_others_read(fields: list[tuple[str, str]]) -> None:
    known = [(":method", "POST"), (":path", "/a/b"), ("content-type", "application/grpc")]
    encoded = [(name.encode(), value.encode()) for name, value in [*known, *fields]]

    decoded = hpack.Decoder(max_header_list_size=1 << 20).decode(header_block(*encoded))

    assert [(str(name), str(value)) for name, value in decoded] == [*known, *fields]
