"""Runs a service on Redis as a process: its log, its signals, its reasons to give up."""

import logging
import sys

from korvet.redis.server_check import UnsuitableRedisError
from korvet.redis.settings import RedisServiceSettings
from korvet.runtime import logs, process
from korvet.runtime.grpc_server import ListenError

log = logging.getLogger(__name__)


def run_service(name: str, settings: RedisServiceSettings, serve: process.Main) -> None:
    """Run until told to stop; exit with 1 where the service cannot be run like this."""
    logs.configure(name, level=settings.log_level, style=settings.log_style)
    reason = None
    try:
        process.run(serve)
    except* (UnsuitableRedisError, ListenError) as group:
        # What is raised in here, SystemExit too, would become part of a group.
        reason = group.exceptions[0]
    if reason:
        log.error("cannot go on: %s", reason)
        sys.exit(1)
