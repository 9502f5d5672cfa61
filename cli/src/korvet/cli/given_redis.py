"""The Redis that a person gives to `korvet up`: looked at before anything starts on it.

The services would wait for it, since elsewhere it may come later; who types its address
wants to hear at once what is wrong with it.
"""

from typing import Final

from redis.asyncio.connection import parse_url
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    ReadOnlyError,
    RedisError,
)

from korvet.cli.failure import Failure
from korvet.redis.client import connect
from korvet.redis.connection import address_of
from korvet.redis.keys import Keys
from korvet.redis.server_check import UnsuitableRedisError, check_redis
from korvet.storage.settings import StorageSettings
from korvet.storage.storage_rights import storage_rights

_OR_NONE: Final = "Without --redis, `korvet up` runs a Redis of its own."


async def check(settings: StorageSettings) -> None:
    """Fail with what to do about it, where storage could not use its Redis."""
    url = settings.redis_url.get_secret_value()
    where = f"The Redis at {address_of(parse_url(url))}"
    keys = Keys(settings.keyspace)
    redis = connect(url)
    try:
        await check_redis(
            redis,
            keys,
            storage_rights(keys),
            may_evict=settings.allow_eviction,
            setting="KORVET_STORAGE_ALLOW_EVICTION",
        )
    except BusyLoadingError:
        # It will be there in a moment, and the services wait for it.
        return
    except UnsuitableRedisError as error:
        problem = f"{where} cannot be used. {error}"
        raise Failure(problem, f"Or give another one with --redis. {_OR_NONE}") from None
    except AuthenticationError as error:
        raise Failure(
            f"{where} does not let us in: {error}",
            "Give user and password with it: --redis redis://USER:PASSWORD@HOST:PORT",
        ) from None
    except NoPermissionError as error:
        raise Failure(
            f"{where} refuses what Korvet needs: {error}",
            "Give that user the rights, or another one with --redis"
            " redis://USER:PASSWORD@HOST:PORT",
        ) from None
    except ReadOnlyError:
        raise Failure(
            f"{where} is another one's replica.", "Give its primary with --redis."
        ) from None
    except (RedisError, OSError) as error:
        raise Failure(
            f"{where} does not answer: {error}",
            "Is it running? Give its address as --redis redis://HOST:PORT (rediss:// for"
            f" TLS). {_OR_NONE}",
        ) from None
    finally:
        await redis.aclose()
