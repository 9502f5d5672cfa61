"""What the `korvet lake` commands share: their options, and the way to a Spark session."""

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from korvet.cli.failure import Failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LakeOption = Annotated[
    str,
    typer.Option(
        "--lake",
        metavar="DIR",
        envvar="KORVET_LAKE",
        help="The lake's folder, or its address where Spark has a file system for it.",
        show_default=False,
    ),
]
MasterOption = Annotated[
    str,
    typer.Option(
        "--master",
        metavar="URL",
        envvar="KORVET_LAKE_MASTER",
        help="Spark's master: this machine, or a cluster's, as in spark://HOST:7077.",
    ),
]
LOCAL_MASTER = "local[*]"
TopicsOption = Annotated[
    str,
    typer.Option(
        "--topics",
        metavar="NAMES",
        help="Topics, separated by commas; what is no name is a regular expression for"
        " whole names, as in 'audit-.*'.",
        show_default=False,
    ),
]
TlsOption = Annotated[
    bool, typer.Option("--tls", help="Storage speaks TLS, with a certificate to check.")
]
TlsCaOption = Annotated[
    str | None,
    typer.Option(
        "--tls-ca",
        metavar="FILE",
        help="The authority that has signed it, as PEM; else those of the system.",
    ),
]
TlsCertificateOption = Annotated[
    str | None,
    typer.Option("--tls-cert", metavar="FILE", help="Who asks, for mutual TLS, as PEM."),
]
TlsKeyOption = Annotated[
    str | None, typer.Option("--tls-key", metavar="FILE", help="The key that goes with it.")
]


def check_installed() -> None:
    """Say in one line how to get Spark, before anything is imported that needs it."""
    if find_spec("pyspark") is None or find_spec("korvet.pipeline") is None:
        raise Failure(
            "The lake needs Spark, which is not installed: pip install 'korvet[lake]', or"
            " `make setup-lake` in a checkout."
        )


@contextlib.contextmanager
def lake_session(app: str, master: str) -> Iterator["SparkSession"]:
    """A Spark session for a command; a job's refusals become the command's."""
    check_installed()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from korvet.pipeline.failure import LakeError
    from korvet.pipeline.spark_failure import reason
    from korvet.pipeline.spark_session import spark_session

    try:
        with spark_session(app, master=master) as spark:
            yield spark
    except LakeError as error:
        raise Failure(error.problem, error.advice) from None
    except (PySparkException, Py4JError) as error:
        raise Failure(f"Spark failed: {reason(error)}") from None
