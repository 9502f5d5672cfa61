"""What the environment asks to be exported, and what it does not."""

import subprocess
import sys
from collections.abc import Mapping

import pytest

from korvet.runtime import tracing
from korvet.runtime.telemetry import exporting, is_exported, resource, root_ratio

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317"}


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:4317"},
        {**ENDPOINT, "OTEL_SDK_DISABLED": "true"},
        {**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"},
        {**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
        {**ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
    ],
)
def test_traces_are_not_exported(environ: Mapping[str, str]) -> None:
    assert not is_exported("traces", environ)
    with exporting("gateway", {**environ, "OTEL_METRICS_EXPORTER": "none"}):
        assert not tracing.is_on()


@pytest.mark.parametrize(
    "environ",
    [
        ENDPOINT,
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4317"},
        {**ENDPOINT, "OTEL_SDK_DISABLED": "false", "OTEL_METRICS_EXPORTER": "none"},
        {**ENDPOINT, "OTEL_TRACES_EXPORTER": "otlp"},
    ],
)
def test_traces_are_exported(environ: Mapping[str, str]) -> None:
    assert is_exported("traces", environ)


@pytest.mark.parametrize(
    ("sampler", "argument", "ratio"),
    [
        ("parentbased_traceidratio", "0.01", 0.01),
        ("ParentBased_TraceIdRatio", "0", 0.0),
        ("parentbased_traceidratio", "1", 1.0),
        # What the SDK has to say about it.
        ("parentbased_traceidratio", "", None),
        ("parentbased_traceidratio", "a lot", None),
        ("parentbased_traceidratio", "2", None),
        ("traceidratio", "0.01", None),
        ("parentbased_always_on", "0.01", None),
        ("", "0.01", None),
    ],
)
def test_a_ratio_is_of_requests(sampler: str, argument: str, ratio: float | None) -> None:
    environ = {"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": argument}

    assert root_ratio(environ) == ratio


def test_who_exports_is_what_the_environment_calls_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = resource("gateway").attributes
    monkeypatch.setenv("OTEL_SERVICE_NAME", "events")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.version=7,team=a")
    theirs = resource("gateway").attributes

    assert ours["service.name"] == "korvet-gateway"
    assert theirs["service.name"] == "events"
    assert (theirs["service.version"], theirs["team"]) == ("7", "a")


def test_a_process_that_exports_nothing_does_not_import_the_sdk() -> None:
    program = (
        "import sys, korvet.runtime.telemetry as telemetry\n"
        "import korvet.gateway.__main__\n"
        "with telemetry.exporting('gateway', {}): pass\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )

    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
