"""A verb that is ended by a signal ends its child, removes its folders, and says so in its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ...runtime.processes import alive, eventually

TESTS = Path(__file__).resolve().parents[2]
VERB = """
import os, sys
from pathlib import Path
import click
from contract_lint.plugins.cli import boundary
from contract_lint.runtime.folders import temporary_folder
from contract_lint.runtime.guarded import Guarded

@click.group()
def group(): ...

@group.command()
def verb():
    with temporary_folder() as folder:
        child = Guarded("lingering", [sys.argv[1]], folder, os.environ)
        try:
            child.process.wait()
        finally:
            child.end()

sys.exit(boundary.run(group, ["verb"]))
"""


def started(tmp_path: Path, *before: str) -> tuple[subprocess.Popen[str], list[int]]:
    """The verb, begun, and the processes it has started."""
    (tmp_path / "temporary").mkdir()
    environment = dict(os.environ) | {"PYTHONPATH": str(TESTS / "runtime"), "TMPDIR": str(tmp_path / "temporary")}
    command = [*before, sys.executable, "-c", VERB, str(tmp_path / "pids")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment)
    assert eventually((tmp_path / "pids").is_file)
    return process, [int(pid) for pid in (tmp_path / "pids").read_text().split()]


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGTERM, 143, "ended by SIGTERM\n"),
        (signal.SIGHUP, 129, "ended by SIGHUP\n"),
        (signal.SIGINT, 130, "interrupted\n"),
    ],
)
def test_what_a_signal_ends_leaves_nothing(tmp_path: Path, number: signal.Signals, code: int, said: str) -> None:
    process, pids = started(tmp_path)
    process.send_signal(number)
    _, err = process.communicate()
    assert (process.returncode, err.lstrip()) == (code, said)
    assert not list((tmp_path / "temporary").iterdir())
    if sys.platform == "linux":
        assert not any(map(alive, pids))


def test_a_hang_up_that_is_ignored_stays_so(tmp_path: Path) -> None:
    process, pids = started(tmp_path, "sh", "-c", "trap '' HUP; exec \"$@\"", "sh")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 143 and not alive(pids[0])
