"""Apache Kafka from Maven: one broker in KRaft mode, started from the class path.

Run with the heap and collector that Kafka's own start script gives it and otherwise the
broker's defaults, since the comparison is with what its users run. Its data lives in the
folder it is given.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.peer import Peer, answers
from bench.processes import PeerError, free_ports, running, wait_until

ROOT: Final = Path(__file__).resolve().parent.parent
_POM: Final = ROOT / "bench/kafka/pom.xml"
_JARS: Final = ROOT / ".jars/kafka-broker"
_CLUSTER_ID: Final = "S29ydmV0LWJlbmNoLWthZg"
_HEAP: Final = (
    "-Xms1g",
    "-Xmx1g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
_LOG4J: Final = """\
<Configuration><Appenders><Console name="out"><PatternLayout pattern="%d %p %c: %m%n"/>
</Console></Appenders><Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""


@contextmanager
def kafka(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Peer]:
    """A fresh broker on free loopback ports, ready to serve."""
    jars = broker_jars()
    folder.mkdir(parents=True)
    port, controller_port = free_ports(2)
    properties = folder / "server.properties"
    lines = {**_properties(folder, port, controller_port), **(settings or {})}
    properties.write_text("\n".join(f"{name}={value}" for name, value in lines.items()))
    (folder / "log4j2.xml").write_text(_LOG4J)
    log4j = f"-Dlog4j2.configurationFile={folder / 'log4j2.xml'}"
    java = ["java", *_HEAP, log4j, "-cp", f"{jars}/*"]
    _format(java, properties)
    log = folder / "kafka.log"
    bootstrap = f"127.0.0.1:{port}"
    with running([*java, "kafka.Kafka", properties], log) as broker:
        wait_until(lambda: answers(bootstrap), broker, log, 60.0)
        yield Peer(name="kafka", bootstrap=bootstrap, roles={"broker": (broker.pid,)})


def broker_jars() -> Path:
    """The folder with the broker's jars; Maven fills it the first time."""
    done = _JARS / "pom.xml"
    if done.exists() and done.read_bytes() == _POM.read_bytes():
        return _JARS
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise PeerError(f"Apache Kafka needs {tool}; without it, leave kafka out")
    shutil.rmtree(_JARS, ignore_errors=True)
    _JARS.mkdir(parents=True)
    copy = ("dependency:copy-dependencies", f"-DoutputDirectory={_JARS}")
    maven = ("mvn", "-q", "-B", "-Dstyle.color=never", "-f", _POM)
    subprocess.run([*maven, *copy], check=True, timeout=600)
    # Written last: half a download is not taken for the whole.
    shutil.copy(_POM, done)
    return _JARS


def _properties(folder: Path, port: int, controller_port: int) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},"
        f"CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(folder / "data"),
        # One broker cannot hold the three replicas that the defaults ask for.
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }


def _format(java: list[str], properties: Path) -> None:
    tool = ("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", properties)
    done = subprocess.run([*java, *tool], capture_output=True, timeout=60, check=False)
    if done.returncode:
        raise PeerError((done.stdout + done.stderr).decode(errors="replace"))
