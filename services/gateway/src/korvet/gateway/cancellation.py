"""Tells a gRPC call that was cancelled from a task that is.

grpc.aio raises CancelledError for a call that ended with CANCELLED, whoever cancelled it: a
channel that was closed, or a server that stops. Taken for the end of the task, that would
silently end whatever loop the call is made in.
"""

import asyncio


def is_this_task_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
