"""Links to addresses that replicas name, beside those of the setting."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from korvet.gateway.coordinator_link import CoordinatorLink
from korvet.gateway.owners import Owners
from korvet.gateway.service_links import ServiceLinks

pytestmark = pytest.mark.integration


async def nowhere(setting: str) -> frozenset[str]:
    return frozenset({"unix:/tmp/korvet-test-configured.sock"})


@pytest.fixture
async def links() -> AsyncIterator[ServiceLinks[CoordinatorLink]]:
    links = ServiceLinks("setting", CoordinatorLink, resolve=nowhere)
    running = asyncio.create_task(links.run())
    await asyncio.sleep(0)
    yield links
    running.cancel()
    await asyncio.wait([running])


async def test_an_address_that_is_named_gets_a_link_once(
    links: ServiceLinks[CoordinatorLink],
) -> None:
    first = links.named("unix:/tmp/korvet-test-named.sock")
    second = links.named("unix:/tmp/korvet-test-named.sock")

    assert first is not None
    assert second is first
    assert first in links.all


async def test_an_address_of_the_setting_has_its_link_already(
    links: ServiceLinks[CoordinatorLink],
) -> None:
    (configured,) = links.all

    assert links.named("unix:/tmp/korvet-test-configured.sock") is configured
    assert len(links.all) == 1


async def test_nobody_can_make_a_gateway_connect_everywhere(
    links: ServiceLinks[CoordinatorLink],
) -> None:
    made = [links.named(f"unix:/tmp/korvet-test-{number}.sock") for number in range(100)]

    assert made[0] is not None
    assert made[-1] is None
    assert len(links.all) < 100


async def test_nothing_is_linked_before_the_start() -> None:
    links = ServiceLinks("setting", CoordinatorLink, resolve=nowhere)

    assert links.named("unix:/tmp/korvet-test-named.sock") is None


async def test_only_so_many_owners_are_remembered(
    links: ServiceLinks[CoordinatorLink],
) -> None:
    (link,) = links.all
    owners = Owners(max_ids=2)
    for group_id in ("a", "b", "b", "c"):
        owners.remember(group_id, link)

    assert len(owners._owners) == 2


async def test_an_owner_that_is_not_up_is_not_chosen(
    links: ServiceLinks[CoordinatorLink],
) -> None:
    (link,) = links.all
    owners = Owners()
    owners.remember("group", link)

    assert owners.choose("group", links.all) is None
