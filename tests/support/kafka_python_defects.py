"""Defects of kafka-python 3.0.12, and how tests that break things live with each.

None of them changes what is written or read: they leave a client waiting for ever, or a
socket open.
"""

from typing import Any, Final

from kafka.errors import KafkaConnectionError
from kafka.net.inet import KafkaNetSocket


def join_unhurriedly(consumer: Any) -> None:
    """Give a consumer's joins all the time they need.

    It loses its assignment, and then stays silent, when a poll's time is over just between
    its join and its sync.
    """
    coordinator = consumer._coordinator
    join = coordinator.ensure_active_group
    coordinator.ensure_active_group = lambda timeout_ms: join(timeout_ms=None)


def keep_requests(producer: Any) -> None:
    """Have a producer come back to a request whose coordinator cannot be reached.

    Its sender does so where it is told that a node is not ready; where that is raised, it
    looks for the coordinator and forgets the request. A partition is then never added, and
    a commit never ends.
    """
    client = producer._sender._client
    await_ready = client.await_ready

    def is_ready(*arguments: Any, **named: Any) -> bool:
        try:
            return bool(await_ready(*arguments, **named))
        except KafkaConnectionError:
            return False

    client.await_ready = is_ready


class _ClosedSocket(KafkaNetSocket):  # type: ignore[misc]  # untyped
    """Does not leave a socket open that could not connect."""

    SCHEMES = ("closed",)

    async def sock_connect(
        self, net: Any, sock: Any, sockaddr: Any, timeout_at: float | None = None
    ) -> Any:
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise


# A client's `proxy_url`: goes through no proxy, but through the class above.
NO_SOCKETS_LEFT: Final = "closed://"
