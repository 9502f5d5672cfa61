"""Runs a service on Redis as a process: its log, its signals, its reasons to give up."""

import logging
import sys
from collections.abc import Mapping

from korvet.redis.server_check import UnsuitableRedisError
from korvet.redis.settings import RedisServiceSettings
from korvet.runtime import logs, process, telemetry
from korvet.runtime.grpc_server import ListenError
from korvet.runtime.metrics_server import with_metrics

log = logging.getLogger(__name__)


def run_service(
    name: str,
    settings: RedisServiceSettings,
    environ: Mapping[str, str],
    serve: process.Main,
) -> None:
    """Run until told to stop; exit with 1 where the service cannot be run like this.

    `environ` tells OpenTelemetry what to export.
    """
    logs.configure(name, level=settings.log_level, style=settings.log_style)
    reason = None
    try:
        with telemetry.exporting(name, environ):
            process.run(with_metrics(settings.metrics_address, serve))
    except* (UnsuitableRedisError, ListenError) as group:
        # What is raised in here, SystemExit too, would become part of a group.
        reason = group.exceptions[0]
    if reason:
        log.error("cannot go on: %s", reason)
        sys.exit(1)
