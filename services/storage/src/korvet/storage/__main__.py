"""Reads the environment and runs storage: `python -m korvet.storage`."""

import os
from asyncio import Event

from korvet.redis.service_process import run_service
from korvet.runtime.settings import load
from korvet.storage.server import StorageServer
from korvet.storage.settings import StorageSettings


def main() -> None:
    settings = load(StorageSettings, os.environ)

    async def serve(stop: Event) -> None:
        # Made where the loop runs, which its parts use.
        await StorageServer(settings).run(stop)

    run_service("storage", settings, os.environ, serve)


if __name__ == "__main__":
    main()
