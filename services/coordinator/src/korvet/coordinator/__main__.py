"""Reads the environment and runs a coordinator: `python -m korvet.coordinator`."""

import os
from asyncio import Event

from korvet.coordinator.server import CoordinatorServer
from korvet.coordinator.settings import CoordinatorSettings
from korvet.redis.service_process import run_service
from korvet.runtime.settings import load


def main() -> None:
    settings = load(CoordinatorSettings, os.environ)

    async def serve(stop: Event) -> None:
        # Made where the loop runs, which its parts use.
        await CoordinatorServer(settings).run(stop)

    run_service("coordinator", settings, os.environ, serve)


if __name__ == "__main__":
    main()
