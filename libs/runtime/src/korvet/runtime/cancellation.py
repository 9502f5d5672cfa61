"""Tells a gRPC call that was cancelled from a task that is; grpc.aio mixes up the two.

It raises CancelledError for a call that ended with CANCELLED, whoever cancelled it: a
channel that was closed, or a server that stops. Taken for the end of the task, that would
silently end whatever loop the call is made in.

And it keeps to itself that a task was cancelled while its call was being set up, which for
a stream lasts until the first answer: if the call has failed by then, only that is raised.
A loop that goes on after a failure would go on for ever, and whoever waits for it too.
"""

import asyncio


def heed_cancellation() -> None:
    """Raise CancelledError if this task is to end; for all that go on after a failure."""
    task = asyncio.current_task()
    if task is not None and task.cancelling() > 0:
        raise asyncio.CancelledError
