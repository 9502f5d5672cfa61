"""What it means to a person when a gRPC service gives no answer."""

from typing import Final

from korvet.cli.addresses import nobody_there
from korvet.cli.failure import Failure
from korvet.client.connection import NOT_CONNECTED

# What gRPC's servers say for a method that they do not have.
_ANOTHER_SERVICE: Final = "Method not found"


def no_answer(service: str, address: str, detail: str) -> Failure:
    """`service` is "storage" or "coordinator", which is its option's name as well."""
    # Should gRPC's words change, the second message is true of both.
    if detail.startswith(NOT_CONNECTED):
        return nobody_there(address, f"--{service}")
    if detail.startswith(_ANOTHER_SERVICE):
        return Failure(
            f"What answers at {address} is another service than Korvet's {service}.",
            f"`korvet up` says where everything is. Give it with --{service} HOST:PORT.",
        )
    return Failure(
        f"{service.capitalize()} at {address} cannot answer: {detail}.",
        "Its log says why; `korvet up --verbose` shows it.",
        is_unanswered=True,
    )
