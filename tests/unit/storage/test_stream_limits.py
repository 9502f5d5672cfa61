"""What a gateway may have under way on a stream, storage takes without holding it up."""

from korvet.gateway import storage_link
from korvet.storage import append_calls, read_calls


def test_a_stream_takes_every_read_that_a_gateway_parks() -> None:
    # Else some would be answered before there is anything.
    assert storage_link._MAX_READS < read_calls._MAX_PARKED


def test_a_stream_takes_every_append_that_a_gateway_sends() -> None:
    assert storage_link._MAX_APPENDS < append_calls._MAX_OPEN_CALLS
