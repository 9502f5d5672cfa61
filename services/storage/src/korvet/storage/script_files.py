"""Finds the scripts that lie beside the modules that own them."""

from importlib.resources import files

from redis.asyncio import Redis
from redis.commands.core import AsyncScript

from korvet.redis.command_spans import name_script


def script(redis: "Redis", *names: str) -> AsyncScript:
    """The scripts of these names, joined to one; redis-py loads it where Redis lacks it."""
    folder = files("korvet.storage")
    texts = (folder.joinpath(f"{name}.lua").read_text() for name in names)
    registered = redis.register_script("\n".join(texts))
    name_script(registered.sha, names[-1])
    return registered
