"""The metrics of all processes of one `korvet up`, as one page."""

import asyncio
from collections.abc import Mapping

from korvet.cli.exposition import merge
from korvet.cli.page_client import PageError, read_page
from korvet.runtime.metrics_server import PATH, Page
from korvet.runtime.prometheus import CONTENT_TYPE


def together(addresses: Mapping[str, str]) -> Page:
    """`addresses` are where each service serves its own."""

    async def page() -> tuple[str, str]:
        texts = await asyncio.gather(*map(_read, addresses.values()))
        return CONTENT_TYPE, merge(dict(zip(addresses, texts, strict=True)))

    return page


async def _read(address: str) -> str:
    try:
        return await read_page(address, PATH)
    except PageError:
        # A process that does not answer tells nothing; when one has died, so does `up`.
        return ""
