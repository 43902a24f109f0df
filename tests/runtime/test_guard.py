"""Nothing that a child starts outlives it, or the process that started it, however that one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.runtime.folders import temporary_folder
from contract_lint.runtime.guarded import Guarded

from .processes import alive, eventually

HERE = Path(__file__).parent
OWNER = """
import os, sys
from contract_lint.runtime.folders import temporary_folder
from contract_lint.runtime.guarded import Guarded
with temporary_folder() as folder:
    Guarded("lingering", [sys.argv[1]], folder, os.environ).process.wait()
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="processes of other sessions are found on Linux only")


def environment(temporary: Path) -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": str(HERE), "TMPDIR": str(temporary)}


def told(pids: Path) -> list[int]:
    assert eventually(pids.is_file)
    return [int(pid) for pid in pids.read_text().split()]


def module(folder: Path, code: str) -> str:
    (folder / "a_module.py").write_text(code)
    return "a_module"


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_an_owner_that_dies_takes_everything_along(tmp_path: Path, number: signal.Signals) -> None:
    """No handler is installed here: the pipe to the guard closes, whatever ended its owner."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    pids = tmp_path / "pids"
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(pids)], env=environment(temporary))
    started = told(pids)
    assert len(started) == 3 and all(map(alive, started))
    assert [path.name for path in temporary.glob("*/tmp/left")] == ["left"]
    owner.send_signal(number)
    owner.wait()
    assert eventually(lambda: not any(map(alive, started)))
    assert eventually(lambda: not list(temporary.iterdir()))


@linux
def test_a_module_that_is_ended_takes_everything_along(tmp_path: Path) -> None:
    with temporary_folder() as folder:
        child = Guarded("lingering", [str(tmp_path / "pids")], folder, environment(tmp_path))
        started = told(tmp_path / "pids")
        child.end()
        assert not any(map(alive, started))
        assert folder.is_dir()
    assert not folder.exists()


@linux
def test_the_module_dies_with_its_guard(tmp_path: Path) -> None:
    with temporary_folder() as folder:
        child = Guarded("lingering", [str(tmp_path / "pids")], folder, environment(tmp_path))
        worker, tied, free = told(tmp_path / "pids")
        os.kill(child.process.pid, signal.SIGKILL)
        assert eventually(lambda: not alive(worker))
        child.end()
        for left in (tied, free):
            os.kill(left, signal.SIGKILL)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os.abort()", -signal.SIGABRT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import os, signal; os.killpg(0, signal.SIGSEGV)", -signal.SIGSEGV),
    ],
)
def test_the_guard_ends_as_its_module_did(tmp_path: Path, code: str, status: int) -> None:
    with temporary_folder() as folder:
        child = Guarded(module(tmp_path, code), [], folder, dict(os.environ) | {"PYTHONPATH": str(tmp_path)})
        assert child.process.wait() == status
        child.end()


def test_what_a_module_said_at_its_death_is_said_once(tmp_path: Path) -> None:
    with temporary_folder() as folder, open(folder / "stderr", "w+") as stderr:
        environment = dict(os.environ) | {"PYTHONPATH": str(tmp_path)}
        child = Guarded(module(tmp_path, "import os; os.abort()"), [], folder, environment, stderr=stderr)
        child.process.wait()
        child.end()
        stderr.seek(0)
        assert stderr.read().count("Fatal Python error") == 1


def test_the_end_of_a_pipe_is_that_of_the_module(tmp_path: Path) -> None:
    """The guard does not hold what it only passes on."""
    code = "import os, sys, time\nos.write(int(sys.argv[1]), b'done')\nos.close(int(sys.argv[1]))\ntime.sleep(600)"
    reader, writer = os.pipe()
    with temporary_folder() as folder:
        environment = dict(os.environ) | {"PYTHONPATH": str(tmp_path)}
        child = Guarded(module(tmp_path, code), [str(writer)], folder, environment, descriptors=[writer])
        os.close(writer)
        assert os.read(reader, 16) == b"done" and os.read(reader, 16) == b""
        assert child.process.poll() is None
        child.end()
    os.close(reader)
