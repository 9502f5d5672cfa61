"""What a Redis user needs is read off the scripts, so that no command can be forgotten."""

import pytest

from korvet.coordinator.coordinator_rights import coordinator_rights
from korvet.redis.keys import Keys
from korvet.redis.rights import Rights, commands_in, is_denial
from korvet.redis.script import script_texts
from korvet.storage.storage_rights import storage_rights

PACKAGES = ("korvet.storage", "korvet.coordinator")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_call_of_every_script_is_known(package: str) -> None:
    texts = script_texts(package)
    assert texts
    for text in texts:
        # Written otherwise, a command would not be found in them.
        assert text.count("call(") == text.count("call('"), text
    keys = Keys()
    every = Rights(commands_in(texts), "korvet", [keys.topics], [keys.changes])
    # Fails where a command has no arguments to be tried with.
    tried = {probe[0] for probe in every.probes()}
    assert {command.split()[0] for command in every.commands} <= tried


def test_subcommands_are_tried_by_themselves() -> None:
    probes = storage_rights(Keys()).probes()
    words = {probe[:2] for probe in probes}
    assert {("XGROUP", "CREATE"), ("XGROUP", "DESTROY"), ("XINFO", "STREAM")} <= words


def test_every_kind_of_key_and_channel_is_tried() -> None:
    probes = storage_rights(Keys("other")).probes()
    for key in ("stream:any:0", "index:any:0", "deleted:any:stream:0", "topics"):
        assert ("HSET", f"other:{key}", "field", "value") in probes
        assert ("HGET", f"other:{key}", "field") in probes
    for channel in ("appended:any:0", "changes"):
        assert ("PUBLISH", f"other:{channel}", "message") in probes
    assert len(probes) == len(set(probes))


def test_a_service_without_channels_tries_none() -> None:
    assert not any("PUBLISH" in probe for probe in coordinator_rights(Keys()).probes())


@pytest.mark.parametrize(
    "error",
    [
        "NOPERM this user has no permissions to run the 'xtrim' command",
        "ERR The user executing the script can't publish to the channel mentioned in …",
        "ERR Error running script: The user executing the script can't run this command",
        "ERR ACL failure in script: User k has no permissions to run the 'xtrim' command",
    ],
)
def test_redis_has_several_words_for_it(error: str) -> None:
    assert is_denial(error)
    assert not is_denial("OOM command not allowed when used memory > 'maxmemory'.")
