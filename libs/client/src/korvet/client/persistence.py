"""PURE: how long to go on trying after a stream broke. Time is an argument."""

from typing import Final

# A stream that stood for longer was connected, though it may have had nothing to say: to
# connect takes less, or fails.
_STEADY: Final = 10.0


class Persistence:
    def __init__(self, retry_for: float) -> None:
        self._retry_for = retry_for
        self._opened_at = 0.0
        self._broken_since: float | None = None

    def opened(self, now: float) -> None:
        self._opened_at = now

    def heard(self) -> None:
        """Something came: whatever was broken is not any more."""
        self._broken_since = None

    def is_over(self, now: float) -> bool:
        """Whether to give up, now that the stream has broken."""
        if self._broken_since is None or now - self._opened_at > _STEADY:
            self._broken_since = now
        return now - self._broken_since > self._retry_for
