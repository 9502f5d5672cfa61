"""How a Kafka client proves who it is, and knows whom it talks to.

Plain values, which Spark can send to its workers; what is made of files is made there.
"""

from dataclasses import dataclass, field
from typing import Any

from aiokafka.helpers import create_ssl_context


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSecurity:
    tls: bool = False
    # Files, as PEM: who has signed the gateway's certificate; and who we are, for mutual
    # TLS.
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    # Without a user there is no SASL.
    mechanism: str = "SCRAM-SHA-256"
    user: str | None = None
    password: str = field(default="", repr=False)

    def options(self) -> dict[str, Any]:
        """What aiokafka's clients take."""
        options: dict[str, Any] = {}
        if self.tls:
            options["ssl_context"] = create_ssl_context(
                cafile=self.ca, certfile=self.certificate, keyfile=self.key
            )
        if self.user is not None:
            options["sasl_mechanism"] = self.mechanism
            options["sasl_plain_username"] = self.user
            options["sasl_plain_password"] = self.password
        protocol = "SSL" if self.tls else "PLAINTEXT"
        return {
            "security_protocol": protocol if self.user is None else f"SASL_{protocol}",
            **options,
        }
