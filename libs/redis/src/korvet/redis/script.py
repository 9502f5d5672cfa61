"""A Lua script as a lane runs it: its text, and the name that EVALSHA takes."""

from dataclasses import dataclass
from hashlib import sha1
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Script:
    name: str
    text: str
    # EVALSHA's argument.
    digest: bytes


def read_script(package: str, *parts: str) -> Script:
    """The last of these files of a package, with the shared parts it needs in front."""
    folder = files(package)
    text = "\n".join(folder.joinpath(f"{part}.lua").read_text() for part in parts)
    return make_script(parts[-1], text)


def script_texts(package: str) -> list[str]:
    """All Lua files of a package."""
    folder = files(package)
    return [file.read_text() for file in folder.iterdir() if file.name.endswith(".lua")]


def make_script(name: str, text: str) -> Script:
    # Redis names scripts by SHA-1; nothing is protected by it.
    digest = sha1(text.encode(), usedforsecurity=False).hexdigest().encode()
    return Script(name, text, digest)
