import signal
import subprocess
import sys
from pathlib import Path

import psutil

from bench.processes import wait_until

_BENCHMARK = """
import sys, time
from pathlib import Path
from bench.processes import running, unwind_on_sigterm

unwind_on_sigterm()
folder = Path(sys.argv[1])
server = [sys.executable, "-c", "import time; time.sleep(60)"]
with running(server, folder / "log") as child:
    (folder / "pid").write_text(str(child.pid))
    time.sleep(60)
"""


def test_a_benchmark_that_is_terminated_leaves_no_server_behind(tmp_path: Path) -> None:
    pid, log = tmp_path / "pid", tmp_path / "log"
    benchmark = subprocess.Popen([sys.executable, "-c", _BENCHMARK, str(tmp_path)])
    wait_until(lambda: pid.exists() and pid.read_text() != "", benchmark, log, 30.0)
    server = int(pid.read_text())

    benchmark.send_signal(signal.SIGTERM)
    benchmark.wait(30.0)

    assert not psutil.pid_exists(server)
