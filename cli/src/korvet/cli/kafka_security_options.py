"""How a command's Kafka clients prove themselves, and know whom they talk to."""

from typing import Annotated

import typer

KafkaTlsOption = Annotated[
    bool, typer.Option("--tls", help="Korvet speaks TLS, with a certificate to check.")
]
KafkaUserOption = Annotated[
    str | None,
    typer.Option("--user", metavar="NAME", envvar="KORVET_USER", help="Who asks, by SASL."),
]
KafkaPasswordOption = Annotated[
    str,
    typer.Option(
        "--password",
        metavar="TEXT",
        envvar="KORVET_PASSWORD",
        help="The password that goes with it; in the environment nobody else sees it.",
        show_default=False,
    ),
]
KafkaMechanismOption = Annotated[
    str,
    typer.Option(
        "--sasl-mechanism",
        metavar="NAME",
        help="SCRAM-SHA-256, SCRAM-SHA-512 or PLAIN.",
    ),
]
