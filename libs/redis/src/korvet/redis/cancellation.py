"""Notices a cancellation that a library has swallowed.

redis-py sends through `asyncio.wait_for`, which on Python 3.11 drops a cancellation that
arrives together with the result. A loop around it would then go on for ever.
"""

import asyncio


def stop_if_cancelled() -> None:
    """Raise CancelledError if the running task was cancelled and has not ended."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
