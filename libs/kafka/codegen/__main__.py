"""`make messages`: fetch the pinned jar if it is not there, and write the modules."""

import subprocess
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from libs.kafka.codegen.apis import APIS, HEADERS, KAFKA_VERSION
from libs.kafka.codegen.description import MessageType, parse_message, snake_case
from libs.kafka.codegen.render import render_module

ROOT: Final = Path(__file__).parents[3]
MESSAGES: Final = ROOT / "libs/kafka/src/korvet/kafka/messages"
JAR: Final = ROOT / f".jars/kafka-clients-{KAFKA_VERSION}.jar"
_SOURCE: Final = f"kafka-clients {KAFKA_VERSION}"
# Seconds; Maven itself waits much longer for a network that is not there.
_PATIENCE: Final = 100
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def fetch_jar() -> None:
    """Get the jar from Maven. It stays out of the repository."""
    if JAR.exists():
        return
    artifact = f"org.apache.kafka:kafka-clients:{KAFKA_VERSION}"
    command = ["mvn", "-q", "-B", _COPY, f"-Dartifact={artifact}"]
    command.append(f"-DoutputDirectory={JAR.parent}")
    subprocess.run(command, check=True, timeout=_PATIENCE)  # noqa: S603


def render(jar: Path) -> dict[str, str]:
    """Every generated module: file name to source."""
    modules = {"__init__.py": f'"""Kafka\'s messages, generated from {_SOURCE}."""\n'}
    with ZipFile(jar) as archive:

        def description(name: str) -> MessageType:
            return parse_message(archive.read(f"common/message/{name}.json").decode())

        for api in APIS:
            messages = [description(f"{api}{kind}") for kind in ("Request", "Response")]
            request = messages[0]
            low, high = request.versions
            title = f"{api} ({request.api_key}), v{low}-v{high}"
            modules[f"{snake_case(api)}.py"] = render_module(title, _SOURCE, messages)
        for name in HEADERS:
            source = render_module(name, _SOURCE, [description(name)])
            modules[f"{snake_case(name)}.py"] = source
    return modules


def main() -> None:
    fetch_jar()
    modules = render(JAR)
    MESSAGES.mkdir(exist_ok=True)
    for stale in MESSAGES.glob("*.py"):
        if stale.name not in modules:
            stale.unlink()
    for name, source in modules.items():
        (MESSAGES / name).write_text(source)
    print(f"{len(modules)} modules from {_SOURCE} in {MESSAGES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
